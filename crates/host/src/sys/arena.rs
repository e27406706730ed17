//! Memory for I/O: page-aligned, zeroed, on huge pages where the kernel gives them.
//!
//! One 1 MiB buffer on 4 KiB pages is 256 segments to the block layer; on a 2 MiB page it is one.
//! Cutting the memory into buffers is the business of whoever asked for it.

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::{Error, Host};

/// Size of the huge pages that are asked for: what x86-64 and most others call a PMD page.
pub const HUGE_PAGE: usize = 2 << 20;

/// What the memory lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Huge pages from the administrator's pool (`vm.nr_hugepages`).
    Hugetlb,
    /// Transparent huge pages, given.
    Transparent,
    /// Pages of the base size.
    Base,
}

/// A private, zeroed mapping; unmapped when dropped.
#[derive(Debug)]
pub struct Arena {
    start: NonNull<u8>,
    mapped: usize,
    hugetlb: bool,
}

// SAFETY: the mapping is plain memory that no thread owns; who may touch which part of it is
// decided by those who cut it up.
unsafe impl Send for Arena {}
// SAFETY: as above; the arena itself hands out only a pointer.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps at least `bytes`; with `huge`, on huge pages if there are any: hugetlb, else
    /// transparent (Documentation/admin-guide/mm/transhuge.rst), else base pages.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(bytes: usize, huge: bool) -> Result<Arena, Error> {
        let mapped = bytes.max(1).next_multiple_of(HUGE_PAGE);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        if let Some(arena) = huge.then(|| Arena::hugetlb(mapped)).flatten() {
            return Ok(arena);
        }
        // One huge page more than needed, so that an aligned part of the right size lies within.
        let room = mapped + HUGE_PAGE;
        // SAFETY: as above.
        let raw = unsafe { mmap_anonymous(std::ptr::null_mut(), room, access, MapFlags::PRIVATE) }
            .map_err(|why| refused(mapped, std::io::Error::from(why)))?;
        let head = raw.addr().next_multiple_of(HUGE_PAGE) - raw.addr();
        // SAFETY: both trims lie inside the mapping just made and outside the part that is kept.
        let start = unsafe {
            if head > 0 {
                let _ = munmap(raw, head);
            }
            let tail = raw.byte_add(head + mapped);
            let _ = munmap(tail, HUGE_PAGE - head);
            raw.byte_add(head)
        };
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| refused(mapped, "null"))?;
        if huge {
            // SAFETY: advice about our own mapping changes no content.
            let _ = unsafe { madvise(start.as_ptr().cast(), mapped, Advice::LinuxHugepage) };
        }
        Ok(Arena { start, mapped, hugetlb: false })
    }

    /// From the administrator's pool; `None` when it has too few.
    fn hugetlb(mapped: usize) -> Option<Arena> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::HUGETLB;
        // SAFETY: a new anonymous mapping at a place the kernel chooses aliases nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, access, flags) }.ok()?;
        let arena = Arena { start: NonNull::new(start.cast())?, mapped, hugetlb: true };
        // Touched at once: where the limit of a control group or node leaves none, the first touch
        // would be a SIGBUS. EINVAL: Linux before 5.14 has no such advice.
        // SAFETY: writes nothing; our own mapping.
        match unsafe { madvise(start, mapped, Advice::LinuxPopulateWrite) } {
            Ok(()) | Err(rustix::io::Errno::INVAL) => Some(arena),
            Err(_) => None,
        }
    }

    /// First byte; aligned to [`HUGE_PAGE`].
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Length in bytes, a multiple of [`HUGE_PAGE`].
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.mapped
    }

    /// What its first pages are. Reads /proc/self/smaps, which takes milliseconds when there are
    /// thousands of mappings: not for every stream.
    pub fn pages(&self) -> Pages {
        if self.hugetlb {
            return Pages::Hugetlb;
        }
        // SAFETY: the first byte of our own writable mapping, rewritten with what it holds.
        unsafe {
            let start = self.start.as_ptr();
            start.write_volatile(start.read_volatile());
        }
        let smaps = Host::live().read("/proc/self/smaps").unwrap_or_default();
        match huge_bytes_of(&smaps, self.start.as_ptr().addr()) {
            0 => Pages::Base,
            _ => Pages::Transparent,
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made; nothing borrows from an arena past its life.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

fn refused(bytes: usize, why: impl facts::error::Cause) -> Error {
    Error::new(format!("cannot map {bytes} bytes of memory for buffers"), why)
        .hint("choose fewer streams, a smaller block-size or a smaller queue-depth")
}

/// `AnonHugePages` of the mapping that holds `address`, in bytes (proc_pid_smaps(5)).
fn huge_bytes_of(smaps: &str, address: usize) -> u64 {
    let mut inside = false;
    for line in smaps.lines() {
        let first = line.split_ascii_whitespace().next().unwrap_or("");
        if let Some((low, high)) = first.split_once('-') {
            let bounds = (usize::from_str_radix(low, 16), usize::from_str_radix(high, 16));
            if let (Ok(low), Ok(high)) = bounds {
                inside = (low..high).contains(&address);
            }
        } else if inside && first == "AnonHugePages:" {
            let kib = line.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse().ok());
            return kib.unwrap_or(0_u64).saturating_mul(1024);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \nSize:               4096 kB\n\
AnonHugePages:      2048 kB\nVmFlags: rd wr mr mw me ac hg \n\
7f0000400000-7f0000800000 rw-p 00000000 00:00 0 [anon: x]\nAnonHugePages:         0 kB\n";

    #[test]
    fn an_arena_is_aligned_writable_to_its_last_byte_and_zeroed() {
        for huge in [true, false] {
            let arena = Arena::new(3 << 20, huge).unwrap();
            assert_eq!(arena.start().as_ptr().addr() % HUGE_PAGE, 0);
            assert_eq!(arena.bytes(), 4 << 20);
            // SAFETY: both bytes lie inside the arena, which nothing else touches.
            unsafe {
                let last = arena.start().as_ptr().add(arena.bytes() - 1);
                assert_eq!(last.read(), 0);
                last.write(7);
                assert_eq!(last.read(), 7);
            }
            assert!(huge || arena.pages() == Pages::Base);
        }
    }

    #[test]
    fn smaps_tells_which_mapping_is_huge() {
        assert_eq!(huge_bytes_of(SMAPS, 0x7f00_0000_1000), 2 << 20);
        assert_eq!(huge_bytes_of(SMAPS, 0x7f00_0040_0000), 0);
        assert_eq!(huge_bytes_of(SMAPS, 0x1000), 0);
    }

    #[test]
    fn a_cut_smaps_never_panics() {
        for end in 0..SMAPS.len() {
            huge_bytes_of(&SMAPS[..end], 0x7f00_0000_1000);
        }
    }
}
