//! What other tools printed elsewhere, as campaigns: figures with their author, and settings as far
//! as the output tells them.

use std::path::Path;

use serde_json::{Value as Json, json};

use experiment::knob::{self, Settings};
use experiment::measurement::{Measurement, Outcome, Record};
use experiment::plan::Trial;
use host::sys::Error;
use host::sys::input::IMPORT;
use importers::{IMPORTERS, Importer, Said};

/// What is kept of some files.
#[derive(Debug)]
pub struct Imported {
    /// The tools, each once, in words.
    pub engine: String,
    /// One a result.
    pub records: Vec<Record>,
    /// Where each came from.
    pub inventory: Json,
}

/// Reads files, of whatever tool or of the one that was named.
///
/// # Errors
/// When one cannot be read or understood: then none is imported.
pub fn read(files: &[String], from: Option<&str>) -> Result<Imported, Error> {
    let from = from.map(named).transpose()?;
    let texts = files.iter().map(|file| text(file).map(|text| (file.as_str(), text)));
    of_texts(texts.collect::<Result<_, _>>()?, from)
}

/// What texts say, each with its name, of whatever tool or of the one that was named.
///
/// # Errors
/// When one cannot be understood.
pub fn of_texts(
    texts: Vec<(&str, String)>,
    from: Option<&'static Importer>,
) -> Result<Imported, Error> {
    let mut records: Vec<Record> = Vec::new();
    let (mut engines, mut sources) = (Vec::new(), Vec::new());
    let several = texts.len() > 1;
    for (file, text) in texts {
        let text = importers::as_printed(&text);
        let known = from.map_or_else(|| knowing(file, &text), |importer| Ok(vec![importer]))?;
        for importer in &known {
            let results = importer.read(&text).map_err(|why| {
                let what = format!("cannot import {file} as the output of {}", importer.name);
                Error::new(what, why).hint(match (from, known.as_slice()) {
                    (Some(_), _) => "leave --from out, and the tool is told by the text".to_owned(),
                    (None, [_]) => {
                        "leave that file out, or import what another run printed".to_owned()
                    }
                    (None, several) => {
                        let other = several.iter().find(|it| it.name != importer.name);
                        let other = other.map_or("TOOL", |it| it.name);
                        format!("it has several tools' output; read one of them: --from {other}")
                    }
                })
            })?;
            if !engines.contains(&importer.name) {
                engines.push(importer.name);
            }
            sources.push(json!({ "file": file, "tool": importer.name, "results": results.len() }));
            // Rows of one table tell themselves apart by what was asked.
            let alike =
                |said: &Said| results.iter().filter(|it| it.settings == said.settings).count();
            let alike = results.iter().any(|said| alike(said) > 1);
            for (place, said) in results.into_iter().enumerate() {
                let label = (several || alike).then(|| label(file, place, &said));
                records.push(record(importer, file, label, said, records.len()));
            }
        }
    }
    let inventory = json!({ "imported": sources });
    Ok(Imported { engine: engines.join(", "), records, inventory })
}

/// What a campaign of these files is called: `import of fio.json`.
pub fn plan(files: &[String]) -> String {
    /// More are not told one by one.
    const NAMED: usize = 3;
    let name = |file: &String| match Path::new(file).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => file.clone(),
    };
    let named: Vec<String> = files.iter().take(NAMED).map(name).collect();
    match files.len().saturating_sub(NAMED) {
        0 => format!("import of {}", named.join(", ")),
        more => format!("import of {} and {more} more", named.join(", ")),
    }
}

fn named(name: &str) -> Result<&'static Importer, Error> {
    importers::find(name).ok_or_else(|| {
        let names = || IMPORTERS.iter().map(|importer| importer.name);
        let hint = knob::meant(name, names(), |near| format!("--from {near}"))
            .unwrap_or_else(|| format!("choose one of {}", names().collect::<Vec<_>>().join(", ")));
        Error::new(format!("cannot import from `{name}`"), "no such tool is known").hint(hint)
    })
}

fn knowing(file: &str, text: &str) -> Result<Vec<&'static Importer>, Error> {
    let known = importers::knowing(text);
    if !known.is_empty() {
        return Ok(known);
    }
    let names: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    let why = "it looks like the output of no tool that is known";
    Err(Error::new(format!("cannot tell what wrote {file}"), why)
        .hint(format!("name it: --from TOOL, one of {}", names.join(", "))))
}

/// What a file holds, packed or not; what is not UTF-8 in it is replaced.
fn text(file: &str) -> Result<String, Error> {
    let read = IMPORT.read(Path::new(file));
    let what = || format!("cannot import {file}");
    let bytes = read.map_err(|error| Error { what: what(), ..error })?;
    let bytes = IMPORT.unpacked(bytes).map_err(|why| Error::new(what(), why))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What tells a result from the others: two runs with the same settings, perhaps of two machines,
/// are no replicates of each other.
fn label(file: &str, place: usize, said: &Said) -> String {
    let name = Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
    match said.title.as_str() {
        "" => format!("{name} {}", place + 1),
        title => format!("{name} {} {title}", place + 1),
    }
}

fn record(
    importer: &Importer,
    file: &str,
    label: Option<String>,
    mut said: Said,
    before: usize,
) -> Record {
    if let Some(label) = label {
        said.settings.insert("label".to_owned(), label.into());
    }
    let settings = std::mem::take(&mut said.settings);
    let trial = Trial {
        number: before as u32 + 1,
        replicate: 1,
        group: importer.name.to_owned(),
        settings: Settings::from_json(importer.name, &Json::Object(settings)),
        first_file: 0,
        seed: 0,
        planned: None,
    };
    let (notes, title) = (std::mem::take(&mut said.notes), said.title.clone());
    let reported = Some(said.reported(importer.name, file.to_owned(), title));
    let measurement = Measurement { reported, notes, ..Measurement::default() };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::measurement::figures::{cells, figures};
    use std::io::Write as _;

    fn fixture(name: &str) -> String {
        format!("{}/tests/fixtures/tools/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn every_result_is_a_trial_with_reported_figures_and_no_others() {
        let files = ["fio-3.33-two-jobs.txt", "dbench-4.00-two-clients.txt"].map(fixture);
        let imported = read(&files, None).unwrap();
        assert_eq!((imported.engine.as_str(), imported.records.len()), ("fio, dbench", 3));
        for (at, record) in imported.records.iter().enumerate() {
            assert_eq!(record.trial.number as usize, at + 1);
            let figures = figures(record);
            assert!(!figures.is_empty() && figures.keys().all(|it| it.starts_with("reported_")));
            assert!(figures.iter().all(|(_, figure)| figure.interval.is_none()));
        }
        assert_eq!(imported.records[0].trial.settings.get(knob::ACCESS), Some(knob::Access::Write));
        assert_eq!(imported.records[2].trial.settings.get(knob::STREAMS), 2);
        assert_eq!(imported.inventory["imported"][0]["results"], 2);
    }

    /// The same file twice is two results with the same settings, and perhaps two machines.
    #[test]
    fn results_with_the_same_settings_are_not_taken_for_replicates() {
        let files = [fixture("fio-3.33-read.txt"), fixture("fio-3.33-two-jobs.txt")];
        let records = read(&files, None).unwrap().records;
        assert_eq!(cells(&records).len(), records.len());
    }

    /// A script's log holds what several tools printed, one after the other.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn the_outputs_of_several_tools_in_one_file_are_all_found() {
        let folder = tempfile::tempdir().unwrap();
        let text = |name: &str| std::fs::read_to_string(fixture(name)).unwrap();
        let parts = ["hdparm-1-disk.txt", "dd-coreutils-8.txt", "fio-2.1.9-four-groups.txt"];
        let all: String = parts.into_iter().map(text).collect();
        let file = folder.path().join("log");
        let names = [file.to_string_lossy().into_owned()];
        std::fs::write(&file, &all).unwrap();
        let imported = read(&names, None).unwrap();
        assert_eq!((imported.engine.as_str(), imported.records.len()), ("fio, dd, hdparm", 7));
        // One of them that cannot be read is not left out.
        std::fs::write(&file, all.replace("126 MB/s", "926 MB/s")).unwrap();
        let error = read(&names, None).unwrap_err();
        assert!(error.what.ends_with("as the output of dd"), "{error:?}");
        assert!(error.hint.unwrap().contains("--from fio"));
        assert_eq!(read(&names, Some("hdparm")).unwrap().records.len(), 2);
    }

    /// Logs are kept packed.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn what_was_packed_is_read_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let plain = fixture("fio-3.33-two-jobs.txt");
        let due = read(std::slice::from_ref(&plain), None).unwrap().records;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&std::fs::read(&plain).unwrap()).unwrap();
        let packed = packer.finish().unwrap();
        let file = folder.path().join("a.txt.gz");
        let name = [file.to_string_lossy().into_owned()];
        std::fs::write(&file, &packed).unwrap();
        assert_eq!(read(&name, None).unwrap().records.len(), due.len());
        std::fs::write(&file, &packed[..packed.len() / 2]).unwrap();
        let why = read(&name, None).unwrap_err().why;
        assert!(why.contains("unpacked as by gzip(1)"), "{why}");
    }

    #[test]
    fn a_file_that_nothing_knows_asks_for_its_tool_and_a_wrong_tool_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
        std::fs::write(&path, b"elephant \xff\n").unwrap();
        let file = [path.to_string_lossy().into_owned()];
        let error = read(&file, None).unwrap_err();
        assert!(error.hint.unwrap().contains("--from TOOL"));
        assert!(read(&file, Some("dbench")).unwrap_err().why.contains("no run of dbench"));
        assert!(read(&file, Some("dbnech")).unwrap_err().hint.unwrap().contains("--from dbench"));
        assert!(read(&["/nonexistent/file".to_owned()], None).is_err());
    }
}
