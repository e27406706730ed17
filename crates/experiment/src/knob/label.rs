//! Labels: what only a person can change. A plan gives their levels; a run stops between them and
//! says what to change.
//!
//! They are a fixed family, not names of a plan's own: every knob stands in the one table, so that
//! a trial of any campaign can be told, compared and repeated without its plan. What fits none of
//! the others is a `label`. The kinds are those that the sources varied by hand.

use super::{Apply, Knob, Scope};
use base::value::Domain;

const fn knob(name: &'static str, about: &'static str) -> Knob {
    let domain = Domain::OrAsIs(&Domain::Label);
    let (scope, engines, default, fio) = (Scope::Label, &[], "as-is", "");
    Knob { name, fio, about, domain, default, scope, engines, apply: Apply::ByHand }
}

pub const CARD: Knob = knob("card", "By hand: the disk controller, such as areca-16 or 3ware-8");
pub const SLOT: Knob = knob("slot", "By hand: the slot that the card is in, such as pcie-x8");
pub const DISK_MODEL: Knob = knob("disk-model", "By hand: the make of the disks");
pub const CARD_MEMORY: Knob = knob("card-memory", "By hand: memory on the disk controller");
pub const HARDWARE_RAID: Knob =
    knob("hardware-raid", "By hand: the array that the controller makes, such as raid5 or jbod");
pub const BIOS: Knob = knob("bios", "By hand: a setting of the firmware");
pub const LABEL: Knob = knob("label", "By hand: anything else that only a person can change");
