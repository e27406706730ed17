//! `brickyard verify`: reads existing files over and over against their checksums; writes nothing
//! to them or beside them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::STORE;
use super::kept::StoredVerification;
use super::{Common, flushed, talk};
use base::checklist::{Sum, parse};
use base::hash::Checksum;
use base::value;
use engines::verify::{self, Against, VerificationRequest, VerifyEvent, VerifyProgress};
use findings::report::verify as report;
use host::sys::input::CHECKLIST;
use host::sys::{Error, signal};

/// Streams that are started unless told: beyond these a disk is seldom faster.
const STREAMS_MAX: usize = 4;
/// Checksums of a first reading.
const OF_BLOCKS: [Checksum; 3] = [Checksum::Xxh3_128, Checksum::Md5, Checksum::Blake3];

/// The arguments of `brickyard verify`.
#[derive(clap::Args, Debug)]
pub struct VerifyArguments {
    /// Files, directories and block devices; with --checksums, all files of the list unless given
    #[arg(value_name = "PATH", required_unless_present_any = ["checksums", "flushed"])]
    paths: Vec<PathBuf>,
    /// A list of md5sum, sha256sum or b3sum; without one, each reading is held against the first
    #[arg(long, value_name = "FILE")]
    checksums: Option<PathBuf>,
    /// Of blocks: xxh3-128 (default), md5, blake3; what 64 digits of a list are: sha256, blake3
    #[arg(long, value_name = "NAME")]
    checksum: Option<String>,
    /// How often all is read: 1 by default with a list, else 2; with --hours until they are over
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    passes: Option<u64>,
    /// How long at most
    #[arg(long, value_name = "H", value_parser = hours)]
    hours: Option<u64>,
    /// How many read at once; as many as there are processors by default, 4 at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    streams: Option<u64>,
    /// Read what is mounted below the paths, too
    #[arg(long)]
    cross_file_systems: bool,
    /// After a crash: whether anything is lost that LOG, of `run flush-test`, says was acknowledged
    #[arg(
        long,
        value_name = "LOG",
        conflicts_with_all = ["paths", "checksums", "checksum", "passes", "hours", "streams"]
    )]
    flushed: Option<PathBuf>,
    /// Keep nothing in the store
    #[arg(long)]
    no_store: bool,
}

/// Hours as ns.
fn hours(text: &str) -> Result<u64, String> {
    let hours: f64 = text.parse().map_err(|_| "a number of hours, as 8 or 0.5".to_owned())?;
    let ns = hours * 3.6e12;
    if !(1e6..=1e18).contains(&ns) {
        return Err("a number of hours, from a millisecond to thirty years".to_owned());
    }
    Ok(ns as u64)
}

/// Verifies, tells, prints.
pub fn run(arguments: &VerifyArguments, common: &Common) -> anyhow::Result<ExitCode> {
    if let Some(log) = &arguments.flushed {
        return flushed::run(log, arguments.no_store, common);
    }
    let request = request(arguments)?;
    let stop = signal::stop()?;
    let mut talk = talk::Talk::new(common.quiet, common.plain);
    let list = arguments.checksums.as_deref();
    let places = (read(&request), untouched(&request, &common.store));
    let mut kept = StoredVerification::new(arguments.no_store, places, list, common, &talk)?;
    let outcome = verify::verify(&request, &stop, &mut |event| match event {
        VerifyEvent::Part(part) => kept.put(*part, &talk),
        VerifyEvent::Found(line) => talk.say(&line),
        VerifyEvent::Going(going) => {
            let (doing, now) = words(&going);
            talk.during(&doing, going.left_ns, &now);
        }
    });
    talk.end();
    let outcome = outcome?;
    let status = match (outcome.interrupted, outcome.is_clean()) {
        (true, _) => 130,
        (false, true) => 0,
        (false, false) => 1,
    };
    talk::data(&match common.json {
        true => serde_json::to_string_pretty(&report::json(&outcome, status))? + "\n",
        false => report::text(&outcome),
    })?;
    kept.end(&talk);
    Ok(ExitCode::from(status))
}

/// What is only read: the paths, or all that lies where the list does.
fn read(request: &VerificationRequest) -> Vec<PathBuf> {
    match &request.against {
        Against::List { file, .. } if request.paths.is_empty() => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            vec![folder.unwrap_or(Path::new(".")).to_owned()]
        }
        _ => request.paths.clone(),
    }
}

/// What a store must neither be nor lie in: the paths, or where the list lies, so that nothing is
/// written there unasked. Of a store that was named and a list that was given alone it is only the
/// files of the store's own name that the list has, as nothing else beside it is read.
fn untouched(request: &VerificationRequest, store: &Path) -> Vec<PathBuf> {
    let Against::List { file, .. } = &request.against else { return read(request) };
    if !request.paths.is_empty() || store == Path::new(STORE) {
        return read(request);
    }
    // What can be read once is left to whoever verifies by it.
    let text = Some(file).filter(|file| file.is_file()).and_then(|file| CHECKLIST.read(file).ok());
    let name = store.file_name().unwrap_or_default();
    let listed = text.map(|text| parse(&text).entries).unwrap_or_default();
    let listed = listed.into_iter().map(|entry| PathBuf::from(OsString::from_vec(entry.name)));
    // SQLite's own files beside it begin with its name.
    let begins = |path: &PathBuf| {
        let own = path.file_name().unwrap_or_default().as_bytes();
        own.starts_with(name.as_bytes())
    };
    let folders = [PathBuf::new(), file.parent().unwrap_or(Path::new("")).to_owned()];
    listed
        .filter(begins)
        .flat_map(|path| folders.clone().map(|folder| folder.join(&path)))
        .collect()
}

fn request(arguments: &VerifyArguments) -> anyhow::Result<VerificationRequest> {
    let VerifyArguments {
        paths,
        checksums,
        checksum,
        passes,
        hours,
        streams,
        cross_file_systems,
        ..
    } = arguments;
    let against = match checksums {
        Some(file) => Against::List { file: file.clone(), sum: sum(checksum.as_deref())? },
        None => Against::FirstReading(of_blocks(checksum.as_deref())?),
    };
    let usual = if checksums.is_some() { 1 } else { 2 };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(VerificationRequest {
        paths: paths.clone(),
        cross_file_systems: *cross_file_systems,
        against,
        streams: streams.map_or(processors.min(STREAMS_MAX), |streams| streams as usize),
        passes: passes.or(hours.is_none().then_some(usual)),
        length_ns: *hours,
    })
}

fn of_blocks(name: Option<&str>) -> Result<Checksum, Error> {
    let Some(name) = name else { return Ok(OF_BLOCKS[0]) };
    OF_BLOCKS.into_iter().find(|checksum| checksum.name() == name).ok_or_else(|| {
        let names = OF_BLOCKS.map(Checksum::name).join(", ");
        let what = format!("cannot verify by the checksum `{name}`");
        Error::new(what, "blocks are held against the first reading by one of 128 bits or more")
            .hint(format!("choose one of {names}; sums of other tools come with --checksums FILE"))
    })
}

fn sum(name: Option<&str>) -> Result<Option<Sum>, Error> {
    let Some(name) = name else { return Ok(None) };
    Sum::find(name).map(Some).ok_or_else(|| {
        Error::new(format!("cannot verify a list by the checksum `{name}`"), "it is not known")
            .hint("choose one of md5, sha256, blake3, or leave it out: the list tells the most")
    })
}

fn words(going: &VerifyProgress) -> (String, String) {
    let pass = match going.passes {
        Some(of) => format!("pass {} of {of}", going.pass),
        None => format!("pass {}", going.pass),
    };
    let share = match going.of_bytes {
        0 => String::new(),
        of => format!(" ({})", value::percent(going.done_bytes as f64 / of as f64)),
    };
    let done = value::bytes(going.done_bytes as f64);
    let of = value::bytes(going.of_bytes as f64);
    (pass, format!("{done} of {of}{share}, {}", value::throughput_short(going.bytes_per_s)))
}
