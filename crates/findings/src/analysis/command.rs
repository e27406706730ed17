//! What to type to learn more of a load: a workload of ours with the settings of the load, and
//! levels of what is to be varied.

use base::value::shell_words;
use experiment::knob::{self, Access, Settings};
use experiment::workload::{self, Workload};
use facts::bare;

/// Settings that are said of a load where the workload has others.
const SAID: &[&str] = &[
    "access",
    "direct",
    "cold",
    "block-size",
    "queue-depth",
    "streams",
    "file-size",
    "fsync",
    "datasync",
];

/// The command that runs a load on files again, with these settings instead of its own:
/// `brickyard run random-read --dir /srv queue-depth=1,8,32`. `None` of loads that no workload of
/// ours stands for.
pub fn again(settings: &Settings, instead: &[(&str, &str)]) -> Option<String> {
    let workload = workload(settings)?;
    let usual = usual(workload, settings.engine())?;
    let mut words = vec!["brickyard".to_owned(), "run".to_owned(), workload.name.to_owned()];
    match settings.is_simulated() {
        true => words.extend(["--engine".to_owned(), settings.engine().to_owned()]),
        false => {
            let each = settings.directories().iter();
            words.extend(each.flat_map(|place| match bare::device(place) {
                Some(device) => ["--read-only-device".to_owned(), device.to_owned()],
                None => ["--dir".to_owned(), place.clone()],
            }));
        }
    }
    let is_instead = |name: &&&str| instead.iter().any(|(of, _)| *of == **name);
    // What a simulated server is made of belongs to it.
    let made_of = settings.iter().map(|(name, _)| name).filter(|name| name.starts_with("sim-"));
    let said: Vec<&str> = SAID.iter().copied().chain(made_of).collect();
    for name in said.iter().filter(|name| !is_instead(name)) {
        let Some(value) = settings.named(name) else { continue };
        let differs = usual.named(name) != Some(value) && !settings.is_moot(name);
        words.extend(differs.then(|| format!("{name}={value}")));
    }
    words.extend(instead.iter().map(|(name, levels)| format!("{name}={levels}")));
    Some(shell_words(&words))
}

/// Levels as one types them: `8,16,32`.
pub fn levels(of: impl IntoIterator<Item = u64>) -> String {
    let mut all: Vec<u64> = of.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    all.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn workload(settings: &Settings) -> Option<&'static Workload> {
    let of_files = settings.engine() == "file" && !settings.directories().is_empty();
    if !of_files && !settings.is_simulated() {
        return None;
    }
    let name = match settings.get(knob::ACCESS)? {
        Access::Read => "sequential-read",
        Access::Write | Access::Rewrite => "sequential-write",
        Access::RandomRead => "random-read",
        Access::RandomWrite => "random-write",
        Access::RandomMix => "mixed",
        _ => return None,
    };
    workload::find(name)
}

/// The settings that a workload has by itself under that engine.
fn usual(workload: &Workload, engine: &str) -> Option<Settings> {
    let mut settings = Settings::defaults(engine);
    for (name, value) in workload.settings {
        settings.set_named(name, knob::find(name)?.domain.parse(value).ok()?);
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    #[test]
    fn a_load_is_told_by_what_its_workload_has_otherwise() {
        let load = |knobs: &[(&str, &str)]| {
            let mut all = settings("file", knobs);
            all.set(knob::DIRECTORIES, &["/srv/a b".to_owned()][..]);
            all
        };
        let of = load(&[
            ("access", "random-read"),
            ("block-size", "4KiB"),
            ("queue-depth", "8"),
            ("direct", "false"),
            ("file-size", "64MiB"),
        ]);
        assert_eq!(
            again(&of, &[("queue-depth", &levels([128, 32, 8, 32]))]).unwrap(),
            "brickyard run random-read --dir '/srv/a b' direct=false file-size=64MiB \
             queue-depth=8,32,128"
        );
        // A device that was only read must not be taken for a directory.
        let mut raw = of.clone();
        raw.set(knob::DIRECTORIES, &["read-only:serial:S4".to_owned(), "/b".to_owned()][..]);
        let told = again(&raw, &[("stop", "60s")]).unwrap();
        let places = "random-read --read-only-device serial:S4 --dir /b ";
        assert!(told.contains(places), "{told}");
        let of = load(&[("access", "rewrite"), ("fsync", "end"), ("streams", "4")]);
        let told = again(&of, &[("stop", "60s")]).unwrap();
        assert!(told.contains("sequential-write") && told.contains("access=rewrite"), "{told}");
        assert!(told.contains("streams=4") && told.ends_with("stop=60s"), "{told}");
        assert_eq!(again(&settings("net", &[]), &[]), None);
        let simulated = settings("sim", &[("access", "read"), ("sim-noise", "0.3")]);
        let told = again(&simulated, &[("streams", "1,8")]).unwrap();
        assert!(told.starts_with("brickyard run sequential-read --engine sim "), "{told}");
        assert!(told.contains(" sim-noise=0.3 ") && told.ends_with(" streams=1,8"), "{told}");
        assert_eq!(again(&load(&[("access", "read-backward")]), &[]), None);
    }
}
