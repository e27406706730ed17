//! What the lying disk keeps: a file in memory as its platter, and a cache before it that a power
//! cut empties.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

pub const SECTOR: u64 = 512;
/// A file system's own blocks: a disk that tears those is one on which no file system lasts.
const PAGE: u64 = 4096;

/// A sector that was written and not flushed.
struct Unflushed {
    bytes: [u8; SECTOR as usize],
    /// Of a block that can be checked, not of the file system's own.
    data: bool,
}

/// What a power cut did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cut {
    /// Sectors of data that came through, and those that did not.
    pub kept: u64,
    pub lost: u64,
    /// Pages of data of which a part came through.
    pub torn: u64,
}

pub struct Store {
    platter: File,
    /// By sector; `None`: what is written is on the platter at once.
    cache: Option<BTreeMap<u64, Unflushed>>,
}

impl Store {
    pub fn new(bytes: u64) -> Store {
        let platter = tempfile::tempfile_in("/dev/shm").expect("a store");
        platter.set_len(bytes).expect("sized");
        Store { platter, cache: None }
    }

    pub fn bytes(&self) -> u64 {
        self.platter.metadata().expect("the store").len()
    }

    /// From now on, what is written waits for a flush.
    pub fn cache(&mut self) {
        self.cache.get_or_insert_default();
    }

    pub fn read(&self, at: u64, bytes: &mut [u8]) {
        self.platter.read_exact_at(bytes, at).expect("within the store");
        let Some(cache) = &self.cache else { return };
        let end = at + bytes.len() as u64;
        for (sector, unflushed) in cache.range(at / SECTOR..end.div_ceil(SECTOR)) {
            // Requests of a block device are whole sectors.
            if let Some(from) = (sector * SECTOR).checked_sub(at) {
                let room = &mut bytes[from as usize..];
                let length = room.len().min(SECTOR as usize);
                room[..length].copy_from_slice(&unflushed.bytes[..length]);
            }
        }
    }

    /// Whole sectors; of a block that can be checked (`data`), or of anything else.
    pub fn write(&mut self, at: u64, bytes: &[u8], data: bool) {
        let Some(cache) = &mut self.cache else {
            self.platter.write_all_at(bytes, at).expect("within the store");
            return;
        };
        for (number, sector) in bytes.chunks_exact(SECTOR as usize).enumerate() {
            let bytes = sector.try_into().expect("a whole sector");
            cache.insert(at / SECTOR + number as u64, Unflushed { bytes, data });
        }
    }

    /// What waits goes to the platter; a disk that lies leaves the data where they are, so that the
    /// file system itself stays whole.
    pub fn flush(&mut self, lying: bool) {
        let Some(cache) = &mut self.cache else { return };
        let platter = &self.platter;
        cache.retain(|sector, unflushed| {
            if !(lying && unflushed.data) {
                platter.write_all_at(&unflushed.bytes, sector * SECTOR).expect("within the store");
            }
            lying && unflushed.data
        });
    }

    /// Power is lost: of what waits, some pages are on the platter by then, of those of data some
    /// in part, sector by sector; the rest is gone.
    pub fn cut(&mut self, kept_permille: u64, draw: &mut Xoshiro256PlusPlus) -> Cut {
        let mut cut = Cut::default();
        let Some(cache) = self.cache.as_mut().map(std::mem::take) else { return cut };
        let mut pages: BTreeMap<u64, Vec<(u64, Unflushed)>> = BTreeMap::new();
        for (sector, unflushed) in cache {
            pages.entry(sector * SECTOR / PAGE).or_default().push((sector, unflushed));
        }
        for sectors in pages.into_values() {
            let kept = draw.next_u64() % 1000 < kept_permille;
            let data = sectors.iter().all(|(_, unflushed)| unflushed.data);
            let torn = kept && data && draw.next_u64().is_multiple_of(4);
            let mut came_through = 0;
            let count = sectors.len() as u64;
            for (sector, unflushed) in sectors {
                if kept && !(torn && draw.next_u64().is_multiple_of(2)) {
                    let at = sector * SECTOR;
                    self.platter.write_all_at(&unflushed.bytes, at).expect("within the store");
                    came_through += 1;
                }
            }
            if data {
                cut.kept += came_through;
                cut.lost += count - came_through;
                cut.torn += u64::from(0 < came_through && came_through < count);
            }
        }
        cut
    }
}
