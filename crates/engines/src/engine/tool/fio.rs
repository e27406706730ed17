//! (pure) fio: the knobs of the engine `file` in the words of fio 3.

use super::{Launch, ToolEngine, ToolInput, one_of};
use crate::engine::load::cpus::NO_CARD;
use base::value::Stop;
use experiment::knob::typed::Number;
use experiment::knob::{self, Access, Knob, Settings, engines};

/// fio as an engine.
pub const FIO: ToolEngine = ToolEngine {
    kind: &engines::FIO,
    importer: &importers::fio::FIO,
    program: "fio",
    get: "apt-get install fio",
    asks_version: &["--version"],
    launch,
};

/// Every job is called so, and its files after it.
const JOB: &str = "brickyard";

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    refuse(asked.settings)?;
    let settings = asked.settings;
    let access = one_of(
        settings,
        "fio",
        knob::ACCESS,
        &[
            ("read", "read"),
            ("write", "write"),
            ("random-read", "randread"),
            ("random-write", "randwrite"),
            ("random-mix", "randrw"),
        ],
    )?;
    let mut words = common(asked)?;
    words.push(format!("--rw={access}"));
    words.push(format!("--bs={}", settings.get(knob::BLOCK_SIZE)));
    words.push(format!("--iodepth={}", settings.get(knob::QUEUE_DEPTH)));
    let batch = settings.get(knob::BATCH);
    if batch > 1 {
        // As many are handed over at once as were waited for.
        words.push(format!("--iodepth_batch_complete_min={batch}"));
        words.push(format!("--iodepth_batch={batch}"));
    }
    words.extend(pinning(asked));
    words.push(format!("--direct={}", u8::from(settings.get(knob::DIRECT))));
    let engines = [("uring", "io_uring"), ("aio", "libaio"), ("sync", "psync"), ("mmap", "mmap")];
    words.push(format!("--ioengine={}", one_of(settings, "fio", knob::IO_ENGINE, &engines)?));
    match settings.get(knob::COLD) {
        true => words.push("--invalidate=1".to_owned()),
        false => words.push("--pre_read=1".to_owned()),
    }
    words.extend(stop(settings)?);
    if access != "read" && access != "randread" {
        words.extend(match settings.get(knob::FSYNC) {
            "end" => Some("--end_fsync=1".to_owned()),
            "every" if settings.get(knob::DATASYNC) => Some("--fdatasync=1".to_owned()),
            "every" => Some("--fsync=1".to_owned()),
            _ => None,
        });
    }
    if access == "randrw" {
        words.push(format!("--rwmixread={}", percent(settings, knob::READ_SHARE)?));
    }
    if settings.get(knob::RANDOM_DISTRIBUTION) == "zipf" && access.starts_with("rand") {
        words.push(format!("--random_distribution=zipf:{}", settings.number(knob::ZIPF_THETA)));
    }
    if settings.get(knob::RATE) > 0 {
        words.push(format!("--rate_iops={}", settings.get(knob::RATE)));
    }
    words.extend(data(settings)?);
    let seen = ["--output-format=json", "--lat_percentiles=1", "--percentile_list=50:90:99:99.9"];
    words.extend(seen.map(str::to_owned));
    let prepare = if access == "write" { Vec::new() } else { vec![lay(asked)?] };
    Ok(Launch { prepare, words, notes: Vec::new() })
}

/// What no fio can do, before any word is made.
fn refuse(settings: &Settings) -> Result<(), String> {
    let (engine, depth) = (settings.get(knob::IO_ENGINE), settings.get(knob::QUEUE_DEPTH));
    let direct = settings.get(knob::DIRECT);
    if matches!(engine, "sync" | "mmap") && depth > 1 {
        return Err(format!(
            "io-engine={engine} has one I/O in flight per stream; queue-depth={depth} needs uring \
             or aio"
        ));
    }
    if engine == "aio" && !direct && depth > 1 {
        return Err(format!(
            "io_submit has one buffered I/O in flight; queue-depth={depth} needs direct=true or \
             io-engine=uring"
        ));
    }
    if engine == "mmap" && direct {
        return Err("a memory map goes through the page cache; io-engine=mmap needs direct=false"
            .to_owned());
    }
    let reads = settings.reads();
    if direct && !settings.get(knob::COLD) && reads {
        return Err("direct reads go around the page cache and cannot start from it; cold=false \
                    needs direct=false"
            .to_owned());
    }
    if settings.get(knob::DATASYNC) && settings.writes() && settings.get(knob::FSYNC) == "end" {
        return Err("fio ends a file by fsync alone; datasync=true needs fsync=every, or \
                    engine=file"
            .to_owned());
    }
    if settings.get(knob::RATE) > 0 && settings.get(knob::ACCESS) == Some(Access::RandomMix) {
        return Err(
            "fio has a rate for reads and another for writes; rate= needs an access of one \
                    direction, or engine=file"
                .to_owned(),
        );
    }
    let batch = settings.get(knob::BATCH);
    if batch > depth {
        return Err(format!(
            "batch={batch} waits for more I/Os than queue-depth={depth} has in flight"
        ));
    }
    if batch > 1 && settings.get(knob::RATE) > 0 {
        return Err(format!(
            "with rate={} I/Os start at fixed times and cannot wait for a batch of {batch}; leave \
             batch at 1",
            settings.get(knob::RATE)
        ));
    }
    if settings.get(knob::CPU_PINNING) == "spread" && settings.get(knob::CPUSET).is_some() {
        return Err("which processors cpuset leaves is told after fio's words are made; \
                    cpu-pinning=spread needs them as a list, as cpu-pinning=0-3"
            .to_owned());
    }
    if settings.get(knob::CPU_PINNING) == "numa-local" {
        return Err(NO_CARD.to_owned());
    }
    if settings.get(knob::FILE_SIZE) < settings.get(knob::BLOCK_SIZE) {
        return Err("a file-size under the block-size holds no block".to_owned());
    }
    Ok(())
}

/// Each job on one processor of a list, in turn.
fn pinning(asked: &ToolInput<'_>) -> Vec<String> {
    let list = match asked.settings.get(knob::CPU_PINNING) {
        "none" | "" => return Vec::new(),
        "spread" => asked.cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        list => list.to_owned(),
    };
    vec![format!("--cpus_allowed={list}"), "--cpus_allowed_policy=split".to_owned()]
}

/// How the job is called and which files it has, which what lays them out says alike.
fn common(asked: &ToolInput<'_>) -> Result<Vec<String>, String> {
    let settings = asked.settings;
    let (size, files) = (settings.get(knob::FILE_SIZE), settings.get(knob::FILES));
    let total = size
        .checked_mul(files)
        .ok_or_else(|| "file-size times files is more than can be counted".to_owned())?;
    // A colon parts directories; a backslash takes that from it.
    let places: Vec<String> =
        asked.places.iter().map(|place| place.replace('\\', "\\\\").replace(':', "\\:")).collect();
    Ok(vec![
        "fio".to_owned(),
        format!("--name={JOB}"),
        format!("--directory={}", places.join(":")),
        format!("--numjobs={}", settings.get(knob::STREAMS)),
        format!("--nrfiles={files}"),
        format!("--size={total}"),
        "--file_service_type=sequential".to_owned(),
        "--group_reporting=1".to_owned(),
        "--thread=1".to_owned(),
        format!("--randseed={}", asked.seed),
    ])
}

/// Writes the files that are read or written over, in full and onto the device.
fn lay(asked: &ToolInput<'_>) -> Result<Vec<String>, String> {
    let mut words = common(asked)?;
    let plain = ["--rw=write", "--bs=1048576", "--bs_unaligned=1", "--ioengine=psync"];
    words.extend(plain.map(str::to_owned));
    words.extend(data(asked.settings)?);
    words.push("--end_fsync=1".to_owned());
    Ok(words)
}

fn stop(settings: &Settings) -> Result<Vec<String>, String> {
    let alone = settings.get(knob::STREAMS) == 1 || !settings.get(knob::SUSTAINED);
    let one_by_one = |what: String| match alone {
        true => Ok(vec![what]),
        false => Err(format!(
            "a fio job that has moved its bytes goes idle while others still run; stop={} needs \
             streams=1, sustained=false, or engine=file",
            settings.stop()
        )),
    };
    let block = settings.get(knob::BLOCK_SIZE).max(1);
    match settings.stop() {
        Stop::After(ns) => {
            let length = format!("--runtime={}us", ns.div_ceil(1000));
            Ok(vec!["--time_based=1".to_owned(), length])
        }
        Stop::Bytes(bytes) => {
            let whole = bytes.div_ceil(block).max(1).saturating_mul(block);
            one_by_one(format!("--io_size={whole}"))
        }
        Stop::Pass => one_by_one("--loops=1".to_owned()),
        Stop::Steady => {
            Err("fio's own steady state is another criterion than SNIA's; stop=steady needs \
                 engine=file"
                .to_owned())
        }
        Stop::Bits(_) => Err(format!(
            "stop={} counts bits that were checked; engine=integrity ends by them",
            settings.stop()
        )),
        Stop::Interval(_) => Err(format!(
            "fio ends by no interval of its throughput; stop={} needs engine=file",
            settings.stop()
        )),
    }
}

fn data(settings: &Settings) -> Result<Vec<String>, String> {
    let fresh = "--refill_buffers=1".to_owned();
    Ok(match settings.get(knob::DATA) {
        "zero" => vec!["--zero_buffers=1".to_owned()],
        "compressible" => vec![
            fresh,
            format!(
                "--buffer_compress_percentage={}",
                percent(settings, knob::COMPRESSIBLE_SHARE)?
            ),
            "--buffer_compress_chunk=4096".to_owned(),
        ],
        _ => vec![fresh],
    })
}

/// A share as the whole percent that fio takes.
fn percent(settings: &Settings, knob: Knob<Number>) -> Result<u64, String> {
    let share = settings.get(knob);
    let percent = share * 100.0;
    let whole = percent.round();
    match (percent - whole).abs() < 1e-6 {
        true => Ok(whole as u64),
        false => Err(format!(
            "fio counts in whole percent; {}={share} needs two digits, or engine=file",
            knob.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{refused, words};

    #[test]
    fn knobs_become_the_words_that_a_person_would_type() {
        let typed = [
            ("access", "random-mix"),
            ("block-size", "4KiB"),
            ("queue-depth", "32"),
            ("streams", "3"),
            ("files", "2"),
            ("file-size", "1MiB"),
            ("io-engine", "aio"),
            ("stop", "1500ms"),
            ("read-share", "0.7"),
            ("batch", "8"),
            ("cpu-pinning", "spread"),
        ];
        let words = words(&FIO, &typed, &["/a", "/b:c"]);
        for word in [
            "--rw=randrw",
            "--bs=4096",
            "--iodepth=32",
            "--numjobs=3",
            "--nrfiles=2",
            "--size=2097152",
            "--ioengine=libaio",
            "--direct=1",
            "--time_based=1",
            "--runtime=1500000us",
            "--rwmixread=70",
            "--iodepth_batch=8",
            "--iodepth_batch_complete_min=8",
            "--cpus_allowed=0,2",
            "--cpus_allowed_policy=split",
            "--end_fsync=1",
            "--directory=/a:/b\\:c",
        ] {
            assert!(words.iter().any(|it| it == word), "{word}: {words:?}");
        }
    }

    #[test]
    fn files_are_written_in_full_before_they_are_read_and_never_before_they_are_written() {
        let launch = |access| {
            crate::engine::tool::testing::launch(&FIO, &[("access", access)], &["/a"]).unwrap()
        };
        for access in ["read", "random-read", "random-write", "random-mix"] {
            let prepared = launch(access).prepare;
            assert!(prepared[0].contains(&"--end_fsync=1".to_owned()), "{access}: {prepared:?}");
        }
        assert!(launch("write").prepare.is_empty());
    }

    #[test]
    fn what_fio_cannot_honour_is_refused_by_the_name_of_the_knob() {
        for (typed, knob) in [
            (&[("access", "read-backward")][..], "access=read-backward"),
            (&[("access", "read-strided")], "access=read-strided"),
            (&[("stop", "steady")], "stop=steady"),
            (&[("stop", "pass"), ("streams", "2")], "stop=pass"),
            (&[("stop", "1MiB"), ("streams", "2")], "stop=1MiB"),
            (&[("io-engine", "mmap")], "io-engine=mmap"),
            (&[("io-engine", "sync"), ("queue-depth", "2")], "queue-depth=2"),
            (&[("io-engine", "aio"), ("direct", "false"), ("queue-depth", "2")], "queue-depth=2"),
            (&[("cold", "false")], "cold=false"),
            (&[("access", "write"), ("datasync", "true")], "datasync=true"),
            (&[("access", "random-mix"), ("rate", "10")], "rate="),
            (&[("access", "random-mix"), ("read-share", "0.123")], "read-share=0.123"),
            (&[("data", "compressible"), ("compressible-share", "0.505")], "compressible-share"),
            (&[("batch", "2")], "batch=2"),
            (&[("batch", "2"), ("queue-depth", "4"), ("rate", "9")], "rate=9"),
            (&[("cpu-pinning", "spread"), ("cpuset", "0")], "cpu-pinning=spread"),
            (&[("cpu-pinning", "numa-local")], "cpu-pinning=numa-local"),
        ] {
            let why = refused(&FIO, typed);
            assert!(why.contains(knob), "{typed:?}: {why}");
        }
    }
}
