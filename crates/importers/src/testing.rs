//! For tests alone: what was recorded, and a figure by its name.

use super::{IMPORTERS, Importer, ToolResult};
use base::stats::testing::Random;

/// The figure of that name.
pub fn figure(said: &ToolResult, name: &str) -> Option<f64> {
    said.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

/// The same to a thousandth: a number of JSON is read to within its last bit.
pub fn rounded(said: &ToolResult, name: &str) -> Option<f64> {
    figure(said, name).map(|value| (value * 1000.0).round() / 1000.0)
}

/// Recorded outputs, each with the tool that its name begins with.
#[expect(clippy::disallowed_methods, reason = "reads fixtures")]
pub fn fixtures() -> Vec<(&'static Importer, String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/tools");
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    found.sort_by_key(std::fs::DirEntry::file_name);
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let of = IMPORTERS.iter().find(|importer| name.starts_with(&format!("{}-", importer.name)));
        let importer = of.unwrap_or_else(|| panic!("{name} is of no tool"));
        (*importer, name, std::fs::read_to_string(entry.path()).unwrap())
    };
    found.into_iter().map(read).collect()
}

/// Whether an output that was perturbed, so that it still says the same, gives the same figures,
/// each to within that share. It may be refused instead; other figures fail the test.
#[track_caller]
pub fn same_or_refused(importer: &Importer, whole: &str, perturbed: &str, share: f64) -> bool {
    let due = importer.read(whole).unwrap();
    let Ok(told) = importer.read(perturbed) else { return false };
    assert_eq!(told.len(), due.len(), "results of {}:\n{perturbed}", importer.name);
    for (told, due) in told.iter().zip(&due) {
        let names = |said: &ToolResult| -> Vec<String> {
            let mut all: Vec<_> = said.figures.iter().map(|it| it.name.clone()).collect();
            all.sort();
            all
        };
        assert_eq!(names(told), names(due), "{}:\n{perturbed}", importer.name);
        assert_eq!(told.settings, due.settings, "{}:\n{perturbed}", importer.name);
        for of in &due.figures {
            let value = figure(told, &of.name).unwrap();
            let near = (value - of.value).abs() <= of.value * share;
            assert!(near, "{} is {value}, not {}:\n{perturbed}", of.name, of.value);
        }
    }
    true
}

/// That a result has these figures, each to a thousandth.
#[track_caller]
pub fn has(said: &ToolResult, figures: &[(&str, f64)]) {
    for (name, value) in figures {
        assert_eq!(rounded(said, name), Some(*value), "{name}");
    }
}

/// That it has none of these.
#[track_caller]
pub fn lacks(said: &ToolResult, names: &[&str]) {
    for name in names {
        assert_eq!(figure(said, name), None, "{name}");
    }
}

/// That lines which say nothing of the result, put between any two behind the first, leave its
/// figures as they are, in three quarters of the rounds at least; and that what is cut off leaves
/// the results before it. Each text has its share of `rounds`.
#[track_caller]
pub fn same_with_lines_between(importer: &Importer, texts: &[&str], lines: &[&str], rounds: usize) {
    let mut random = Random::new(20_261_129);
    let mut kept = 0;
    for whole in texts.iter().cycle().take(rounds) {
        let mut all: Vec<&str> = whole.lines().collect();
        for _ in 0..3 {
            let at = 1 + (random.uniform() * (all.len() - 1) as f64) as usize;
            all.insert(at, lines[(random.uniform() * lines.len() as f64) as usize]);
        }
        let perturbed = format!("{}\n", all.join("\n"));
        kept += usize::from(same_or_refused(importer, whole, &perturbed, 0.0));
        let end = (random.uniform() * whole.len() as f64) as usize;
        let cut = String::from_utf8_lossy(&whole.as_bytes()[..end]).into_owned();
        if let Ok(some) = (importer.parse)(&cut) {
            assert!((importer.parse)(whole).unwrap().starts_with(&some));
        }
    }
    assert!(kept * 4 > rounds * 3, "{kept} of {rounds}");
}

/// That other lines between, and words or blanks behind a row, leave the figures as they are or are
/// refused; a third of the rounds is not refused.
#[track_caller]
pub fn same_with_words_behind(importer: &Importer, texts: &[&str]) {
    let mut random = Random::new(20_261_130);
    let (mut tried, mut kept) = (0, 0);
    for text in texts.iter().cycle().take(200 * texts.len()) {
        let mut other = String::new();
        for line in text.lines() {
            other.push_str(line);
            other.push_str(match random.uniform() {
                few if few < 0.02 => "  (my old one)\n",
                few if few < 0.1 => "  \n",
                few if few < 0.2 => "\n\n",
                few if few < 0.25 => "\nmeasured on a Sunday\n",
                _ => "\n",
            });
        }
        tried += 1;
        kept += usize::from(same_or_refused(importer, text, &other, 0.0));
    }
    assert!(kept * 3 > tried, "{kept} of {tried}");
}
