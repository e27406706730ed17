//! A workload's name as a plan, and `knob=level,level` arguments on top of any plan.

use std::collections::BTreeMap;

use super::design::{Design, Factor, Load, Plan};
use super::file;
use super::refused::Refused;
use crate::knob::typed::{Setting, Words};
use crate::knob::{self, Knob};
use crate::workload::{self, Workload};
use base::value::{Domain, Value};

/// The plan of one workload.
pub fn of_workload(engine: &str, workload: &Workload) -> Plan {
    Plan {
        name: workload.name.to_owned(),
        about: workload.about.to_owned(),
        engine: engine.to_owned(),
        replicates: file::REPLICATES,
        seed: None,
        design: Design::Full,
        directories: Vec::new(),
        disks: Vec::new(),
        read_only: Vec::new(),
        loads: vec![file::load(workload, engine, &[])],
        without: BTreeMap::new(),
        needs: Vec::new(),
        twice_memory: false,
        excludes: Vec::new(),
        prices: BTreeMap::new(),
        currency: String::new(),
    }
}

impl Plan {
    /// Sets knobs as `knob=level,level` arguments say, whatever the plan says of them: in every
    /// workload that obeys them and does not keep its own, in the order given.
    ///
    /// # Errors
    /// For an unknown knob, a level outside its domain, or a knob that no workload obeys or all
    /// keep.
    pub fn vary(&mut self, arguments: &[String]) -> Result<(), Refused> {
        let mut given: Vec<&'static str> = Vec::new();
        for argument in arguments {
            let (knob, levels) = self.factor(argument)?;
            if self.obeying(knob).next().is_none() {
                return Err(Refused {
                    why: format!("every workload of `{}` keeps its own `{}`", self.name, knob.name),
                    hint: "leave it out, or write a plan of your own".to_owned(),
                });
            }
            // Each argument is one more text; all of them together are one level.
            if let (Domain::Texts, [Value::Words(more)]) = (knob.domain, &levels[..]) {
                for load in self.obeying(knob) {
                    let held = load.settings.named(knob.name);
                    let all = [Words::read(held), more].concat();
                    load.settings.set_named(knob.name, Value::Words(all));
                }
                continue;
            }
            if given.contains(&knob.name) {
                return Err(Refused {
                    why: format!("`{}` is given twice", knob.name),
                    hint: format!("give all its levels at once: {}=level,level", knob.name),
                });
            }
            given.push(knob.name);
            for load in self.obeying(knob) {
                load.sized |= knob.name == knob::FILE_SIZE.name;
                load.factors.retain(|factor| factor.knob.name != knob.name);
                match &levels[..] {
                    [level] => load.settings.set_named(knob.name, level.clone()),
                    _ => load.factors.push(Factor { knob, levels: levels.clone() }),
                }
            }
        }
        self.check()
    }

    fn obeying(&mut self, knob: &Knob) -> impl Iterator<Item = &mut Load> {
        let name = knob.name;
        let loads = self.loads.iter_mut();
        loads.filter(move |load| load.settings.named(name).is_some() && !load.kept.contains(&name))
    }

    /// Whether its design can be made of its factors, and has any cell.
    ///
    /// # Errors
    /// When a fraction is asked of a factor that has more than two levels, or all cells are
    /// excluded.
    pub fn check(&self) -> Result<(), Refused> {
        let factors = || self.loads.iter().flat_map(|load| &load.factors);
        let wide = || factors().find(|factor| factor.levels.len() > 2);
        if let (Design::Fractional, Some(factor)) = (self.design, wide()) {
            let (name, levels) = (factor.knob.name, factor.levels.len());
            return Err(Refused {
                why: format!("a fractional design has two levels a factor; `{name}` has {levels}"),
                hint: "give its lowest and its highest, or use design = \"one-at-a-time\"".into(),
            });
        }
        // On disks it is their number too that decides which cells there are.
        if self.disks.is_empty() && self.cells().next().is_none() {
            return Err(Refused {
                why: format!("every cell of the plan `{}` is excluded", self.name),
                hint: "take a rule out of [[exclude]], or add a level".to_owned(),
            });
        }
        Ok(())
    }
}

impl Plan {
    /// Why a knob that no workload obeys is refused: an engine that could run them and has it is
    /// named, and none that could not.
    fn has_none(&self, knob: &Knob) -> Refused {
        let runs = |engine: &&str| {
            let runs = |load: &Load| {
                let known = workload::find(&load.name);
                known.is_some_and(|workload| workload.engines.contains(engine))
            };
            self.loads.iter().all(runs)
        };
        let others: Vec<&str> = knob.obeying().into_iter().filter(runs).collect();
        let hint = match others.is_empty() {
            false => format!("use --engine {}, or leave it out", others.join(" or ")),
            true => format!("leave it out; it is a knob of {}", knob.obeying().join(", ")),
        };
        Refused { why: format!("the engine `{}` has no knob `{}`", self.engine, knob.name), hint }
    }

    /// Reads `knob=level,level`.
    fn factor(&self, argument: &str) -> Result<(&'static Knob, Vec<Value>), Refused> {
        let Some((name, levels)) = argument.split_once('=') else {
            return Err(Refused {
                why: format!("`{argument}` is not of the form knob=level,level"),
                hint: format!("write {argument}=..., or see `brickyard list knobs`"),
            });
        };
        let Some(knob) = knob::find(name) else {
            let names = knob::KNOBS.iter().map(|knob| knob.name);
            let meant = knob::meant(name, names, |near| format!("`{near}`"));
            let meant = meant.map_or(String::new(), |meant| format!("{meant} "));
            let hint = format!("{meant}`brickyard list knobs` shows all");
            return Err(Refused { why: format!("there is no knob `{name}`"), hint });
        };
        if !self.loads.iter().any(|load| load.settings.named(name).is_some()) {
            return Err(self.has_none(knob));
        }
        let read = knob.domain.levels(levels).map_err(|unread| Refused {
            why: format!("{name}: {}", unread.why),
            hint: unread.hint.unwrap_or_else(|| format!("{name} takes {}", knob.domain.describe())),
        })?;
        let mut values = Vec::with_capacity(read.len());
        for value in read {
            if values.contains(&value) {
                return Err(Refused {
                    why: format!("{name}: the level {value} is there twice"),
                    hint: "give each level once; --replicates repeats all of them".to_owned(),
                });
            }
            values.push(value);
        }
        Ok((knob, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::{Access, Settings};

    fn random_reads() -> Plan {
        of_workload("file", crate::workload::find("random-read").unwrap())
    }

    fn expand(arguments: &[&str]) -> Result<Vec<Settings>, Refused> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let mut plan = random_reads();
        plan.vary(&arguments)?;
        Ok(plan.cells().map(|cell| plan.settings(&cell)).collect())
    }

    #[test]
    fn levels_are_combined_and_what_is_typed_wins_over_the_preset() {
        let cells = expand(&["block-size=4KiB,8KiB", "queue-depth=1,8,32"]).unwrap();
        assert_eq!(cells.len(), 6);
        let depths: Vec<u64> = cells.iter().map(|s| s.get(knob::QUEUE_DEPTH)).collect();
        assert_eq!(depths, [1, 8, 32, 1, 8, 32]);
        assert!(cells.iter().all(|s| s.get(knob::ACCESS) == Some(Access::RandomRead)));
    }

    /// Commas in a command separate nothing, and a text that is given again is one more.
    #[test]
    fn texts_are_taken_whole() {
        let arguments = [
            "command=dd if=a,b",
            "extract=a=(1,2)",
            "extract=b=/c",
            "streams=1,4",
            "environment=A=1,2",
        ];
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let command = || of_workload("command", crate::workload::find("command").unwrap());
        let mut plan = command();
        plan.vary(&arguments).unwrap();
        let all: Vec<Settings> = plan.cells().map(|cell| plan.settings(&cell)).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[1].get(knob::COMMAND), "dd if=a,b");
        assert_eq!(all[1].get(knob::EXTRACT), ["a=(1,2)", "b=/c"]);
        assert_eq!(all[0].get(knob::ENVIRONMENT), ["A=1,2"]);
        let refused = command().vary(&["block-size=4KiB".into()]).unwrap_err();
        assert!(refused.why.contains("no knob `block-size`"), "{refused}");
    }

    #[test]
    fn wrong_arguments_are_refused_with_what_to_type() {
        let refused = |argument: &str| expand(&[argument]).unwrap_err();
        assert!(refused("queue-dept=1").hint.contains("queue-depth"));
        assert!(refused("queue-depth").why.contains("knob=level"));
        assert!(refused("queue-depth=0").why.contains("outside"));
        assert!(refused("queue-depth=1,1").why.contains("twice"));
        assert!(refused("block-size=elephant").hint.contains("512B to 1GiB"));
        assert!(refused("sim-noise=0.1").hint.contains("--engine sim"));
        assert_eq!(expand(&["cpu-pinning=0-1,3"]).unwrap()[0].get(knob::CPU_PINNING), "0-1,3");
        assert_eq!(expand(&["cpu-pinning=none,spread,0-1,3"]).unwrap().len(), 3);
    }

    /// `stop=1,5s` was two cells, and one byte a stream gave "The device delivers 7179 MB/s".
    #[test]
    fn a_decimal_comma_makes_no_second_cell() {
        for (typed, written) in
            [("stop=1,5s", "1.5s"), ("file-size=1,5GiB", "1.5GiB"), ("read-share=0,5", "0.5")]
        {
            let refused = expand(&[typed]).unwrap_err();
            assert!(refused.hint.starts_with(&format!("write {written}, with a point")), "{typed}");
        }
        assert_eq!(expand(&["stop=1s,5s"]).unwrap().len(), 2);
        assert!(expand(&["stop=20"]).unwrap_err().why.contains("write 20s, or 20B"));
    }

    /// `run build stop=5s` was told to "use --engine file", which cannot run a compiler.
    #[test]
    fn a_knob_that_nothing_of_a_plan_obeys_leads_to_no_engine_that_cannot_run_it() {
        let refused = |engine: &str, workload: &str, typed: &str| {
            let mut plan = of_workload(engine, crate::workload::find(workload).unwrap());
            plan.vary(&[typed.to_owned()]).unwrap_err().hint
        };
        let command = refused("command", "command", "stop=5s");
        assert!(command.starts_with("leave it out; it is a knob of file, "), "{command}");
        assert!(!command.contains("--engine"), "{command}");
        assert_eq!(
            refused("file", "random-read", "sim-noise=0.1").split(',').next().unwrap(),
            "use --engine sim"
        );
        for found in crate::workload::WORKLOADS {
            let plan = of_workload(found.engines[0], found);
            for knob in knob::KNOBS.iter().filter(|knob| !knob.obeyed_by(found.engines[0])) {
                let hint = plan.has_none(knob).hint;
                let Some(named) = hint.strip_prefix("use --engine ") else { continue };
                let named = named.split(", or leave").next().unwrap();
                for engine in named.split(" or ") {
                    assert!(found.engines.contains(&engine), "{}: {hint}", found.name);
                    assert!(knob.obeyed_by(engine), "{}: {hint}", knob.name);
                }
            }
        }
    }

    #[test]
    fn what_is_typed_wins_over_what_a_plan_varies_and_what_it_sets() {
        let text = "[plan]\nname = \"p\"\n[factors]\nstreams = [1, 2]\n[[workload]]\n\
                    use = \"random-read\"\n[[workload]]\nuse = \"mixed\"\nstreams = 7\n";
        let mut plan = file::read(text, "p.toml", None).unwrap();
        assert_eq!(plan.combinations(), 3);
        plan.vary(&["streams=4,8,16".to_owned(), "direct=false".to_owned()]).unwrap();
        let all: Vec<Settings> = plan.cells().map(|cell| plan.settings(&cell)).collect();
        let streams: Vec<u64> = all.iter().map(|settings| settings.get(knob::STREAMS)).collect();
        assert_eq!(streams, [4, 8, 16, 4, 8, 16]);
        assert!(all.iter().all(|settings| !settings.get(knob::DIRECT)));
    }

    #[test]
    fn a_fraction_of_three_levels_and_a_plan_of_no_cells_are_refused() {
        let mut plan = random_reads();
        plan.design = Design::Fractional;
        let refused = plan.vary(&["streams=1,2,3".to_owned()]).unwrap_err();
        assert!(refused.why.contains("`streams` has 3"), "{refused}");
        let mut plan = random_reads();
        let all = (knob::find("streams").unwrap(), vec![Value::Count(1)]);
        plan.excludes = vec![super::super::design::Exclude { workload: None, levels: vec![all] }];
        assert!(plan.check().unwrap_err().why.contains("excluded"));
    }
}
