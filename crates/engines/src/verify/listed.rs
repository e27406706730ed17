//! Finds the files that a list names.
//!
//! A list does not say from which folder its names are meant. They are taken from that folder in
//! which most of them are there: of the paths that were given, where we are (as `md5sum -c` takes
//! them), and where the list lies, the earlier of equal ones. The same one for all names, and it is
//! told: else a name could lead to another file than the one that was meant.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::find::{FoundTargets, List, find as walk, kind_of};
use super::source::stamp_of;
use super::{VerificationRequest, shown};
use base::checklist::{Entry, Sum, parse};
use experiment::measurement::verified::ProblemKind;
use experiment::measurement::verified::outcome::FileProblem;
use host::sys::Error;
use host::sys::input::CHECKLIST;
use host::sys::signal::Stop;

/// Reads the list and finds its files: those under the paths that were given, all where none was.
///
/// # Errors
/// When the list cannot be read, or holds no sum.
pub fn find(
    request: &VerificationRequest,
    file: &Path,
    sum: Option<Sum>,
    stop: &Stop,
) -> Result<FoundTargets, Error> {
    let mut list = read(file)?;
    if let Some(sum) = sum.or_else(|| told_by(file)) {
        list.checklist.assume(sum);
    }
    let folders = folders(&request.paths, file);
    let base = folder_of_most(&folders, &list.checklist.entries);
    list.names_from = shown(&base);
    let mut found = FoundTargets::default();
    for bad in &list.checklist.bad {
        let file = format!("{}:{}", list.shown, bad.line);
        let what = bad.why.clone();
        found.problems.push(FileProblem { file, kind: ProblemKind::BadLine, what });
    }
    let mut by_path: BTreeMap<PathBuf, Vec<Entry>> = BTreeMap::new();
    let mut order = Vec::new();
    for entry in list.checklist.entries.drain(..) {
        let path = base.join(OsStr::from_bytes(&entry.name));
        let entries = by_path.entry(path.clone()).or_default();
        if entries.is_empty() {
            order.push(path);
        }
        entries.push(entry);
    }
    let wanted = RequestedFiles::new(&request.paths);
    for path in &wanted.missing {
        found.problem(path, ProblemKind::Missing, "No such file or directory (os error 2)");
    }
    let mut listed = BTreeSet::new();
    for path in order {
        let entries = by_path.remove(&path).unwrap_or_default();
        let real = path.canonicalize();
        if !wanted.has(real.as_deref().unwrap_or(&path)) {
            continue;
        }
        match real {
            Ok(real) => {
                listed.insert(real.clone());
                // A link is followed, as the tools that wrote the list followed it.
                let name = if path.is_symlink() { real } else { path };
                found.add(name, entries);
            }
            Err(why) => found.problem(&path, kind_of(&why), why.to_string()),
        }
    }
    not_listed(request, file, &listed, &mut found, stop);
    found.list = Some(list);
    Ok(found)
}

fn read(file: &Path) -> Result<List, Error> {
    let shown = shown(file);
    const HINT: &str = "name a file that md5sum, sha256sum or b3sum wrote";
    // A name may hold what moves the cursor: the file is shown as all others are.
    let read = CHECKLIST.read(file);
    let text =
        read.map_err(|error| Error { what: format!("cannot read the list {shown}"), ..error })?;
    let checklist = parse(&text);
    if checklist.entries.is_empty() {
        let why = match checklist.bad.first() {
            Some(bad) => format!("it holds no sum (line {}: {})", bad.line, bad.why),
            None => "it is empty".to_owned(),
        };
        return Err(Error::new(format!("cannot verify by {shown}"), why).hint(HINT));
    }
    let modified_ns = stamp_of(file).map_or(i128::MAX, |stamp| stamp.modified_ns());
    Ok(List { shown, modified_ns, checklist, ..List::default() })
}

/// What the list's own name says of its sums: `SHA256SUMS`, `x.sha256`, `B3SUMS`, `x.b3`.
fn told_by(file: &Path) -> Option<Sum> {
    let name = file.file_name()?.to_string_lossy().to_lowercase();
    let has = |word: &str| name.contains(word);
    match (has("sha256"), has("b3sum") || has("blake3") || name.ends_with(".b3")) {
        (true, false) => Some(Sum::Sha256),
        (false, true) => Some(Sum::Blake3),
        _ => None,
    }
}

/// Folders that names may be meant from, in their order.
fn folders(paths: &[PathBuf], list: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).cloned().collect();
    folders.push(PathBuf::from("."));
    let parent = list.parent().filter(|parent| !parent.as_os_str().is_empty());
    folders.extend(parent.map(Path::to_owned));
    folders
}

fn folder_of_most(folders: &[PathBuf], entries: &[Entry]) -> PathBuf {
    let there = |folder: &PathBuf| {
        let is_there =
            |entry: &&Entry| folder.join(OsStr::from_bytes(&entry.name)).symlink_metadata().is_ok();
        entries.iter().filter(is_there).count()
    };
    let counts: Vec<usize> = folders.iter().map(there).collect();
    let most = counts.iter().max().copied().unwrap_or(0);
    let first = counts.iter().position(|count| *count == most).unwrap_or(0);
    let folder = folders.get(first).cloned().unwrap_or_else(|| PathBuf::from("."));
    // "./a" is shown as "a".
    if folder == Path::new(".") { PathBuf::new() } else { folder }
}

/// The files that the user named among those of a list.
struct RequestedFiles {
    real: Vec<PathBuf>,
    missing: Vec<PathBuf>,
    all: bool,
}

impl RequestedFiles {
    fn new(paths: &[PathBuf]) -> RequestedFiles {
        let mut wanted = RequestedFiles { real: vec![], missing: vec![], all: paths.is_empty() };
        for path in paths {
            match path.canonicalize() {
                Ok(real) => wanted.real.push(real),
                Err(_) => wanted.missing.push(path.clone()),
            }
        }
        wanted
    }

    /// Whether it lies under one of the paths; what is missing is found by its name.
    fn has(&self, path: &Path) -> bool {
        if self.all {
            return true;
        }
        let lexical = || {
            let absolute = std::path::absolute(path).ok()?;
            let folder = absolute.ancestors().skip(1).find_map(|up| up.canonicalize().ok())?;
            Some(folder)
        };
        let under = |path: &Path| self.real.iter().any(|root| path.starts_with(root));
        under(path) || (!path.exists() && lexical().is_some_and(|folder| under(&folder)))
    }
}

/// Names the files under the paths that the list does not: nobody checked them.
fn not_listed(
    request: &VerificationRequest,
    list: &Path,
    listed: &BTreeSet<PathBuf>,
    found: &mut FoundTargets,
    stop: &Stop,
) {
    let list = list.canonicalize().ok();
    let there = walk(&request.paths, request.cross_file_systems, stop);
    for target in there.files {
        let Ok(real) = target.path.canonicalize() else { continue };
        if Some(&real) != list.as_ref() && !listed.contains(&real) {
            found.problem(&target.path, ProblemKind::NotInList, "the list has no sum of it");
        }
    }
    // Folders that could not be looked into may hide some.
    let unread = there.problems.into_iter().filter(|one| one.kind == ProblemKind::NotOpened);
    let known: BTreeSet<String> = found.problems.iter().map(|one| one.file.clone()).collect();
    found.problems.extend(unread.filter(|one| !known.contains(&one.file)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_list_says_what_its_sums_are_where_it_can() {
        let told = |name: &str| told_by(Path::new(name));
        assert_eq!(told("/x/SHA256SUMS"), Some(Sum::Sha256));
        assert_eq!(told("a.sha256"), Some(Sum::Sha256));
        assert_eq!(told("B3SUMS"), Some(Sum::Blake3));
        assert_eq!(told("a.b3"), Some(Sum::Blake3));
        assert_eq!(told("sums.txt"), None);
        assert_eq!(told("sha256-and-b3sums"), None);
    }
}
