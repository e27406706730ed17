//! What a simulated trial yields, once it is over.

use super::model::Model;
use super::run::{Course, SimulatedTrial, ns};
use experiment::measurement::{
    Amount, Durable, Evidence, Measurement, Note, Operation, SecondPass, Stream,
};
use experiment::plan::Trial;

/// Processor time of one operation, ns.
const CPU_OPERATION_NS: f64 = 3000.0;

/// Processor time to copy one cached byte, ns.
const CPU_COPY_NS: f64 = 0.1;

/// One flush of an empty cache, s.
const FLUSH_S: f64 = 0.001;

/// Simulated trials start a minute apart, from here: Unix time in ns. A clock would make two runs
/// of one seed differ.
const EPOCH_NS: u64 = 1_700_000_000_000_000_000;
const MINUTE_NS: u64 = 60_000_000_000;

/// Everything that the trial yielded.
pub fn measurement(model: &Model, mut run: SimulatedTrial<'_>, trial: &Trial) -> Measurement {
    let delivered = run.all_done();
    let streams = run.courses.iter().map(|course| stream(model, &run, course)).collect();
    let durable = durable(model, &run, &delivered);
    let second_pass = second_pass(model, &mut run, &delivered);
    let evidence = evidence(model, &run, delivered, durable.is_some());
    let counters = run.take_course().into_iter().collect();
    let [read, write] = run.latency;
    let latency = [(Operation::Read, read), (Operation::Write, write)];
    let latency = latency.into_iter().filter_map(|(kind, some)| Some((kind, some?))).collect();
    let mut notes = Vec::new();
    if model.timed_bytes.is_some() && run.courses.iter().any(|course| course.timed_end.is_none()) {
        let text = "the trial reached at-most before every stream had completed its timed pass";
        notes.push(Note::new("cut-short", text));
    }
    if model.until_steady && run.now_s >= model.at_most_s {
        let text = "the trial was cut by at-most before the load had settled";
        notes.push(Note::new("not-settled", text));
    }
    Measurement {
        started_unix_ns: EPOCH_NS + u64::from(trial.number) * MINUTE_NS,
        elapsed_ns: ns(run.now_s),
        window: run.window,
        streams,
        evidence,
        load: run.load,
        latency,
        durable,
        second_pass,
        integrity: None,
        verified: None,
        programs: None,
        layout: None,
        reported: None,
        counters,
        notes,
        digest: None,
    }
}

fn stream(model: &Model, run: &SimulatedTrial<'_>, course: &Course) -> Stream {
    let total = run.done(course);
    let copied = if model.resident > 0.0 { total.bytes() as f64 * CPU_COPY_NS } else { 0.0 };
    Stream {
        started_ns: ns(course.starts_s.min(run.now_s)),
        pass_end_ns: course.timed_end.map(|(end_s, _)| ns(end_s)),
        pass: course.timed_end.map_or(total, |(_, amount)| amount),
        stopped_ns: ns(course.stopped_s.unwrap_or(run.now_s)),
        total,
        cpu_ns: (total.ops() as f64 * CPU_OPERATION_NS + copied) as u64,
    }
}

/// When all that was written is on the device: what is dirty drains at the devices' capacity.
fn durable(model: &Model, run: &SimulatedTrial<'_>, delivered: &Amount) -> Option<Durable> {
    if !model.durable || delivered.write_bytes == 0 {
        return None;
    }
    let capacity = (model.capacity * model.devices as f64).min(model.bus) * run.speed;
    let drain_s = run.dirty_bytes() / capacity;
    Some(Durable {
        bytes: delivered.write_bytes,
        accepted_ns: ns(run.now_s),
        durable_ns: ns(run.now_s + drain_s + FLUSH_S),
    })
}

/// Reads once more what the trial read, as far as it read it only once. What the device's cache
/// holds of it comes at the cache's rate.
fn second_pass(
    model: &Model,
    run: &mut SimulatedTrial<'_>,
    delivered: &Amount,
) -> Option<SecondPass> {
    if !model.second_pass || delivered.read_bytes == 0 || run.now_s <= 0.0 {
        return None;
    }
    let bytes = (delivered.read_bytes as f64).min(model.working_set);
    let first_s = run.now_s * bytes / delivered.read_bytes as f64;
    let first_rate = bytes / first_s;
    let held = (model.device_cache / bytes).min(1.0);
    let rate = 1.0 / (held / model.cache_rate.max(first_rate) + (1.0 - held) / first_rate);
    let mut left = bytes;
    let mut second_s = 0.0;
    while left > 0.0 {
        // The speed of this trial is in `first_rate` already.
        let rate = rate * run.noise.next();
        let seconds = (left / rate).min(0.01);
        left -= rate * seconds;
        second_s += seconds;
        if left < 1.0 {
            break;
        }
    }
    let (first_ns, second_ns) = (ns(first_s), ns(second_s));
    let first_marks = SecondPass::marks(&run.load, first_ns);
    Some(SecondPass { bytes: bytes as u64, first_ns, second_ns, first_marks })
}

/// The machine's side of it, in agreement with what was planted. The simulated file system is one
/// whose reads submit their I/O in the reader's context, so all its sources can be believed.
fn evidence(model: &Model, run: &SimulatedTrial<'_>, delivered: Amount, flushed: bool) -> Evidence {
    // Bytes under way at the end are in the flow, and not in what was delivered.
    let whole = |bytes: f64, delivered: u64| (bytes.round() as u64).min(delivered);
    let device_read = whole(run.device_read, delivered.read_bytes);
    let device_written = if flushed {
        delivered.write_bytes
    } else {
        whole(run.device_written, delivered.write_bytes)
    };
    let devices: Vec<String> = (0..model.devices).map(|device| format!("sim{device}")).collect();
    Evidence {
        delivered,
        process_read_bytes: Some(device_read),
        process_write_bytes: Some(delivered.write_bytes),
        device_read_bytes: Some(device_read),
        device_write_bytes: Some(device_written),
        devices: devices.clone(),
        disks: devices,
        process_io_reliable: true,
        reread_bytes: Some(reread(model, run)),
        filesystem: "ext4".to_owned(),
        resident_before_bytes: Some((model.resident * model.working_set) as u64),
        file_bytes: model.file_bytes,
        ..Evidence::default()
    }
}

/// Bytes that were read although they had been read before in this trial.
fn reread(model: &Model, run: &SimulatedTrial<'_>) -> u64 {
    if model.random {
        let read = run.all_done().read_bytes as f64;
        let touched = model.working_set * (1.0 - (-read / model.working_set).exp());
        return (read - touched).max(0.0) as u64;
    }
    let again = |course: &Course| run.done(course).read_bytes.saturating_sub(model.pass_bytes);
    run.courses.iter().map(again).sum()
}
