//! (pure) dbench 4: N clients that replay a loadfile.

use super::{Launch, ToolEngine, ToolInput};
use base::value::Stop;
use experiment::knob::{self, engines};

/// dbench as an engine.
pub const DBENCH: ToolEngine = ToolEngine {
    kind: &engines::DBENCH,
    importer: &importers::dbench::DBENCH,
    program: "dbench",
    get: "apt-get install dbench",
    asks_version: &["--version"],
    launch,
};

const SECOND_NS: u64 = 1_000_000_000;

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    let seconds = match settings.stop() {
        // It takes its rate once a second, and has none of its first.
        Stop::After(ns) if ns > SECOND_NS && ns % SECOND_NS == 0 => ns / SECOND_NS,
        other => {
            return Err(format!(
                "dbench runs for whole seconds, two or more; stop={other} needs a time such as \
                 stop=10s"
            ));
        }
    };
    let place = asked.place("dbench")?.to_owned();
    let clients = settings.get(knob::STREAMS);
    let words = ["dbench", "-D", &place, "-t", &seconds.to_string(), &clients.to_string()];
    Ok(Launch { words: words.map(str::to_owned).into(), ..Launch::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{launch, refused, words};

    #[test]
    fn what_dbench_cannot_do_is_refused() {
        for stop in ["1s", "1500ms", "pass", "steady", "1GiB"] {
            let why = refused(&DBENCH, &[("stop", stop)]);
            assert!(why.contains("whole seconds") && why.contains("stop="), "{why}");
        }
        assert!(launch(&DBENCH, &[], &["/a", "/b"]).unwrap_err().contains("one directory"));
        let words = words(&DBENCH, &[("streams", "4"), ("stop", "3s")], &["/a"]);
        assert_eq!(words, ["dbench", "-D", "/a", "-t", "3", "4"]);
    }
}
