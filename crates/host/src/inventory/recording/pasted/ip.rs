//! `ip -j link` and `ip -j addr`, with `-d` or without: network interfaces (iproute2).
//!
//! Only with `-d` it tells which of them are software, and since version 5.19 which PCI function a
//! card is.

use serde_json::{Value, json};

use super::draft::{Draft, put};
use super::piece::Piece;
use super::{Kind, Topic, lines};
use crate::inventory::server::address::is_address;

/// `ip -j link`.
pub const IP: Kind = Kind {
    name: "ip -j link",
    programs: &["ip"],
    opens: |_, _| false,
    json: |value| {
        let first = value.as_array().and_then(|all| all.first());
        first.is_some_and(|one| one.get("ifname").is_some() && one.get("link_type").is_some())
    },
    goes_on: false,
    tells: &[Topic::Interfaces],
    read,
};

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let all = piece.json.as_ref().and_then(Value::as_array);
    for one in all.into_iter().flatten() {
        let Some(name) = one.get("ifname").and_then(Value::as_str) else { continue };
        interface(one, name, draft).map_err(|why| format!("of {name} {why}"))?;
    }
    Ok(())
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
