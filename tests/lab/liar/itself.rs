//! The lying disk itself: a reader sees each lie as it is told afterwards, and no other.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::Shutdown;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::device::header;
use super::{Harm, Liar, Lie, Rule, Told};
use crate::disk::{beside_a_guest, usable};
use crate::run::draw;

const BLOCK: usize = 4096;
const SECTOR: usize = 512;
const BLOCKS: u64 = 384;
/// Blocks of one request to write.
const TOGETHER: u64 = 32;

/// A block as its header, and a payload that follows from it.
fn block(number: u64, generation: u64) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK];
    Xoshiro256PlusPlus::seed_from_u64(generation << 32 | number).fill_bytes(&mut bytes);
    bytes[..4].copy_from_slice(b"BRKV");
    bytes[8..12].copy_from_slice(&(BLOCK as u32).to_le_bytes());
    for (at, value) in [(16, 7), (24, 1), (32, number * BLOCK as u64), (40, generation)] {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// Bytes where O_DIRECT takes them.
struct Aligned(Vec<u8>, usize);

impl Aligned {
    fn new(length: usize) -> Aligned {
        let bytes = vec![0; length + BLOCK];
        let start = bytes.as_ptr().align_offset(BLOCK);
        Aligned(bytes, start)
    }

    fn of(bytes: &[u8]) -> Aligned {
        let mut aligned = Aligned::new(bytes.len());
        aligned.slice(bytes.len()).copy_from_slice(bytes);
        aligned
    }

    fn slice(&mut self, length: usize) -> &mut [u8] {
        &mut self.0[self.1..self.1 + length]
    }
}

fn open(path: &Path, direct: bool) -> File {
    let flags = if direct { rustix::fs::OFlags::DIRECT.bits() as i32 } else { 0 };
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags);
    options.open(path).expect("the file opens")
}

/// Writes every block of a generation, and sees it flushed.
fn write_all(path: &Path, generation: u64, direct: bool) {
    let file = open(path, direct);
    for first in (0..BLOCKS).step_by(TOGETHER as usize) {
        write(&file, first, generation).expect("written");
    }
    file.sync_all().expect("flushed");
}

fn write(file: &File, first: u64, generation: u64) -> std::io::Result<()> {
    let blocks: Vec<u8> =
        (first..first + TOGETHER).flat_map(|number| block(number, generation)).collect();
    let mut blocks = Aligned::of(&blocks);
    file.write_all_at(blocks.slice(TOGETHER as usize * BLOCK), first * BLOCK as u64)
}

/// What is not as it was written, by block; `None`: it could not be read.
fn wrong(path: &Path, generation: u64) -> BTreeMap<u64, Option<Vec<u8>>> {
    let file = open(path, true);
    let mut buffer = Aligned::new(BLOCK);
    let mut wrong = BTreeMap::new();
    for number in 0..BLOCKS {
        let bytes = buffer.slice(BLOCK);
        let read = file.read_exact_at(bytes, number * BLOCK as u64);
        match read {
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(5), "{error}");
                wrong.insert(number, None);
            }
            Ok(()) if bytes != block(number, generation) => {
                wrong.insert(number, Some(bytes.to_vec()));
            }
            Ok(()) => {}
        }
    }
    wrong
}

/// Whether what came is what that lie makes of the block, which was of that generation and the
/// one before.
fn is_as_told(told: &Told, generation: u64, came: Option<&[u8]>) -> bool {
    let number = told.meant.offset / BLOCK as u64;
    let (right, old) = (block(number, generation), block(number, generation - 1));
    let Some(came) = came else { return matches!(told.lie, Lie::Spoil | Lie::ErrorOnce) };
    let named = header(came).map(|(name, _)| name);
    let another = named.is_some_and(|it| {
        it.offset != told.meant.offset && came == block(it.offset / BLOCK as u64, it.generation)
    });
    let at = told.at as usize;
    let differing = |by: usize| -> Vec<usize> {
        let parts = came.chunks(by).zip(right.chunks(by));
        parts.enumerate().filter(|(_, (came, right))| came != right).map(|(at, _)| at).collect()
    };
    let shows = match told.lie {
        Lie::Drop | Lie::StaleOnce => came == old,
        Lie::Misdirect if !told.other => came == old,
        Lie::Misdirect | Lie::Duplicate | Lie::Swap | Lie::MisreadOnce => another,
        Lie::SwapSectors => differing(SECTOR) == [at],
        Lie::Tear => {
            let (new, rest) = came.split_at(at * SECTOR);
            new == &right[..new.len()] && rest == &old[new.len()..]
        }
        Lie::Flip | Lie::FlipOnce => {
            let bit = came[at / 8] ^ right[at / 8];
            differing(1) == [at / 8] && bit == 1 << (at % 8)
        }
        Lie::Zero | Lie::ZeroOnce => told.zeros && came.iter().all(|byte| *byte == 0),
        Lie::Garble => named.is_none() && !told.zeros,
        Lie::Spoil | Lie::ErrorOnce => false,
    };
    let doubled = matches!(told.lie, Lie::Duplicate | Lie::MisreadOnce);
    shows && told.bears == named && told.at_home_too == doubled
}

#[test]
fn liar_tells_the_truth_until_it_is_told_to_lie() {
    if !usable("an honest liar", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut liar = Liar::new(48);
    let path = liar.path.join("file");
    for (direct, generation) in [(true, 1), (false, 2)] {
        write_all(&path, generation, direct);
        liar.drop_caches();
        assert!(wrong(&path, generation).is_empty());
        let bytes = std::fs::read(&path).expect("through the page cache");
        let all = (0..BLOCKS).flat_map(|number| block(number, generation));
        assert!(bytes.into_iter().eq(all));
    }
    let truth = liar.confess();
    assert!(truth.told.is_empty() && truth.flushes > 0 && !truth.off, "{truth:?}");
    assert_eq!(truth.written, 2 * BLOCKS);
}

#[test]
fn liar_shows_each_lie_where_and_as_it_tells_it_and_nothing_else() {
    if !usable("each lie of the liar", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let liar = Liar::new(48);
    let path = liar.path.join("file");
    let mut generation = 1;
    for lie in Lie::ALL {
        liar.arm(&[], 0);
        write_all(&path, generation, true);
        // Late enough that another block is there to be taken, early enough for a second time.
        let first = draw(&format!("{lie:?} at block"), 2, BLOCKS / 2);
        let seed = draw(&format!("{lie:?} seed"), 0, u64::MAX);
        liar.arm(&[Rule { lie, first, every: Some(BLOCKS / 2) }], seed);
        generation += 1;
        write_all(&path, generation, true);
        let (once, again) = (wrong(&path, generation), wrong(&path, generation));

        let truth = liar.confess();
        let stand = truth.told.iter().filter(|told| told.stands).count() as u64;
        assert_eq!((truth.written, truth.read), (BLOCKS, BLOCKS - stand), "{lie:?}: {truth:?}");
        let met: BTreeMap<u64, &Told> = truth
            .told
            .iter()
            .filter(|told| told.met > 0)
            .map(|told| (told.meant.offset / BLOCK as u64, told))
            .collect();
        let lies = truth.told.iter().filter(|told| !told.other || lie == Lie::Duplicate).count();
        assert_eq!(lies, 2, "{lie:?}: {truth:?}");
        let places: Vec<u64> = once.keys().copied().collect();
        assert_eq!(places, met.keys().copied().collect::<Vec<u64>>(), "{lie:?}: {truth:?}");
        for (number, came) in &once {
            let shows = is_as_told(met[number], generation, came.as_deref());
            assert!(shows, "{lie:?} at block {number}: {:?}", met[number]);
        }
        if lie.is_transient() {
            assert!(again.is_empty(), "{lie:?}: {:?}", again.keys());
        } else {
            assert_eq!(again, once, "{lie:?} stays");
        }
        // Of two blocks, the other may have been written again meanwhile: then nothing stands.
        let unmet = truth.told.iter().filter(|told| told.met == 0);
        assert!(unmet.clone().all(|told| !told.stands), "{lie:?}: {truth:?}");
        generation += 1;
    }
    liar.arm(&[], 0);
    write_all(&path, generation, true);
    assert!(wrong(&path, generation).is_empty(), "what is written again is right again");
    assert!(liar.confess().told.is_empty());
}

/// Writes generation after generation, each batch of requests followed by a flush, until the disk
/// is gone; gives the generation of each block that was acknowledged, and that which was tried.
fn write_until_it_is_gone(path: &Path, before: u64) -> (Vec<u64>, Vec<u64>) {
    let file = open(path, true);
    let mut acknowledged = vec![before; BLOCKS as usize];
    let mut tried = acknowledged.clone();
    for number in 0.. {
        let first = number * TOGETHER % BLOCKS;
        let blocks = first as usize..(first + TOGETHER) as usize;
        let generation = before + 1 + number * TOGETHER / BLOCKS;
        tried[blocks].fill(generation);
        if write(&file, first, generation).is_err() {
            break;
        }
        if number % 3 == 2 {
            if file.sync_data().is_err() {
                break;
            }
            acknowledged.copy_from_slice(&tried);
        }
    }
    (acknowledged, tried)
}

/// Blocks of which something older came back than was acknowledged, and those of which something
/// came back that was never written so.
fn lost(path: &Path, acknowledged: &[u64], tried: &[u64]) -> (u64, u64) {
    let file = open(path, true);
    let mut buffer = Aligned::new(BLOCK);
    let (mut lost, mut strange) = (0, 0);
    for number in 0..BLOCKS {
        let bytes = buffer.slice(BLOCK);
        file.read_exact_at(bytes, number * BLOCK as u64).expect("read after the cut");
        let (low, high) = (acknowledged[number as usize], tried[number as usize]);
        let blocks: Vec<Vec<u8>> = (low..=high).map(|it| block(number, it)).collect();
        let is_sector =
            |at: usize, block: &Vec<u8>| block[at..at + SECTOR] == bytes[at..at + SECTOR];
        let fine =
            (0..BLOCK).step_by(SECTOR).all(|at| blocks.iter().any(|block| is_sector(at, block)));
        let older = header(bytes).is_some_and(|(name, _)| {
            name.generation < low && bytes == block(number, name.generation)
        });
        lost += u64::from(older);
        strange += u64::from(!fine && !older);
    }
    (lost, strange)
}

#[test]
fn liar_loses_at_a_power_cut_what_was_not_flushed_and_only_then_lies_about_flushes() {
    if !usable("power cuts of the liar", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut liar = Liar::new(48);
    let path = liar.path.join("file");
    let mut generation = 1;
    let mut gone = 0;
    for round in 0..6 {
        let lying = round >= 4;
        write_all(&path, generation, true);
        // What is written without a lie is on the platter before the cache lies about it.
        liar.cache(lying);
        let after = draw(&format!("cut {round} after requests"), 40, 120);
        let kept = if lying { 0 } else { draw(&format!("cut {round} keeps"), 0, 1000) };
        liar.cut(after, kept, draw(&format!("cut {round} seed"), 0, u64::MAX));
        let (acknowledged, tried) = write_until_it_is_gone(&path, generation);
        let truth = liar.confess();
        assert!(truth.off, "{truth:?}");
        assert!(truth.lost + truth.kept > 0, "nothing was in flight: {truth:?}");
        gone += truth.lost;
        liar.boot();
        let (lost, strange) = lost(&path, &acknowledged, &tried);
        assert_eq!(strange, 0, "{truth:?}");
        assert_eq!(lost > 0, lying, "{lost} lost, {truth:?}");
        liar.cache(false);
        generation = tried.iter().max().expect("blocks") + 1;
    }
    assert!(gone > 0, "no cut lost anything");
}

/// What bears no header is harmed by what it holds, and only at rest.
#[test]
fn liar_harms_any_file_where_it_is_told_to() {
    if !usable("harms of the liar", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut liar = Liar::new(32);
    let path = liar.path.join("thesis.doc");
    let mut right = vec![0; 64 * BLOCK];
    Xoshiro256PlusPlus::seed_from_u64(draw("thesis seed", 0, u64::MAX)).fill_bytes(&mut right);
    std::fs::write(&path, &right).expect("written");
    liar.drop_caches();
    let read = |number: usize| {
        let mut buffer = Aligned::new(BLOCK);
        let read = open(&path, true).read_exact_at(buffer.slice(BLOCK), (number * BLOCK) as u64);
        read.map(|()| buffer.slice(BLOCK).to_vec())
    };
    let sector = |number: usize| &right[number * BLOCK + SECTOR..][..32];
    let mut flipped = right[3 * BLOCK..4 * BLOCK].to_vec();
    flipped[SECTOR + 100] ^= 1 << 5;
    liar.harm(sector(3), Harm::Flip(805));
    for _ in 0..2 {
        assert_eq!(read(3).expect("read"), flipped);
    }
    liar.harm(sector(4), Harm::FlipOnce(0));
    assert_ne!(read(4).expect("read"), right[4 * BLOCK..5 * BLOCK]);
    assert_eq!(read(4).expect("read"), right[4 * BLOCK..5 * BLOCK]);
    liar.harm(sector(5), Harm::Spoil);
    for _ in 0..2 {
        assert_eq!(read(5).expect_err("spoiled").raw_os_error(), Some(5));
    }
    assert_eq!(read(6).expect("read"), right[6 * BLOCK..7 * BLOCK]);
}

#[test]
fn liar_cleans_up_behind_a_test_that_ends_without_a_word() {
    if !usable("cleaning up by the liar", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut liar = Liar::new(32);
    let open = File::create(liar.path.join("left-open")).expect("a file");
    let talk = liar.talk.get_mut().expect("nobody failed");
    talk.get_mut().shutdown(Shutdown::Both).expect("silent from now on");
    drop(open);
    let start = Instant::now();
    while liar.server.try_wait().expect("ours").is_none() {
        assert!(start.elapsed() < Duration::from_secs(30), "it serves on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mounts = std::fs::read_to_string("/proc/mounts").expect("mounts");
    for path in [&liar.path, &liar.served] {
        assert!(!mounts.contains(&path.display().to_string()), "{mounts}");
        assert!(!path.exists(), "{}", path.display());
    }
    let backing = std::fs::read_to_string(liar.about("loop/backing_file")).unwrap_or_default();
    assert!(!backing.contains(&liar.served.display().to_string()), "{backing}");
    // Nothing is left to be unmade but an empty folder.
    std::fs::remove_dir(liar.path.parent().expect("a folder")).expect("empty");
    std::mem::forget(liar);
}
