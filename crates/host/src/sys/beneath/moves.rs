//! Tells whether a name in a directory was given to something else meanwhile, and perhaps given
//! back since: a look at the beginning and one at the end see neither.
//!
//! inotify(7) on the directory above: nothing is asked of what lies in the directory itself, whose
//! files are what is measured. Where there is no more to be had of it, or it had too much to tell,
//! the looks are all that there is.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Room for some hundred events at once.
const EVENTS_BYTES: usize = 8192;

/// Listens for the moving of one name.
#[derive(Debug)]
pub struct Moves {
    events: Option<OwnedFd>,
    name: String,
    seen: AtomicBool,
}

impl Moves {
    /// Of `name` in the directory `above`, from now on.
    pub fn watch_name(above: BorrowedFd<'_>, name: &str) -> Moves {
        let events = listen(above).ok();
        Moves { events, name: name.to_owned(), seen: AtomicBool::new(false) }
    }

    /// Whether anything is listened for.
    #[cfg(test)]
    pub fn listens(&self) -> bool {
        self.events.is_some()
    }

    /// Whether the name was taken away, or the directory above it moved, since it is listened for.
    pub fn seen(&self) -> bool {
        if let Some(events) = &self.events {
            let mut room = [MaybeUninit::uninit(); EVENTS_BYTES];
            let mut reader = Reader::new(events, &mut room);
            loop {
                match reader.next() {
                    Ok(event) => {
                        let itself = event.events().contains(ReadFlags::MOVE_SELF);
                        let named = event.file_name().map(std::ffi::CStr::to_bytes);
                        if itself || named == Some(self.name.as_bytes()) {
                            self.seen.store(true, Relaxed);
                        }
                    }
                    Err(Errno::INTR) => {}
                    // Nothing more just now.
                    Err(_) => break,
                }
            }
        }
        self.seen.load(Relaxed)
    }
}

fn listen(above: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let there = format!("/proc/self/fd/{}", above.as_raw_fd());
    let moved = WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO | WatchFlags::DELETE;
    inotify::add_watch(&events, there, moved | WatchFlags::MOVE_SELF)?;
    Ok(events)
}
