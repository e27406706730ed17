//! `ip link` and `ip addr`, with `-j`, `-d` and `-s` or without: network interfaces (iproute2).
//!
//! The text is turned into the same document as `-j` prints, as far as it tells that.
//!
//! Only with `-d` it tells which of them are software, and since version 5.19 which PCI function a
//! card is.

use serde_json::{Value, json};

use super::draft::{Draft, put};
use super::piece::Piece;
use super::{PastedKind, Topic, lines};
use crate::inventory::server::address::is_address;

/// `ip link`.
pub const IP: PastedKind = PastedKind {
    name: "ip link",
    programs: &["ip"],
    opens: |line, next| heading(line).is_some() && next.starts_with("    link/"),
    json: |value| {
        let first = value.as_array().and_then(|all| all.first());
        first.is_some_and(|one| one.get("ifname").is_some() && one.get("link_type").is_some())
    },
    goes_on: true,
    tells: &[Topic::Interfaces],
    read,
};

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let written = match &piece.json {
        Some(_) => Vec::new(),
        None => documents(piece.text),
    };
    let all = piece.json.as_ref().and_then(Value::as_array).unwrap_or(&written);
    for one in all {
        let Some(name) = one.get("ifname").and_then(Value::as_str) else { continue };
        interface(one, name, draft).map_err(|why| format!("of {name} {why}"))?;
    }
    Ok(())
}

/// `2: eth0@eth1: <BROADCAST,UP> mtu 1500 ...`: the name, the one that it hangs on, and the words
/// after the flags.
fn heading(line: &str) -> Option<(&str, Option<&str>, impl Iterator<Item = &str>)> {
    let (number, rest) = line.split_once(": ")?;
    let (names, rest) = rest.split_once(": <")?;
    let (_, words) = rest.split_once("> ")?;
    let numbered = number.len() <= 9 && number.bytes().all(|byte| byte.is_ascii_digit());
    let (name, below) = match names.split_once('@') {
        Some((name, below)) => (name, Some(below)),
        None => (names, None),
    };
    // The peer in another namespace has a number alone: `veth0@if5`, and is none of ours.
    let below = below.filter(|below| *below != "NONE" && !is_number_of(below));
    (numbered && !name.contains(' ')).then(|| (name, below, words.split_whitespace()))
}

fn is_number_of(peer: &str) -> bool {
    peer.strip_prefix("if").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Kinds of software as the lines of `-d` begin with them, by the names that `-j` has.
const SOFTWARE: &[&str] = &[
    "bond",
    "bridge",
    "dummy",
    "gre",
    "ifb",
    "ip6tnl",
    "ipip",
    "ipvlan",
    "macsec",
    "macvlan",
    "macvtap",
    "sit",
    "team",
    "tun",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
    "wireguard",
];

/// What the text says of each, as `-j` says it.
fn documents(text: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for line in lines::whole(text) {
        if let Some((name, below, words)) = heading(line) {
            let mut one = json!({ "ifname": name });
            if let Some(below) = below {
                one["link"] = json!(below);
            }
            pairs(
                words,
                &[("master", "master"), ("state", "operstate"), ("qdisc", "qdisc")],
                &mut one,
            );
            all.push(one);
            continue;
        }
        let Some(one) = all.last_mut() else { continue };
        let words = || line.split_whitespace();
        let first = words().next().unwrap_or("");
        match first.strip_prefix("link/") {
            Some(kind) => {
                one["link_type"] = json!(kind);
                pairs(words(), &[("parentbus", "parentbus"), ("parentdev", "parentdev")], one);
            }
            // Options of a kind stand four blanks in, below the line of its link.
            None if line.starts_with("    ") && SOFTWARE.contains(&first) => {
                one["linkinfo"] = json!({ "info_kind": first });
            }
            None => {}
        }
    }
    all
}

/// Words that are told as pairs: the key, and what it is called in the document.
fn pairs<'a>(words: impl Iterator<Item = &'a str>, wanted: &[(&str, &str)], one: &mut Value) {
    let words: Vec<&str> = words.collect();
    for pair in words.windows(2) {
        let [key, value] = pair else { continue };
        match (*key, value.parse::<u64>()) {
            ("mtu", Ok(mtu)) => one["mtu"] = json!(mtu),
            ("promiscuity", Ok(of)) => one["promiscuity"] = json!(of),
            _ => {}
        }
        if let Some((_, name)) = wanted.iter().find(|(wanted, _)| wanted == key) {
            one[*name] = json!(value);
        }
    }
}

fn interface(one: &Value, name: &str, draft: &mut Draft) -> Result<(), String> {
    let text = |key: &str| one.get(key).and_then(Value::as_str);
    if let Some(master) = text("master") {
        let name = lines::name(name)?.to_owned();
        draft.interface(master)?.below.insert(name);
    }
    let interface = draft.interface(name)?;
    let number = match text("link_type") {
        Some("ether") => Some("1"),
        Some("infiniband") => Some("32"),
        Some("loopback") => Some("772"),
        Some("none") => Some("65534"),
        _ => None,
    };
    if let Some(number) = number {
        // What `ethtool` lets suppose is less sure.
        interface.files.tell("type", number)?;
    }
    if let Some(mtu) = one.get("mtu").and_then(Value::as_u64) {
        interface.files.tell("mtu", mtu.to_string())?;
    }
    if let Some(state) = text("operstate").filter(|state| *state != "UNKNOWN") {
        interface.files.tell("operstate", state.to_lowercase())?;
    }
    if let Some(lower) = text("link") {
        interface.below.insert(lines::name(lower)?.to_owned());
    }
    if let Some(qdisc) = text("qdisc").filter(|qdisc| *qdisc != "noop") {
        interface.answer.insert("qdisc".to_owned(), json!(qdisc));
    }
    // Both are told with -d alone.
    let detailed = one.get("promiscuity").is_some();
    match one.pointer("/linkinfo/info_kind").and_then(Value::as_str) {
        Some(kind) => {
            interface.software = true;
            interface.kind = Some(kind.to_owned());
        }
        None => interface.hardware |= detailed,
    }
    let address = text("parentdev").filter(|address| is_address(address));
    match address.filter(|_| text("parentbus") == Some("pci")) {
        Some(address) => {
            interface.hardware = true;
            put(&mut interface.function, address.to_owned(), "the PCI function")
        }
        None => Ok(()),
    }
}
