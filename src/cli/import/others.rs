//! (pure) What is no output of a tool, and what a person who has it wants to type instead.

use host::inventory::recording::pasted;
use importers::{IMPORTERS, nearest};

/// A kind of file that people import by mistake.
struct Other {
    /// How it begins.
    begins: &'static [u8],
    /// What it is.
    why: &'static str,
    /// What to do with it.
    hint: &'static str,
}

/// How each begins: file(1)'s magic.
const OTHERS: &[Other] = &[
    Other {
        begins: b"SQLite format 3\0",
        why: "it is a database of SQLite, as brickyard's own stores are",
        hint: "brickyard list campaigns --store FILE",
    },
    Other {
        begins: b"\x89PNG\r\n",
        why: "it is a picture, and only text is read",
        hint: "bring what the tool printed as text",
    },
    Other {
        begins: b"\xff\xd8\xff",
        why: "it is a picture, and only text is read",
        hint: "bring what the tool printed as text",
    },
    Other {
        begins: b"%PDF-",
        why: "it is a PDF, and only text is read",
        hint: "take the text out first: pdftotext -layout FILE",
    },
    Other {
        begins: b"PK\x03\x04",
        why: "it is a ZIP archive (.zip, .xlsx, .ods)",
        hint: "unpack it first: unzip FILE; of a spreadsheet bring what the tool printed",
    },
    Other {
        begins: b"\xfd7zXZ\0",
        why: "it is packed by xz(1)",
        hint: "unpack it first: unxz FILE",
    },
    Other {
        begins: b"BZh",
        why: "it is packed by bzip2(1)",
        hint: "unpack it first: bunzip2 FILE",
    },
    Other { begins: b"\x7fELF", why: "it is a program", hint: "run it, and import what it prints" },
];

/// Why a text that no importer knows is none of theirs, and what to type next.
pub fn unknown(bytes: &[u8], text: &str) -> (String, String) {
    if let Some(other) = OTHERS.iter().find(|other| bytes.starts_with(other.begins)) {
        return (other.why.to_owned(), other.hint.to_owned());
    }
    if bytes.get(257..262) == Some(b"ustar") {
        let why = "it is an archive of tar(1)";
        return (why.to_owned(), "unpack it first, and name the folder: tar -xf FILE".to_owned());
    }
    if text.trim().is_empty() {
        let why = "it is empty: perhaps the tool printed to standard error, or failed";
        return (why.to_owned(), "run it again with `2>&1 | tee FILE`".to_owned());
    }
    if bytes.iter().take(4096).any(|byte| *byte == 0) {
        return ("it is no text".to_owned(), "bring what the tool printed as text".to_owned());
    }
    if let Some(kind) = pasted::kinds_of(text).first() {
        let why = format!("it is what {kind} tells of a machine, and no result of a tool");
        return (why, "`brickyard inspect --root FILE` reads it".to_owned());
    }
    let names: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    match nearest(text) {
        Some(near) => {
            let why = format!(
                "no tool is known by it; it is nearest to {}, and has no {}",
                near.name, near.mark
            );
            (why, format!("bring all that {0} printed; to read it anyway: --from {0}", near.name))
        }
        None => {
            let why = "it looks like the output of no tool that is known";
            (why.to_owned(), format!("name it: --from TOOL, one of {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
