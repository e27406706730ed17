//! A workload's name as a plan, and `knob=level,level` arguments on top of any plan.

use std::collections::BTreeMap;
use std::fmt;

use super::design::{Design, Factor, Load, Plan};
use super::file;
use crate::knob::{self, Knob};
use crate::value::{Domain, Value};
use crate::workload::Workload;

/// Why a plan was refused; nothing has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub why: String,
    /// What to type instead.
    pub hint: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refused {}

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
        loads: vec![file::load(workload, engine, &[])],
        twice_memory: false,
        excludes: Vec::new(),
        prices: BTreeMap::new(),
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
                    let all = [load.settings.texts(knob.name), more].concat();
                    load.settings.set(knob.name, Value::Words(all));
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
                load.factors.retain(|factor| factor.knob.name != knob.name);
                match &levels[..] {
                    [level] => load.settings.set(knob.name, level.clone()),
                    _ => load.factors.push(Factor { knob, levels: levels.clone() }),
                }
            }
        }
        self.check()
    }

    fn obeying(&mut self, knob: &Knob) -> impl Iterator<Item = &mut Load> {
        let name = knob.name;
        let loads = self.loads.iter_mut();
        loads.filter(move |load| load.settings.has(name) && !load.kept.contains(&name))
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
    /// Reads `knob=level,level`.
    fn factor(&self, argument: &str) -> Result<(&'static Knob, Vec<Value>), Refused> {
        let Some((name, levels)) = argument.split_once('=') else {
            return Err(Refused {
                why: format!("`{argument}` is not of the form knob=level,level"),
                hint: format!("write {argument}=..., or see `brickyard list knobs`"),
            });
        };
        let Some(knob) = knob::find(name) else {
            let near = knob::nearest(name, knob::KNOBS.iter().map(|knob| knob.name));
            let hint = near.map_or("`brickyard list knobs` shows all".to_owned(), |near| {
                format!("did you mean `{near}`? `brickyard list knobs` shows all")
            });
            return Err(Refused { why: format!("there is no knob `{name}`"), hint });
        };
        if !self.loads.iter().any(|load| load.settings.has(name)) {
            return Err(Refused {
                why: format!("the engine `{}` has no knob `{name}`", self.engine),
                hint: format!("use --engine {}, or leave it out", knob.obeying().join(" or ")),
            });
        }
        // A list of CPUs has commas of its own.
        let texts: Vec<&str> = match knob.domain.has_commas() {
            true => vec![levels],
            false => levels.split(',').collect(),
        };
        let mut values = Vec::with_capacity(texts.len());
        for text in texts {
            let value = knob.domain.parse(text.trim()).map_err(|why| Refused {
                why: format!("{name}: {why}"),
                hint: format!("{name} takes {}", knob.domain.describe()),
            })?;
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
    use crate::knob::Settings;

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
        let depths: Vec<u64> = cells.iter().map(|s| s.whole("queue-depth")).collect();
        assert_eq!(depths, [1, 8, 32, 1, 8, 32]);
        assert!(cells.iter().all(|s| s.word("access") == "random-read"));
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
        assert_eq!(all[1].word("command"), "dd if=a,b");
        assert_eq!(all[1].texts("extract"), ["a=(1,2)", "b=/c"]);
        assert_eq!(all[0].texts("environment"), ["A=1,2"]);
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
        assert_eq!(expand(&["cpu-pinning=0-1,3"]).unwrap()[0].word("cpu-pinning"), "0-1,3");
    }

    #[test]
    fn what_is_typed_wins_over_what_a_plan_varies_and_what_it_sets() {
        let text = "[plan]\nname = \"p\"\n[factors]\nstreams = [1, 2]\n[[workload]]\n\
                    use = \"random-read\"\n[[workload]]\nuse = \"mixed\"\nstreams = 7\n";
        let mut plan = file::read(text, "p.toml", None).unwrap();
        assert_eq!(plan.combinations(), 3);
        plan.vary(&["streams=4,8,16".to_owned(), "direct=false".to_owned()]).unwrap();
        let all: Vec<Settings> = plan.cells().map(|cell| plan.settings(&cell)).collect();
        let streams: Vec<u64> = all.iter().map(|settings| settings.whole("streams")).collect();
        assert_eq!(streams, [4, 8, 16, 4, 8, 16]);
        assert!(all.iter().all(|settings| !settings.flag("direct")));
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
