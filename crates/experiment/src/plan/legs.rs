//! (pure) Long runs cut into legs: trials of which each is kept when it ends.
//!
//! A load that goes on where the last trial left its files loses nothing by being cut; a run of a
//! week as one trial would be lost whole to a power cut in its last hour.

use super::design::Plan;
use super::refused::Refused;
use crate::knob;
use crate::knob::engine::Does;
use base::value::{Stop, Value};

/// What runs for longer is cut, ns.
const LEG_NS_MIN: u64 = 600_000_000_000;
/// A leg is not longer, ns: `at-most` is an hour where nobody says otherwise.
const LEG_NS_MAX: u64 = 3_600_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// What reads more bits is cut: 10 GB, a minute or a few of a disk.
const LEG_BITS_MIN: u64 = 80_000_000_000;
const MEGABIT: u64 = 1_000_000;
/// Reports of more trials than an hour each for a week are long to read.
const LEGS: u64 = 168;

impl Plan {
    /// Cuts what runs for hours, or for more bits than are read in minutes, into equal legs: as
    /// many replicates, each of which stops after its part. A plan that has none stays as it is.
    ///
    /// # Errors
    /// When parts of the plan would be cut differently.
    pub fn cut_into_legs(&mut self) -> Result<(), Refused> {
        let long = |stop: &Value| matches!(stop, Value::Stop(stop) if legs(*stop).0 > 1);
        let mut stops: Vec<Option<Value>> = Vec::new();
        for load in &self.loads {
            let own = load
                .settings
                .named(knob::STOP.name)
                .filter(|_| load.settings.does(Does::ChecksAll))
                .cloned();
            let levels = load.factors.iter().filter(|_| own.is_some());
            let mut levels = levels.filter(|factor| factor.knob.name == "stop");
            if levels.any(|factor| factor.levels.iter().any(long)) {
                return Err(refused("it varies `stop`, and long runs are cut into legs"));
            }
            if !stops.contains(&own) {
                stops.push(own);
            }
        }
        if !stops.iter().flatten().any(long) {
            return Ok(());
        }
        let [Some(Value::Stop(stop))] = stops[..] else {
            return Err(refused("its workloads end differently, and long runs are cut into legs"));
        };
        let (count, leg) = legs(stop);
        self.replicates = u32::try_from(u64::from(self.replicates).saturating_mul(count))
            .map_err(|_| refused("it has more legs than can be counted"))?;
        for load in &mut self.loads {
            load.settings.set(knob::STOP, leg);
        }
        Ok(())
    }
}

fn refused(why: &str) -> Refused {
    Refused {
        why: format!("this plan cannot be run: {why}"),
        hint: "run the engine `integrity` with one `stop`, in a plan of its own".to_owned(),
    }
}

/// How many legs, and what ends each.
fn legs(stop: Stop) -> (u64, Stop) {
    match stop {
        Stop::After(ns) => {
            let length = (ns / LEGS).clamp(LEG_NS_MIN, LEG_NS_MAX);
            let count = ns.div_ceil(length).max(1);
            let each = ns.div_ceil(count);
            let whole = if count > 1 { each.next_multiple_of(SECOND_NS) } else { each };
            (count, Stop::After(whole))
        }
        Stop::Bits(bits) => {
            let length = (bits / LEGS).max(LEG_BITS_MIN);
            let count = bits.div_ceil(length).max(1);
            let each = bits.div_ceil(count);
            (count, Stop::Bits(if count > 1 { each.next_multiple_of(MEGABIT) } else { each }))
        }
        other => (1, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{builtin, expand, file};

    fn cut(arguments: &[&str]) -> Result<Plan, Refused> {
        let text = builtin::find("integrity").unwrap().text;
        let mut plan = file::read(text, "integrity", None).unwrap();
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        plan.vary(&arguments)?;
        plan.cut_into_legs()?;
        Ok(plan)
    }

    fn of(stop: &str) -> (u32, String) {
        let plan = cut(&[&format!("stop={stop}")]).unwrap();
        (plan.replicates, plan.loads[0].settings.value(knob::STOP).to_string())
    }

    #[test]
    fn long_runs_are_cut_and_short_ones_are_not() {
        assert_eq!(of("8h"), (48, "10m".into()));
        assert_eq!(of("7d"), (168, "60m".into()));
        assert_eq!(of("25m"), (3, "500s".into()));
        assert_eq!(of("10m"), (1, "10m".into()));
        assert_eq!(of("3s"), (1, "3s".into()));
        assert_eq!(of("pass"), (1, "pass".into()));
        assert_eq!(of("1e9bits"), (1, "1e9bits".into()));
        assert_eq!(of("1e12bits"), (13, "76924e6bits".into()));
        assert_eq!(of("2TiB"), (1, "2TiB".into()));
    }

    #[test]
    fn legs_add_up_to_what_was_asked_and_none_is_longer_than_a_trial_may_be() {
        for hours in [1_u64, 5, 24, 100, 168, 400, 744] {
            let asked = hours * LEG_NS_MAX;
            let (count, Stop::After(each)) = legs(Stop::After(asked)) else { panic!() };
            assert!((asked..asked + count * SECOND_NS).contains(&(count * each)), "{hours} h");
            assert!(each <= LEG_NS_MAX, "{hours} h");
        }
        for asked in [1_u64, 10_u64.pow(11), 10_u64.pow(14), 3 * 10_u64.pow(14), u64::MAX] {
            let (count, Stop::Bits(each)) = legs(Stop::Bits(asked)) else { panic!() };
            assert!(u128::from(count) * u128::from(each) >= u128::from(asked));
            assert!(count <= LEGS + 1 && each <= asked);
        }
    }

    #[test]
    fn legs_are_replicates_of_every_cell_and_other_plans_stay_as_they_are() {
        let plan = cut(&["stop=1h", "streams=1,2"]).unwrap();
        assert_eq!((plan.replicates, plan.trials(1).count()), (6, 12));
        let refused = cut(&["stop=1h,2h"]).unwrap_err();
        assert!(refused.why.contains("varies `stop`"), "{refused}");
        let mut other = expand::of_workload("file", crate::workload::find("random-read").unwrap());
        other.vary(&["stop=8h".to_owned()]).unwrap();
        let before = other.identity();
        other.cut_into_legs().unwrap();
        assert_eq!(other.identity(), before);
    }

    #[test]
    fn a_plan_of_two_ends_is_refused() {
        let text = "[plan]\nname = \"p\"\nstop = \"2h\"\n[[workload]]\nuse = \"generations\"\n\
                    [[workload]]\nuse = \"random-read\"\n";
        let mut plan = file::read(text, "p.toml", None).unwrap();
        assert!(plan.cut_into_legs().unwrap_err().why.contains("end differently"));
        let text = text.replace("2h", "5m");
        file::read(&text, "p.toml", None).unwrap().cut_into_legs().unwrap();
    }
}
