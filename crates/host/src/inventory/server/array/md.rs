//! Arrays of the md driver; see Documentation/admin-guide/md.rst.

use crate::inventory::server::Reading;
use crate::sys::Host;
use facts::inventory::server::Array;

/// All of them; also one that was not started, which has no size.
pub fn read(reading: &mut Reading<'_>) -> Vec<Array> {
    let host = reading.host();
    let names = host.list("/sys/class/block").into_iter();
    let names = names.filter(|name| host.exists(format!("/sys/class/block/{name}/md")));
    let names: Vec<String> = names.collect();
    names.iter().map(|name| one(reading, name)).collect()
}

fn one(reading: &mut Reading<'_>, name: &str) -> Array {
    let host = reading.host();
    let place = format!("/sys/block/{name}/md");
    let what = format!("the state of {name}");
    let mut word = |file: &str| reading.word(format!("/sys/class/block/{name}/md/{file}"), &what);
    let number = |word: Option<String>| word.and_then(|word| word.parse::<u64>().ok());
    // With metadata of a firmware RAID there is an array that only holds the others.
    let holds_others = word("metadata_version")
        .is_some_and(|version| version.starts_with("external:") && !version.contains('/'));
    let state = word("array_state");
    let action = word("sync_action");
    let busy_with = action.filter(|action| !["idle", "frozen"].contains(&action.as_str()));
    let done = word("sync_completed").and_then(|text| share(&text));
    let degraded = number(word("degraded"));
    let wanted = number(word("raid_disks"));
    let chunk_bytes = number(word("chunk_size")).filter(|bytes| *bytes > 0);
    let level = if holds_others { Some("container".to_owned()) } else { word("level") };
    let members = members(host, name);
    let in_sync = || members.iter().filter(|member| member.in_sync).count() as u64;
    // What is not running does not say how much it lacks.
    let stopped = state.as_deref() == Some("inactive");
    let missing = match stopped && !holds_others {
        true => wanted.filter(|wanted| *wanted > 0).map(|wanted| wanted.saturating_sub(in_sync())),
        false => degraded,
    };
    let errors: Vec<u64> = members.iter().filter_map(|member| member.errors).collect();
    let (told, said) = match degraded {
        Some(count) => ("degraded", Some(count.to_string())),
        None => ("array_state", state.clone()),
    };
    Array {
        caching: None,
        name: name.to_owned(),
        alias: alias(host, name),
        kind: "md".to_owned(),
        level,
        chunk_bytes,
        whole: wanted.filter(|wanted| *wanted > 0 && !holds_others),
        state,
        missing,
        errors: (!errors.is_empty()).then(|| errors.iter().copied().fold(0, u64::saturating_add)),
        done_share: busy_with.is_some().then_some(done).flatten(),
        busy_with,
        place: format!("{place}/{told}"),
        said,
        members: members.into_iter().map(|member| member.name).collect(),
        disks: Vec::new(),
    }
}

/// A member of an md array as its directory in /sys tells of it.
struct MdMember {
    name: String,
    in_sync: bool,
    errors: Option<u64>,
}

/// `dev-sda1` is the member sda1. Its state is a list of words.
fn members(host: &Host, array: &str) -> Vec<MdMember> {
    let place = format!("/sys/class/block/{array}/md");
    let names = host.list(&place).into_iter();
    let member = |entry: String| {
        let name = entry.strip_prefix("dev-")?.to_owned();
        let state = host.word(format!("{place}/{entry}/state")).unwrap_or_default();
        let errors = host.word(format!("{place}/{entry}/errors"));
        Some(MdMember {
            name,
            in_sync: state.split(',').any(|word| word == "in_sync"),
            errors: errors.and_then(|word| word.parse().ok()),
        })
    };
    names.filter_map(member).collect()
}

/// The link in /dev/md that leads to it.
fn alias(host: &Host, name: &str) -> Option<String> {
    let leads = |link: &String| {
        let target = host.link(format!("/dev/md/{link}"));
        target.is_some_and(|target| target.file_name().is_some_and(|last| last == name))
    };
    host.list("/dev/md").into_iter().find(leads).map(|link| format!("/dev/md/{link}"))
}

/// `1234 / 5678` sectors; `none` and `delayed` are no share.
fn share(text: &str) -> Option<f64> {
    let (done, all) = text.split_once(" / ")?;
    let (done, all): (u64, u64) = (done.parse().ok()?, all.parse().ok()?);
    (all > 0 && done <= all).then(|| done as f64 / all as f64)
}
