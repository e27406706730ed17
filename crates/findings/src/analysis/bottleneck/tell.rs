//! Limits in words.

use super::{CellBottleneck, RunnerUp, verdict::BottleneckVerdict};
use crate::analysis::{Finding, command, words};
use base::stats::mean_interval;
use base::value;
use experiment::knob::{self, Settings};
use experiment::measurement::limit::Resource;

/// Cells with the same limit, and the same one next, as one finding; there is one at least.
pub fn finding(group: Vec<CellBottleneck>) -> Finding {
    let CellBottleneck { settings, load, rates, verdict, all, .. } = &group[0];
    let rate = mean_interval(rates).map(|rate| words::load_rate(settings, &rate, rates.len()));
    let at = mean_interval(rates).map_or(String::new(), |rate| {
        format!(" at {}", words::load_throughput(settings, rate.value))
    });
    let evidence = &verdict.evidence;
    let noun = noun(verdict.limit);
    let count = group.len();
    let lead = match (verdict.limit, count) {
        (Resource::Unknown, 1) => format!("What limits {}{at} is not known", words::lower(load)),
        (Resource::Unknown, _) => {
            format!(
                "What limits {count} of {all} cells is not known, such as {}",
                words::lower(load)
            )
        }
        (_, 1) => match &rate {
            Some(rate) => format!("{load} gives {rate}, limited by {noun}"),
            None => format!("{load} is limited by {noun}"),
        },
        (_, _) => {
            format!(
                "{} limits {count} of {all} cells, such as {}{at}",
                upper(&noun),
                words::lower(load)
            )
        }
    };
    let mut claim = format!("{lead}.");
    if let Some(suspect) = verdict.suspect {
        claim += &format!(" The first suspect is {}.", self::noun(suspect));
    }
    if let Some(next) = &verdict.runner_up {
        claim += &in_words(settings, next);
    }
    let unequal = mismatch(&group).map(|(trials, text)| {
        let trials = value::counted(trials as u64, "trial");
        format!("In {trials} the figures do not agree: {text}")
    });
    // What it begins with may be the name of a device.
    let seen = Some(format!("seen: {evidence}")).filter(|_| !evidence.is_empty());
    let told = seen.into_iter().chain(unequal);
    let evidence = group.iter().flat_map(|told| told.trials.clone()).collect();
    let mut finding = Finding::info(super::QUESTION.name, claim, evidence).detailed(told);
    finding.limit = Some(verdict.limit.name().to_owned());
    finding.open = verdict.limit == Resource::Unknown && verdict.suspect.is_none();
    finding.suspect = verdict.suspect.map(|suspect| suspect.name().to_owned());
    finding.runner_up = verdict.runner_up.clone();
    finding.advice = advice(verdict, settings).map(str::to_owned);
    finding.command = try_next(verdict, settings);
    let subject = match count {
        1 => format!("What limits {}", words::lower(load)),
        _ => format!("What limits {count} of {all} cells, such as {},", words::lower(load)),
    };
    let assertions = group.iter().filter_map(|told| told.verdict.assertion.clone());
    let finding = finding.stating(assertions.map(|it| it.about(subject.clone())));
    Finding { cells: group, ..finding }
}

fn mismatch(group: &[CellBottleneck]) -> Option<(usize, &str)> {
    let all = group.iter().filter_map(|told| told.verdict.mismatch.as_ref());
    let trials = all.clone().map(|(trials, _)| trials).sum();
    all.map(|(_, text)| (trials, text.as_str())).next()
}

fn in_words(settings: &Settings, next: &RunnerUp) -> String {
    let rate = words::load_throughput(settings, next.throughput_bytes_per_s);
    let more = if next.at_least { " or more" } else { "" };
    format!(" Next: {}, at {rate}{more}.", named(next.limit))
}

/// What it is by its name in JSON.
pub fn named(name: &str) -> String {
    let known = RESOURCES.iter().find(|resource| resource.name() == name);
    match (known, name) {
        (Some(resource), _) => noun(*resource),
        (None, name) if name == Resource::Latency.name() => noun(Resource::Latency),
        (None, name) => name.to_owned(),
    }
}

/// What can be the next.
const RESOURCES: [Resource; 14] = [
    Resource::Device,
    Resource::Link,
    Resource::Cpu,
    Resource::Core,
    Resource::Softirq,
    Resource::PeerCpu,
    Resource::CpuQuota,
    Resource::CgroupIo,
    Resource::Copying,
    Resource::Memory,
    Resource::Network,
    Resource::Generator,
    Resource::Hypervisor,
    Resource::DeviceCache,
];

fn noun(resource: Resource) -> String {
    match resource {
        Resource::Device => "the device",
        Resource::Link => "the link to the device",
        Resource::Cpu => "the number of CPUs that are left for the load",
        Resource::Core => "one CPU core",
        Resource::Softirq => "a CPU core full of interrupt work",
        Resource::PeerCpu => "the CPUs of the other machine",
        Resource::CpuQuota => "the control group's CPU quota",
        Resource::CgroupIo => "the control group's I/O limit",
        Resource::Copying => "copying from memory to memory",
        Resource::Memory => "memory bandwidth",
        Resource::Network => "the network",
        Resource::Latency => "request latency",
        Resource::Generator => "the load itself, which asked for no more",
        Resource::Hypervisor => "the hypervisor",
        Resource::DeviceCache => "a cache behind the kernel",
        Resource::Unknown => "something unknown",
    }
    .to_owned()
}

fn advice(verdict: &BottleneckVerdict, settings: &Settings) -> Option<&'static str> {
    let text = match verdict.limit {
        Resource::Device => "faster or more disks; `brickyard inspect` says what they lie on",
        Resource::Link => "see `brickyard inspect` for the link and what it trained at",
        Resource::Cpu => "give the load more CPUs, or stop what else runs on them",
        Resource::Core | Resource::Softirq if settings.is_network() => {
            "spread the load: more streams, larger messages, cpu-pinning"
        }
        Resource::PeerCpu => "a faster machine at the other end, or several; more streams",
        Resource::Core | Resource::Softirq => "spread the load: more streams, larger blocks",
        Resource::Network if settings.is_network() => {
            "a faster link, or a second one; jumbo frames leave less of it to headers"
        }
        Resource::CpuQuota => "raise the control group's CPU quota",
        Resource::CgroupIo => "raise the control group's I/O limit",
        Resource::Copying => "more streams share the copying; the figure is memory's",
        Resource::Latency => "use a deeper queue: raise queue-depth or streams",
        Resource::Generator => "raise rate, or leave it out, to see what the server can do",
        Resource::Hypervisor => "measure when the host is idle, or on a host of its own",
        Resource::DeviceCache => "read more than the cache holds, or with second-pass=true",
        Resource::Memory | Resource::Network => return None,
        Resource::Unknown => {
            let unclear = matches!(verdict.suspect, Some(Resource::Device));
            let advice = "measure with less and with more in flight, more often: \
                          queue-depth=1,8 --replicates 5";
            return unclear.then_some(advice);
        }
    };
    Some(text)
}

/// What to type to see whether that is so, or what it lies on.
fn try_next(verdict: &BottleneckVerdict, settings: &Settings) -> Option<String> {
    match verdict.limit {
        Resource::Device | Resource::Link => Some("brickyard inspect".to_owned()),
        Resource::Latency => {
            let depth = settings.find(knob::QUEUE_DEPTH)?;
            let deeper = command::levels([depth, 4 * depth, 16 * depth]);
            command::again(settings, &[("queue-depth", &deeper)])
        }
        Resource::Core | Resource::Copying => {
            let streams = settings.get(knob::STREAMS);
            let more = command::levels([streams, 2 * streams, 4 * streams]);
            command::again(settings, &[("streams", &more)])
        }
        Resource::DeviceCache => command::again(settings, &[("second-pass", "true")]),
        Resource::Unknown if verdict.suspect.is_some() => {
            command::again(settings, &[("queue-depth", "1,8,32")])
        }
        _ => None,
    }
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
