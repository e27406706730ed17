//! (pure) Knobs out of the options of a job.

use serde_json::{Map, Value as Json};

/// Our word for fio's `rw`.
pub fn access_of(rw: &str) -> Option<&'static str> {
    match rw {
        "read" => Some("read"),
        "write" => Some("write"),
        "randread" => Some("random-read"),
        "randwrite" => Some("random-write"),
        "randrw" => Some("random-mix"),
        _ => None,
    }
}

/// Our word for fio's `ioengine`.
pub fn io_engine_of(name: &str) -> Option<&'static str> {
    match name {
        "io_uring" => Some("uring"),
        "libaio" => Some("aio"),
        "psync" | "sync" => Some("sync"),
        "mmap" => Some("mmap"),
        _ => None,
    }
}

/// Knobs out of the options that fio repeats; what it does not repeat stays unknown. `each` says
/// that every job has an entry of its own, though all of them repeat how many there are.
pub fn settings_of(options: &[&Map<String, Json>], each: bool) -> Map<String, Json> {
    let option = |name: &str| {
        let all = options.iter().rev();
        all.filter_map(|of| of.get(name)).find_map(Json::as_str)
    };
    let mut known = Map::new();
    let mut set = |knob: &str, value: Option<Json>| {
        if let Some(value) = value {
            known.insert(knob.to_owned(), value);
        }
    };
    let count = |name: &str| option(name).and_then(|text| text.parse::<u64>().ok());
    let access = option("rw").or(option("readwrite")).and_then(access_of);
    set("access", access.map(Json::from));
    set("block-size", option("bs").or(option("blocksize")).and_then(bytes).map(Json::from));
    set("queue-depth", count("iodepth").map(Json::from));
    let grouped = option("group_reporting").and_then(switch) == Some(true);
    // One entry of several jobs that are not put together is what somebody kept of it.
    let jobs = count("numjobs").filter(|jobs| grouped || *jobs == 1);
    let streams = if each { Some(1) } else { jobs };
    set("streams", streams.map(Json::from));
    let files = count("nrfiles");
    let size = option("size").and_then(bytes);
    // `size` is of all files of a job.
    let each = size.and_then(|size| Some(size / files.unwrap_or(1).max(1)).filter(|it| *it > 0));
    set("file-size", each.map(Json::from));
    set("files", files.map(Json::from));
    set("direct", option("direct").and_then(switch).map(Json::from));
    let engine = option("ioengine").and_then(io_engine_of);
    set("io-engine", engine.map(Json::from));
    let share = count("rwmixread").filter(|percent| *percent <= 100);
    set("read-share", share.map(|percent| Json::from(percent as f64 / 100.0)));
    known
}

/// A size as fio reads it: `4k` is 4096. Longer units mean one thing or the other by `kb_base`, and
/// are left unknown.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_mean_what_fio_means_by_them_or_nothing() {
        assert_eq!(bytes("4k"), Some(4096));
        assert_eq!(bytes("128M"), Some(128 << 20));
        assert_eq!(bytes("512"), Some(512));
        assert_eq!((bytes("4KiB"), bytes("4kb"), bytes(""), bytes("k")), (None, None, None, None));
        assert_eq!(bytes("99999999999999999999g"), None);
        assert_eq!(bytes("9999999999999999999t"), None);
    }
}
