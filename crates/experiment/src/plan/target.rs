//! (pure) Whether what a plan says of layouts, or would write, fits its target.

use super::design::{Load, Plan};
use super::layouts::{is_layout, is_open};
use super::refused::Refused;
use crate::knob::{self, Knob};
use base::value::Value;

impl Plan {
    /// Whether what it says of layouts fits what it says of its target.
    ///
    /// # Errors
    /// When layouts are to be made and there are no disks, when there are disks and no file system
    /// to make on them, when nobody says how several disks are joined, or when no cell makes sense.
    pub fn check_target(&self) -> Result<(), Refused> {
        if !self.read_only.is_empty() {
            return self.check_read_only();
        }
        for load in self.loads.iter().filter(|load| load.settings.has(knob::FILESYSTEM)) {
            if self.disks.is_empty() {
                no_layout(load)?;
            } else {
                whole_layout(load, self.disks.len())?;
            }
        }
        if !self.disks.is_empty() && self.cells().next().is_none() {
            let reasons = self.senseless().into_keys().collect::<Vec<_>>().join("; ");
            return Err(Refused {
                why: format!("no cell of the plan `{}` makes sense: {reasons}", self.name),
                hint: "name more devices, or change the levels".to_owned(),
            });
        }
        Ok(())
    }
}

/// Without disks nothing can be made.
fn no_layout(load: &Load) -> Result<(), Refused> {
    let asked = |knob: &&&Knob| {
        is_layout(knob)
            && (load.factors.iter().any(|factor| factor.knob.name == knob.name)
                || !is_open(&load.settings, knob.name))
    };
    let Some(knob) = knob::KNOBS.iter().find(asked) else { return Ok(()) };
    Err(Refused {
        why: format!("`{}` needs disks to make a file system on, and none are named", knob.name),
        hint: "write devices = [\"serial:...\"] under [target], or give --device serial:...; all \
               that is on them will be destroyed"
            .to_owned(),
    })
}

/// On disks something must be made.
fn whole_layout(load: &Load, disks: usize) -> Result<(), Refused> {
    let says = |name: &str| match load.factors.iter().find(|factor| factor.knob.name == name) {
        Some(factor) => !factor.levels.iter().any(Value::is_as_is),
        None => !is_open(&load.settings, name),
    };
    if !says("filesystem") {
        return Err(Refused {
            why: format!("the workload `{}` has devices and no file system on them", load.name),
            hint: "write filesystem = \"ext4\" under [factors], or give filesystem=ext4".to_owned(),
        });
    }
    if disks > 1 && !["raid", "disks", "journal"].into_iter().any(says) {
        return Err(Refused {
            why: format!(
                "the workload `{}` has {disks} devices, and nothing says how they are joined",
                load.name
            ),
            hint: "write raid = \"raid5\" under [factors], or disks = 1".to_owned(),
        });
    }
    Ok(())
}
