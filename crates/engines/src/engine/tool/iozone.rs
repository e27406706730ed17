//! (pure) iozone 3: one file in thirteen ways.

use super::{Launch, ToolEngine, ToolInput};
use experiment::knob::{self, engines};

/// iozone as an engine.
pub const IOZONE: ToolEngine = ToolEngine {
    kind: &engines::IOZONE,
    importer: &importers::iozone::IOZONE,
    program: "iozone",
    get: "build it from iozone.org; Debian has it as iozone3, in non-free",
    asks_version: &["-v"],
    launch,
};

const KIB: u64 = 1024;

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    let (size, block) = (settings.get(knob::FILE_SIZE), settings.get(knob::BLOCK_SIZE));
    for knob in [knob::FILE_SIZE, knob::BLOCK_SIZE] {
        if !settings.get(knob).is_multiple_of(KIB) {
            let (name, value) = (knob.name, settings.value(knob));
            return Err(format!("iozone counts in whole KiB; {name}={value} needs engine=file"));
        }
    }
    if size % block != 0 {
        return Err(format!(
            "iozone moves whole records; file-size={} needs to be a multiple of block-size={}",
            settings.value(knob::FILE_SIZE),
            settings.value(knob::BLOCK_SIZE)
        ));
    }
    let place = asked.place("iozone")?;
    let mut words = vec!["iozone".to_owned()];
    words.extend(settings.get(knob::DIRECT).then(|| "-I".to_owned()));
    words.extend(["-s".to_owned(), format!("{}k", size / KIB)]);
    words.extend(["-r".to_owned(), format!("{}k", block / KIB)]);
    // Writing, reading, random, backwards, record rewriting, strided, stdio both ways.
    for way in 0..=7 {
        words.extend(["-i".to_owned(), way.to_string()]);
    }
    words.extend(["-f".to_owned(), format!("{place}/iozone.tmp")]);
    Ok(Launch { words, ..Launch::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{launch, refused, words};

    #[test]
    fn what_iozone_cannot_do_is_refused() {
        assert!(refused(&IOZONE, &[("block-size", "512")]).contains("block-size=512"));
        assert!(
            refused(&IOZONE, &[("file-size", "5MiB"), ("block-size", "2MiB")]).contains("5MiB")
        );
        assert!(launch(&IOZONE, &[], &["/a", "/b"]).unwrap_err().contains("one directory"));
        let words = words(&IOZONE, &[("file-size", "4MiB"), ("block-size", "64KiB")], &["/a"]);
        assert!(words.contains(&"4096k".to_owned()) && words.contains(&"-I".to_owned()));
    }
}
