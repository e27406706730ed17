//! (pure) bonnie++ 2.00a: one file through stdio and in blocks, then small files.
//!
//! Its `-D` is not used: it opens with O_DIRECT where it writes blocks and nowhere else (strace of
//! 2.00a), so that no trial goes around the page cache as a whole.

use super::{Launch, ToolEngine, ToolInput};
use base::value::{self};
use experiment::knob::{self, engines};
use experiment::measurement::Note;

/// bonnie++ as an engine.
pub const BONNIE: ToolEngine = ToolEngine {
    kind: &engines::BONNIE,
    importer: &importers::bonnie::BONNIE,
    program: "bonnie++",
    get: "apt-get install bonnie++",
    asks_version: &["-h"],
    launch,
};

const MIB: u64 = 1 << 20;

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    let (size, block) = (settings.get(knob::FILE_SIZE), settings.get(knob::BLOCK_SIZE));
    if size % MIB != 0 {
        return Err(format!(
            "bonnie++ counts in whole MiB; file-size={} needs a multiple of 1MiB",
            settings.value(knob::FILE_SIZE)
        ));
    }
    if !block.is_power_of_two() || !(256..=MIB).contains(&block) {
        return Err(format!(
            "bonnie++ moves blocks of 256 B to 1 MiB, powers of two; block-size={} needs \
             engine=file",
            settings.value(knob::BLOCK_SIZE)
        ));
    }
    let place = asked.place("bonnie++")?;
    // Small files are counted in 1024; one file is the large one alone.
    let files = settings.get(knob::FILES);
    if files != 1 && !files.is_multiple_of(1024) {
        return Err(format!(
            "bonnie++ counts small files in 1024; files={files} needs a multiple of it, or files=1 \
             for none"
        ));
    }
    let limit = settings.get(knob::MEMORY_LIMIT);
    let memory = asked.memory_bytes.into_iter().chain(limit).min();
    let small = memory.filter(|memory| size / 2 < *memory);
    let size = size / MIB;
    let mut words = vec!["bonnie++".to_owned()];
    words.extend(["-q", "-m", "brickyard", "-d", place].map(str::to_owned));
    words.extend(["-s".to_owned(), format!("{size}:{block}")]);
    words.extend(["-n".to_owned(), (files / 1024).to_string()]);
    // Memory as bonnie++ is told: it refuses a file under twice of it, and what was asked is run.
    words.extend(["-r".to_owned(), (size / 2).to_string()]);
    words.extend(["-z".to_owned(), (asked.seed % u64::from(u32::MAX)).to_string()]);
    if asked.user == 0 {
        words.extend(["-u", "root"].map(str::to_owned));
    }
    let mut notes = Vec::new();
    if let Some(memory) = small {
        let text = format!(
            "The file is under twice the memory of {}: bonnie++'s own advice is against it, as \
             what it reads then comes from the page cache.",
            value::bytes(memory as f64)
        );
        notes.push(Note::new("file-in-memory", text));
    }
    Ok(Launch { words, notes, ..Launch::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{launch, refused, words};

    #[test]
    fn what_bonnie_cannot_do_is_refused_and_a_small_file_is_told_of() {
        assert!(refused(&BONNIE, &[("file-size", "100KiB")]).contains("file-size=100KiB"));
        assert!(refused(&BONNIE, &[("block-size", "2MiB")]).contains("block-size=2MiB"));
        assert!(refused(&BONNIE, &[("block-size", "3KiB")]).contains("block-size=3KiB"));
        assert!(refused(&BONNIE, &[("files", "1000")]).contains("files=1000"));
        let two = launch(&BONNIE, &[], &["/a", "/b"]).unwrap_err();
        assert!(two.contains("one directory"), "{two}");
        let typed = [("file-size", "1GiB"), ("block-size", "8KiB")];
        assert!(words(&BONNIE, &typed, &["/a"]).contains(&"1024:8192".to_owned()));
        let small = words(&BONNIE, &[("files", "2048")], &["/a"]);
        assert!(small.windows(2).any(|pair| pair == ["-n", "2"]), "{small:?}");
        let kinds = |limit: &str| {
            let typed = [("file-size", "1GiB"), ("block-size", "8KiB"), ("memory-limit", limit)];
            let notes = launch(&BONNIE, &typed, &["/a"]).unwrap().notes;
            notes.into_iter().map(|note| note.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds("as-is"), ["file-in-memory"]);
        assert!(kinds("512MiB").is_empty(), "the file is twice what the load may hold");
    }
}
