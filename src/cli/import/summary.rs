//! (pure) What was read of each file, and what was left out and why.

use super::files::{FileImport, Part};
use base::value::counted;

/// More than so many files are not told one by one where all is well with them.
const TOLD_MAX: usize = 40;
/// More notes of one file are not told here: each stands at its result.
const NOTES_MAX: usize = 3;

/// A line for each file, and one on all of them where there are several.
pub fn lines(files: &[FileImport]) -> Vec<String> {
    let all_told = files.len() <= TOLD_MAX;
    let mut lines = Vec::new();
    let (mut read, mut results) = (0, 0);
    for FileImport { file, parts, .. } in files {
        match parts {
            Ok(parts) => {
                read += 1;
                results += parts.iter().map(|part| part.results.len()).sum::<usize>();
                let notes = notes(parts);
                if all_told || !notes.is_empty() {
                    let told: Vec<String> = parts.iter().map(of_part).collect();
                    lines.push(format!("{file}: {}", told.join("; ")));
                    lines.extend(notes);
                }
            }
            Err(left) => {
                lines.push(format!("{file}: left out: {}", left.error.why));
                lines.extend(left.error.hint.iter().map(|hint| format!("  hint: {hint}")));
            }
        }
    }
    if files.len() > 1 {
        let left = match files.len() - read {
            0 => String::new(),
            left => format!(", {left} left out"),
        };
        lines.push(format!(
            "{} read, {}{left}",
            counted(read as u64, "file"),
            counted(results as u64, "result")
        ));
    }
    lines
}

/// `fio 3.33: 2 results`.
fn of_part(Part { importer, results }: &Part) -> String {
    let mut versions: Vec<&str> = results.iter().map(|said| said.version.as_str()).collect();
    versions.dedup();
    let version = match versions[..] {
        [version] if !version.is_empty() => format!(" {version}"),
        _ => String::new(),
    };
    format!("{}{version}: {}", importer.name, counted(results.len() as u64, "result"))
}

/// What its results could not tell, each once.
fn notes(parts: &[Part]) -> Vec<String> {
    let mut texts: Vec<&str> = Vec::new();
    let notes = parts.iter().flat_map(|part| &part.results).flat_map(|said| &said.notes);
    for note in notes {
        if !texts.contains(&note.text.as_str()) {
            texts.push(&note.text);
        }
    }
    let mut lines: Vec<String> =
        texts.iter().take(NOTES_MAX).map(|text| format!("  note: {text}")).collect();
    if let Some(more) = texts.len().checked_sub(NOTES_MAX).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more, at the results"));
    }
    lines
}
