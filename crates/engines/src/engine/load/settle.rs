//! What was made before the clock starts is put on the device first: its writing would fall into
//! the timed part, and into the first fsync of it.

use std::path::PathBuf;

use crate::engine::Error;
use host::sys::beneath;

/// syncfs(2) of the file system of each folder; of each folder once.
///
/// # Errors
/// With the folder and the kernel's words.
pub fn sync<'a>(folders: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Error> {
    let mut distinct: Vec<&PathBuf> = folders.into_iter().collect();
    distinct.sort();
    distinct.dedup();
    for folder in distinct {
        let synced = beneath::open_folder(folder).and_then(|opened| rustix::fs::syncfs(&opened));
        synced.map_err(|why| {
            let why = std::io::Error::from(why);
            Error::Failed(format!("cannot sync the file system of {}: {why}", folder.display()))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_named_with_the_kernels_words() {
        let folder = tempfile::tempdir().unwrap();
        let (there, gone) = (folder.path().to_owned(), folder.path().join("gone"));
        assert_eq!(sync([&there, &there]), Ok(()));
        let Err(Error::Failed(why)) = sync([&there, &gone]) else { panic!() };
        assert!(why.contains("/gone: No such file or directory"), "{why}");
    }
}
