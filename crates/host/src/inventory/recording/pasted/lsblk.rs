//! `lsblk`, as a table and with `-J`: block devices, and what lies on what (util-linux).
//!
//! Sizes are binary and rounded to one digit after the point, unless `-b` was given. A device of
//! the device mapper is named as the administrator named it, where KNAME is not among the columns.

use std::collections::BTreeMap;

use serde_json::Value;

use super::draft::Draft;
use super::piece::Piece;
use super::{PastedKind, Topic, lines};

mod table;

/// `lsblk`.
pub const LSBLK: PastedKind = PastedKind {
    name: "lsblk",
    programs: &["lsblk"],
    opens: |line, _| table::is_heading(line),
    json: |value| value.get("blockdevices").is_some_and(Value::is_array),
    goes_on: false,
    tells: &[Topic::Disks],
    read,
};

/// One row: its cells by column, in small letters, and how deep it hangs.
#[derive(Clone, Debug, Default)]
pub struct LsblkRow {
    cells: BTreeMap<String, String>,
    depth: usize,
    /// The last column that has a cell.
    last: usize,
}

impl LsblkRow {
    fn cell(&self, column: &str) -> Option<&str> {
        self.cells.get(column).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// The kernel's name where it is told: `sdb1`, `dm-3`.
    fn name(&self) -> Result<&str, String> {
        let (name, kernel) = (self.cell("name"), self.cell("kname"));
        // Old versions print `vg-data (dm-3)`.
        let inside = name.and_then(|name| name.strip_suffix(')')?.split_once(" (")).map(|it| it.1);
        let name = kernel.or(inside).or(name).ok_or("a row has no name")?;
        lines::name(name)
    }
}

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let rows = match &piece.json {
        Some(json) => of_json(json)?,
        None => table::rows(piece.text)?,
    };
    if rows.is_empty() {
        return Err("it lists no device: is it cut short?".to_owned());
    }
    let mut above: Vec<String> = Vec::new();
    for row in &rows {
        let name = row.name()?.to_owned();
        if row.depth > above.len() {
            return Err(format!("{name} hangs on a device that is not there: was a row lost?"));
        }
        above.truncate(row.depth);
        let parent = above.last().cloned();
        above.push(name.clone());
        device(row, &name, parent, draft).map_err(|why| format!("of {name} {why}"))?;
    }
    Ok(())
}

/// Devices with those that lie on them, in the order of the table.
fn of_json(json: &Value) -> Result<Vec<LsblkRow>, String> {
    const DEEPEST: usize = 32;
    let mut rows = Vec::new();
    let all = json.get("blockdevices").and_then(Value::as_array);
    let mut ahead: Vec<(&Value, usize)> =
        all.into_iter().flatten().rev().map(|value| (value, 0)).collect();
    while let Some((value, depth)) = ahead.pop() {
        let object = value.as_object().ok_or("a device is no object")?;
        let mut row = LsblkRow { depth, ..LsblkRow::default() };
        for (key, value) in object {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(yes) => u8::from(*yes).to_string(),
                _ => continue,
            };
            row.cells.insert(key.to_lowercase(), text);
        }
        rows.push(row);
        let children = object.get("children").and_then(Value::as_array);
        if depth < DEEPEST {
            ahead.extend(children.into_iter().flatten().rev().map(|child| (child, depth + 1)));
        }
    }
    Ok(rows)
}

fn device(
    row: &LsblkRow,
    name: &str,
    parent: Option<String>,
    draft: &mut Draft,
) -> Result<(), String> {
    let kind = match row.cell("type") {
        Some(kind) => kind.to_owned(),
        None if name.contains("nvme") && parent.is_none() => "disk".to_owned(),
        None => String::new(),
    };
    let parent = parent.or_else(|| row.cell("pkname").map(str::to_owned));
    if let Some(parent) = &parent {
        lines::name(parent)?;
    }
    let by_name = whole_of(name).filter(|whole| draft.blocks.contains_key(*whole));
    let by_name = by_name.map(str::to_owned);
    let label = row.cell("name").map(|name| name.split(" (").next().unwrap_or(name).to_owned());
    let block = draft.block(name)?;
    if let Some(size) = row.cell("size").or(row.cell("bytes")) {
        let (bytes, exact) = size_bytes(size).ok_or_else(|| format!("the size is {size:?}"))?;
        block.sized(bytes, exact)?;
    }
    match kind.as_str() {
        "part" if name.starts_with("dm-") || !is_partition(name) => {
            // kpartx makes partitions out of the device mapper.
            block.below.extend(parent);
            block.files.suppose("dm/uuid", "part1-untold");
        }
        "part" => {
            block.files.tell("partition", partition(name))?;
            let whole = whole_of(name);
            if parent.as_deref().zip(whole).is_some_and(|(above, whole)| above != whole) {
                return Err("it stands below another disk than its own: was a row lost?".to_owned());
            }
            if let Some(parent) = parent.or(by_name) {
                super::draft::put(&mut block.parent, parent, "the disk")?;
            }
        }
        "loop" => block.files.tell("loop/autoclear", "")?,
        "rom" | "disk" | "" | "zram" | "tape" => {}
        "lvm" | "crypt" | "mpath" | "dm" | "dmraid" | "vdo" | "stratis" => {
            block.below.extend(parent);
            let owner = match kind.as_str() {
                "lvm" => "LVM-",
                "crypt" => "CRYPT-",
                "mpath" => "mpath-",
                "dmraid" => "DMRAID-",
                "vdo" => "VDO-",
                "stratis" => "stratis-",
                _ => "",
            };
            block.files.tell("dm/uuid", format!("{owner}untold"))?;
            if let Some(label) = label {
                block.files.tell("dm/name", label)?;
            }
        }
        level @ ("raid0" | "raid1" | "raid4" | "raid5" | "raid6" | "raid10" | "linear" | "md") => {
            if let Some(parent) = &parent {
                // That it is a member, and not how it is.
                block.files.suppose(&format!("md/dev-{parent}/state"), "");
            }
            block.below.extend(parent);
            if level != "md" {
                block.files.suppose("md/level", level);
            }
        }
        other => return Err(format!("the type is {other:?}, which lsblk does not print")),
    }
    about(row, block, kind == "disk")
}

/// What columns beside the first tell.
fn about(row: &LsblkRow, block: &mut super::draft::Block, disk: bool) -> Result<(), String> {
    let files = [
        ("maj:min", "dev"),
        ("rota", "queue/rotational"),
        ("sched", "queue/scheduler"),
        ("rq-size", "queue/nr_requests"),
        ("phy-sec", "queue/physical_block_size"),
        ("log-sec", "queue/logical_block_size"),
        ("ra", "queue/read_ahead_kb"),
    ];
    for (column, file) in files {
        if let Some(cell) = row.cell(column) {
            let plain = cell.bytes().all(|byte| byte.is_ascii_digit());
            if plain || ["maj:min", "sched"].contains(&column) {
                block.files.tell(file, cell.trim())?;
            }
        }
    }
    if !disk {
        return Ok(());
    }
    let told = [("model", "device/model"), ("serial", "device/serial"), ("rev", "device/rev")];
    for (column, file) in told {
        if let Some(cell) = row.cell(column) {
            // udev writes `_` for blanks.
            block.files.suppose(file, cell.replace('_', " ").trim());
        }
    }
    if let Some(vendor) = row.cell("vendor") {
        block.files.suppose("device/vendor", vendor.trim());
    }
    if let Some(wwn) = row.cell("wwn") {
        block.files.suppose("device/wwid", wwn);
    }
    let known = ["sata", "sas", "nvme", "usb", "fc", "iscsi", "virtio", "spi"];
    match row.cell("tran").filter(|tran| known.contains(tran)) {
        Some(tran) => block.attached(tran),
        None => Ok(()),
    }
}

/// `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`, as the kernel names partitions.
pub fn whole_of(name: &str) -> Option<&str> {
    let whole = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if whole.len() == name.len() || whole.is_empty() {
        return None;
    }
    match whole.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => Some(disk),
        _ => Some(whole).filter(|whole| !whole.contains(|c: char| c.is_ascii_digit())),
    }
}

fn is_partition(name: &str) -> bool {
    whole_of(name).is_some()
}

fn partition(name: &str) -> &str {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).rsplit('p').next().unwrap_or("")
}

/// `931.5G` is rounded, `1000204886016` is not.
fn size_bytes(text: &str) -> Option<(u64, bool)> {
    let text = text.trim();
    if let Ok(bytes) = text.parse::<u64>() {
        return Some((bytes, true));
    }
    let units = ["B", "K", "M", "G", "T", "P", "E"];
    let at = units.iter().position(|unit| text.ends_with(unit))?;
    // Some languages write a comma.
    let number = text[..text.len() - 1].replace(',', ".").parse::<f64>().ok()?;
    let bytes = number * 1024f64.powi(i32::try_from(at).ok()?);
    (number >= 0.0 && bytes < 2f64.powi(63)).then_some((bytes as u64, at == 0))
}
