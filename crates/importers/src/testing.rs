//! For tests alone: what was recorded, and a figure by its name.

use super::{IMPORTERS, Importer, Said};

/// The figure of that name.
pub fn figure(said: &Said, name: &str) -> Option<f64> {
    said.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

/// The same to a thousandth: a number of JSON is read to within its last bit.
pub fn rounded(said: &Said, name: &str) -> Option<f64> {
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
        let names = |said: &Said| -> Vec<String> {
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
