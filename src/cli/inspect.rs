//! `brickyard inspect`: what the server is made of, and what each part can do at most.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::outputs::{self, Force, Inputs};
use super::{Common, talk};
use facts::bandwidth::Bandwidth;
use facts::inventory::server::{Server, Unread};
use findings::analysis::path;
use findings::report::inspect::Inspection;
use findings::warning::warnings;
use host::bandwidth;
use host::inventory::recording::{self, Recording};
use host::inventory::server;
use host::sys::output::{Output, OutputKind};
use host::sys::{Error, Host, signal};

/// The arguments of `brickyard inspect`.
#[derive(clap::Args, Debug)]
pub struct InspectArguments {
    /// Look at a recording, at a directory with proc and sys of a machine, at a folder of `sos
    /// report`, or at what programs such as lspci, lsblk, smartctl and mdadm print, instead of this
    /// machine; several texts of one machine are put together
    #[arg(long, value_name = "FILE|DIR", num_args = 1..)]
    root: Vec<PathBuf>,
    /// Do not measure memory, which takes a few seconds; nothing is measured with --root
    #[arg(long)]
    no_measure: bool,
    /// Writes what is printed into FILE instead
    #[arg(long, short, value_name = "FILE", conflicts_with = "record")]
    output: Option<PathBuf>,
    /// Write all that is read into one text, for --root elsewhere; packed when FILE ends in .gz
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Leave serial numbers, addresses and names in the record as they are
    #[arg(long, requires = "record")]
    with_serials: bool,
    #[command(flatten)]
    force: Force,
}

/// What measuring memory may take.
const MEASURING_AT_MOST: Duration = Duration::from_millis(4000);

/// Reads, measures memory where that is wanted, and prints.
pub fn run(arguments: &InspectArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let record_to = arguments.record.as_deref().map(|path| to(path, arguments, common));
    let record_to = record_to.transpose()?;
    let output = arguments.output.as_deref();
    let printed = outputs::printed(output, arguments.force, &inputs(arguments, common))?;
    // What was unpacked is removed also when the user does not wait for the end.
    let rooted = !arguments.root.is_empty();
    let unpacked = rooted.then(signal::stop).transpose()?;
    let recording = rooted.then(|| Recording::open_paths(&arguments.root)).transpose()?;
    let host = recording.as_ref().map_or_else(Host::live, Recording::host);
    if record_to.is_some() && recording.as_ref().is_some_and(Recording::is_pasted) {
        let why = "what was pasted tells too little of a machine to stand for it";
        return Err(Error::new("cannot record", why).hint("keep the texts themselves").into());
    }
    if let Some(to) = &record_to {
        return record(&host, to, arguments.with_serials, common);
    }
    let mut server = server::server(&host);
    let mut bandwidth = None;
    if host.is_live() && !arguments.no_measure {
        let stop = signal::stop()?;
        bandwidth = measured(&host, &mut server, &stop, common);
        if stop.asked() {
            return Ok(ExitCode::from(130));
        }
    }
    if unpacked.is_some_and(|stop| stop.asked()) {
        return Ok(ExitCode::from(130));
    }
    let inspection = Inspection {
        brickyard: env!("CARGO_PKG_VERSION").to_owned(),
        paths: path::paths(&server, bandwidth.as_ref()),
        warnings: warnings(&server),
        server,
        bandwidth,
    };
    printed.data(&match common.json {
        true => inspection.json()?,
        false => inspection.text(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Where the recording goes, once nothing stands against it.
fn to(path: &Path, arguments: &InspectArguments, common: &Common) -> Result<Output, Error> {
    let kind = OutputKind { name: "recording of brickyard", is: recording::is_recording };
    inputs(arguments, common).output(path, "--record", kind, arguments.force)
}

/// What is read.
fn inputs(arguments: &InspectArguments, common: &Common) -> Inputs {
    let mut inputs = Inputs::of_store(&common.store);
    for root in &arguments.root {
        match root.is_dir() {
            true => ["proc", "sys"].iter().for_each(|of| inputs.add("the tree", &root.join(of))),
            false => inputs.add("the recording", root),
        }
    }
    inputs
}

/// Writes what is read of a machine into a file that can be sent.
fn record(
    host: &Host,
    to: &Output,
    with_serials: bool,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    recording::save(&recording::record(host, with_serials)?, to)?;
    if !common.quiet {
        talk::line(&format!("recorded: {}", to.path().display()));
        let private = match with_serials {
            true => "serial numbers, addresses and names are in it",
            false => "serial numbers and addresses are replaced; directories keep their names",
        };
        talk::line(&format!("look through it before you send it: {private}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What memory can do; where that cannot be measured the reason stands among what was not read.
fn measured(
    host: &Host,
    server: &mut Server,
    stop: &signal::Stop,
    common: &Common,
) -> Option<Bandwidth> {
    if !common.quiet {
        talk::line("measuring memory, under 5 s (--no-measure leaves that out)");
    }
    match bandwidth::measure(host, &server.processors, MEASURING_AT_MOST, stop) {
        Ok(bandwidth) => Some(bandwidth),
        Err(error) => {
            server.unread.push(Unread {
                what: "the bandwidth of memory".to_owned(),
                place: error.what,
                why: error.why,
                hint: error.hint.unwrap_or_default(),
            });
            None
        }
    }
}
