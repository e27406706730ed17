//! The plan `integrity` on a disk that lies about what is written over: lost writes come back as
//! the generation before.

use super::{BLOCKS, compare, expected, found, once_each, run};
use crate::disk::{beside_a_guest, usable};
use crate::liar::{Liar, Lie};
use crate::run::draw;

const STAYS: &[Lie] = &[Lie::Drop, Lie::Tear, Lie::Misdirect, Lie::Swap, Lie::Flip, Lie::Spoil];
const PASSES: &[Lie] = &[Lie::StaleOnce, Lie::FlipOnce, Lie::MisreadOnce];

#[test]
fn what_a_disk_lies_about_over_generations_is_found_and_named_and_nothing_else() {
    if !usable("the plan integrity on a lying disk", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let draws = if std::env::var_os("BRICKYARD_LONG").is_some() { 20 } else { 1 };
    for number in 0..draws {
        for (what, lies) in [("honest", &[][..]), ("what stays", STAYS), ("what passes", PASSES)] {
            let what = format!("draw {number}: generations, {what}");
            let liar = Liar::new(48);
            // In the second generation or the third.
            let mut rules = once_each(&what, lies, BLOCKS + 1..BLOCKS + BLOCKS / 3);
            for rule in rules.iter_mut().filter(|rule| rule.lie == Lie::Drop) {
                rule.every = Some(draw(&format!("{what}: every"), 200, 1000));
            }
            liar.arm(&rules, draw(&format!("{what}: seed"), 0, u64::MAX));
            let document = run(
                &liar,
                &[
                    "integrity",
                    "file-size=4MiB",
                    "streams=2",
                    "block-size=64KiB",
                    "stop=8e8bits",
                    "direct=true",
                ],
            );
            let truth = liar.confess();
            compare(&what, expected(&truth, false), found(&document), &truth.told);
            let stale = found(&document).iter().filter(|fault| fault.kind == "stale").count();
            assert_eq!(stale > 0, !lies.is_empty(), "{truth:#?}");
        }
    }
}
