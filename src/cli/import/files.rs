//! What other tools printed elsewhere, as campaigns: figures with their author, and settings as far
//! as the output tells them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value as Json, json};

use experiment::knob::{self, Settings};
use experiment::measurement::{Measurement, Outcome, Record};
use experiment::plan::Trial;
use host::sys::Error;
use importers::{IMPORTERS, Importer, ToolResult, fio};

use super::others;
use super::sources::Source;

/// What was made of one file.
#[derive(Debug)]
pub struct FileImport {
    /// Its name, as it was typed or found.
    pub file: String,
    /// Whether it was named by itself.
    pub is_named: bool,
    /// What each of its tools said, or why none of it is kept.
    pub parts: Result<Vec<Part>, LeftOut>,
}

/// What one tool said in a file.
#[derive(Debug)]
pub struct Part {
    /// Who reads it.
    pub importer: &'static Importer,
    /// One or more.
    pub results: Vec<ToolResult>,
}

/// Why a file is left out.
#[derive(Debug)]
pub struct LeftOut {
    /// In words.
    pub error: Error,
    /// Whether it is the output of no tool that is known; nothing is lost then.
    pub is_unknown: bool,
}

impl FileImport {
    /// Whether something of it is missed: it was named by itself, or a tool printed it, and nothing
    /// of it is kept.
    pub fn is_missed(&self) -> bool {
        self.parts.as_ref().is_err_and(|left| self.is_named || !left.is_unknown)
    }
}

impl LeftOut {
    fn refused(error: Error) -> LeftOut {
        LeftOut { error, is_unknown: false }
    }
}

/// What is kept of some files.
#[derive(Debug)]
pub struct Imported {
    /// The tools, each once, in words.
    pub engine: String,
    /// One a result, those of each file together.
    pub files: Vec<Vec<Record>>,
    /// Where each came from, and what was left out.
    pub inventory: Json,
}

/// Reads one file, of whatever tools or of the one that was named.
pub fn read(source: &Source, from: Option<&'static Importer>) -> FileImport {
    let parts = source.text().map_err(LeftOut::refused);
    let parts = parts.and_then(|bytes| of_bytes(&source.name, bytes, from));
    FileImport { file: source.name.clone(), is_named: source.is_named, parts }
}

/// What the bytes of a file say: the results of each tool whose output they are.
///
/// # Errors
/// When no tool is known by them; when what one printed cannot be read: then nothing of the file
/// is taken.
fn of_bytes(
    file: &str,
    bytes: Vec<u8>,
    from: Option<&'static Importer>,
) -> Result<Vec<Part>, LeftOut> {
    let text = decoded(&bytes);
    let printed = importers::as_printed(&text);
    // What fio's logs are of stands in the names of their files alone.
    let named = fio::log::is_named(file).then(|| format!("{}\n{printed}", fio::log::heading(file)));
    let printed = named.map_or(printed, Cow::Owned);
    let known = match from {
        Some(importer) => vec![importer],
        None => importers::knowing(&printed),
    };
    if known.is_empty() {
        let (why, hint) = others::unknown(&bytes, &printed);
        let error = Error::new(format!("cannot tell what wrote {file}"), why).hint(hint);
        return Err(LeftOut { error, is_unknown: true });
    }
    let part = |importer: &&'static Importer| match importer.read(&printed) {
        Ok(results) => Ok(Part { importer, results }),
        Err(why) => {
            let what = format!("cannot import {file} as the output of {}", importer.name);
            let hint = hint(importer, &known, from.is_some());
            Err(LeftOut::refused(Error::new(what, why).hint(hint)))
        }
    };
    known.iter().map(part).collect()
}

/// What to type where one of these cannot read a file.
fn hint(importer: &Importer, known: &[&'static Importer], is_named: bool) -> String {
    let other = known.iter().find(|it| it.name != importer.name);
    match (is_named, other) {
        (true, _) => "leave --from out, and the tool is told by the text".to_owned(),
        (false, None) => "import what another run printed, whole".to_owned(),
        (false, Some(other)) => {
            let other = other.name;
            format!("it has several tools' output; read one of them: --from {other}")
        }
    }
}

/// Text of bytes: UTF-8, or the UTF-16 that PowerShell redirects into a file.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let pairs = |unit: fn([u8; 2]) -> u16| -> Vec<u16> {
        bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&pairs(u16::from_le_bytes)).into(),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&pairs(u16::from_be_bytes)).into(),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Records of all that was read.
pub fn imported(files: Vec<FileImport>) -> Imported {
    let several = files.len() > 1;
    let mut engines = BTreeSet::new();
    let (mut sources, mut left_out, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut before = 0;
    for FileImport { file, parts, .. } in files {
        let parts = match parts {
            Ok(parts) => parts,
            Err(LeftOut { error, .. }) => {
                left_out.push(json!({ "file": file, "why": error.why }));
                continue;
            }
        };
        let mut records = Vec::new();
        for Part { importer, results } in parts {
            let place = IMPORTERS.iter().position(|it| it.name == importer.name);
            engines.insert((place, importer.name));
            sources.push(json!({ "file": file, "tool": importer.name, "results": results.len() }));
            // Rows of one table tell themselves apart by what was asked.
            let asked = |said: &ToolResult| Json::Object(said.settings.clone()).to_string();
            let alike = results.iter().map(asked).collect::<BTreeSet<_>>().len() < results.len();
            let many = results.len() > 1;
            for (place, said) in results.into_iter().enumerate() {
                let label = (several || alike)
                    .then(|| label(several.then_some(&*file), many.then_some(place + 1), &said));
                records.push(record(importer, &file, label, said, before + records.len()));
            }
        }
        before += records.len();
        kept.push(records);
    }
    let mut inventory = json!({ "imported": sources });
    if !left_out.is_empty() {
        inventory["left_out"] = left_out.into();
    }
    let engines: Vec<&str> = engines.into_iter().map(|(_, name)| name).collect();
    Imported { engine: engines.join(", "), files: kept, inventory }
}

/// Records of a text of whatever tools: for tests and fuzzers, which have no file.
///
/// # Errors
/// When it cannot be understood.
pub fn of_text(bytes: Vec<u8>) -> Result<Vec<Record>, Error> {
    let file = "file".to_owned();
    let parts = of_bytes(&file, bytes, None).map_err(|left| left.error)?;
    let read = FileImport { file, is_named: true, parts: Ok(parts) };
    Ok(imported(vec![read]).files.concat())
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

/// The tool of that name.
///
/// # Errors
/// When there is none.
pub fn tool(name: &str) -> Result<&'static Importer, Error> {
    importers::find(name).ok_or_else(|| {
        let names = || IMPORTERS.iter().map(|importer| importer.name);
        let hint = knob::meant(name, names(), |near| format!("--from {near}"))
            .unwrap_or_else(|| format!("choose one of {}", names().collect::<Vec<_>>().join(", ")));
        Error::new(format!("cannot import from `{name}`"), "no such tool is known").hint(hint)
    })
}

/// What tells a result from the others: two runs with the same settings, perhaps of two machines,
/// are no replicates of each other. Its number comes first, as a narrow table cuts the end.
fn label(file: Option<&str>, number: Option<usize>, said: &ToolResult) -> String {
    let name = file.map(|file| match Path::new(file).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => file.to_owned(),
    });
    // ioping calls a run by what it was pointed at, which may be a point: to a reader it ends a
    // sentence.
    let title = said.title.trim_start_matches(['.', ' ']);
    let title = (title.chars().any(char::is_alphanumeric)).then(|| title.to_owned());
    let own: Vec<String> =
        number.map(|number| number.to_string()).into_iter().chain(title).collect();
    match (own.is_empty(), name) {
        (true, name) => name.unwrap_or_default(),
        (false, None) => own.join(" "),
        (false, Some(name)) => format!("{} in {name}", own.join(" ")),
    }
}

fn record(
    importer: &Importer,
    file: &str,
    label: Option<String>,
    mut said: ToolResult,
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
mod tests;
