//! A workload and `knob=level,level` arguments, expanded into cells: the full factorial.

use std::fmt;

use crate::knob::{self, Settings};
use crate::value::Value;
use crate::workload::{self, Workload};

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

/// No plan asks for more cells than this: a full factorial grows faster than one thinks.
const CELLS_MAX: usize = 10_000;

/// The workload of that name.
///
/// # Errors
/// When there is none; with the nearest name.
pub fn workload(name: &str) -> Result<&'static Workload, Refused> {
    workload::find(name).ok_or_else(|| {
        let names = || workload::WORKLOADS.iter().map(|workload| workload.name);
        let hint = match knob::nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`? `brickyard list workloads` shows all"),
            None => format!("choose one of {}", names().collect::<Vec<_>>().join(", ")),
        };
        Refused { why: format!("there is no workload `{name}`"), hint }
    })
}

/// All combinations of the levels, in the order given, on top of the workload's preset.
///
/// # Errors
/// For an unknown knob, a level outside its domain, or a knob that `engine` does not obey.
pub fn cells(
    engine: &str,
    workload: &Workload,
    arguments: &[String],
) -> Result<Vec<(String, Settings)>, Refused> {
    let mut preset = Settings::defaults(engine);
    for (name, text) in workload.settings {
        let knob = knob::find(name).expect("a test checks every workload's knobs");
        preset.set(name, knob.domain.parse(text).expect("a test checks every workload's values"));
    }
    let mut cells = vec![(workload.name.to_owned(), preset)];
    let mut given: Vec<&'static str> = Vec::new();
    for argument in arguments {
        let (knob, levels) = factor(engine, argument)?;
        if given.contains(&knob) {
            return Err(Refused {
                why: format!("`{knob}` is given twice"),
                hint: format!("give all its levels at once: {knob}=level,level"),
            });
        }
        given.push(knob);
        if cells.len() * levels.len() > CELLS_MAX {
            return Err(Refused {
                why: format!("that makes more than {CELLS_MAX} combinations"),
                hint: "give fewer levels".to_owned(),
            });
        }
        let combine = |(group, settings): &(String, Settings)| -> Vec<(String, Settings)> {
            let with = |level: &Value| {
                let mut settings = settings.clone();
                settings.set(knob, level.clone());
                (group.clone(), settings)
            };
            levels.iter().map(with).collect()
        };
        cells = cells.iter().flat_map(combine).collect();
    }
    Ok(cells)
}

/// Reads `knob=level,level`.
fn factor(engine: &str, argument: &str) -> Result<(&'static str, Vec<Value>), Refused> {
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
    if !knob.obeyed_by(engine) {
        return Err(Refused {
            why: format!("the engine `{engine}` has no knob `{name}`"),
            hint: format!("use --engine {}, or leave it out", knob.engines.join(" or ")),
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
    Ok((knob.name, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(arguments: &[&str]) -> Result<Vec<(String, Settings)>, Refused> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        cells("file", workload("random-read").unwrap(), &arguments)
    }

    #[test]
    fn levels_are_combined_and_what_is_typed_wins_over_the_preset() {
        let cells = expand(&["block-size=4KiB,8KiB", "queue-depth=1,8,32"]).unwrap();
        assert_eq!(cells.len(), 6);
        let depths: Vec<u64> = cells.iter().map(|(_, s)| s.whole("queue-depth")).collect();
        assert_eq!(depths, [1, 8, 32, 1, 8, 32]);
        assert!(cells.iter().all(|(_, s)| s.word("access") == "random-read"));
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
        assert!(workload("random-raed").unwrap_err().hint.contains("random-read"));
        assert_eq!(expand(&["cpu-pinning=0-1,3"]).unwrap()[0].1.word("cpu-pinning"), "0-1,3");
    }
}
