//! Labels: what only a person can change. A plan gives their levels; a run stops between them and
//! says what to change.
//!
//! They are a fixed family, not names of a plan's own: every knob stands in the one table, so that
//! a trial of any campaign can be told, compared and repeated without its plan. What fits none of
//! the others is a `label`. The kinds are those that the sources varied by hand.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::typed::{OrAsIs, Setting, Word};
use super::{Apply, Knob, Scope};
use base::value::Domain;

const fn knob<T: Setting>(name: &'static str, about: &'static str) -> Knob<T> {
    let domain = Domain::OrAsIs(&Domain::Label);
    let (scope, default, fio) = (Scope::Label, "as-is", "");
    Knob { name, fio, about, domain, default, scope, apply: Apply::ByHand, reads: PhantomData }
}

pub const CARD: Knob<OrAsIs<Word>> =
    knob("card", "By hand: the disk controller, such as areca-16 or 3ware-8");
pub const SLOT: Knob<OrAsIs<Word>> =
    knob("slot", "By hand: the slot that the card is in, such as pcie-x8");
pub const DISK_MODEL: Knob<OrAsIs<Word>> = knob("disk-model", "By hand: the make of the disks");
pub const CARD_MEMORY: Knob<OrAsIs<Word>> =
    knob("card-memory", "By hand: memory on the disk controller");
pub const HARDWARE_RAID: Knob<OrAsIs<Word>> =
    knob("hardware-raid", "By hand: the array that the controller makes, such as raid5 or jbod");
pub const BIOS: Knob<OrAsIs<Word>> = knob("bios", "By hand: a setting of the firmware");
pub const LABEL: Knob<OrAsIs<Word>> =
    knob("label", "By hand: anything else that only a person can change");
