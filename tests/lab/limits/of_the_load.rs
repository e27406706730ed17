//! Limits of the load itself.

use super::{Case, Load, amount, factor};
use crate::disk::Mount;
use crate::model::{Model, Modelled};

/// Operations at a fixed rate, below what the disk could do.
pub fn rate(number: u64, lift: bool) -> Case {
    let takes_us = amount(number, "request, us", 2000, 8000);
    let model = Model { request_us: takes_us, bytes_per_s: 4_000_000_000, slots: 1 };
    let mut made = Modelled::new(400, model);
    let mount = Mount::format(made.disk(), "ext4");
    let asked = (1e6 / takes_us as f64 / factor(number)) as u64;
    let knobs = ["block-size=16KiB", "queue-depth=8", "stop=3s"];
    let load = Load::new(mount.name(), "random-read", &knobs, 8);
    let answer = load.clone().with(format!("rate={asked}")).run();
    let lifted = lift.then(|| load.run().bytes_per_s);
    Case { right: &["generator"], answer, lifted }
}
