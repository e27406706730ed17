//! The disk as its reader and its writer see it: which blocks it lies about, and what it did.
//!
//! Only blocks that can be checked are lied about, so that the file system stays whole. They are
//! known by their header, at the start of a sector (docs/reference has its layout).

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::io::Errno;

use super::order::{Harm, Lie, Name, Rule, Told, Truth};
use super::store::{SECTOR, Store};
use crate::integrity::REQUEST_BYTES;

const MAGIC: &[u8] = b"BRKV";
const HEADER: usize = 96;
const BLOCK_MAX: u64 = 1 << 20;

/// Where a block was written.
struct Place {
    bytes: u64,
    meant: Name,
    /// The block as it was before it was overwritten, where it was itself.
    previous: Option<Vec<u8>>,
    /// What was told of it, and still stands.
    lie: Option<u64>,
    spoiled: bool,
    /// Since it was written, or since the rules were given.
    read: bool,
}

struct Armed {
    rule: Rule,
    next: u64,
}

/// A power cut to come.
struct Due {
    after: u64,
    kept_permille: u64,
    seed: u64,
}

pub struct Device {
    store: Store,
    lying: bool,
    places: BTreeMap<u64, Place>,
    /// By campaign, file and offset: where such a block was written last.
    homes: BTreeMap<(u64, u64, u64), u64>,
    /// The longest block so far.
    longest: u64,
    rules: Vec<Armed>,
    draw: Xoshiro256PlusPlus,
    told: BTreeMap<u64, Told>,
    truth: Truth,
    due: Option<Due>,
    harms: BTreeMap<u64, Harm>,
}

/// The name and the length that a header gives, whatever follows it.
pub fn header(bytes: &[u8]) -> Option<(Name, u64)> {
    let header = bytes.get(..HEADER)?;
    let u64_at = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight"));
    let length = u64_at(8) & u64::from(u32::MAX);
    let sane = (SECTOR..=BLOCK_MAX).contains(&length) && length.is_multiple_of(SECTOR);
    let name =
        Name { campaign: u64_at(16), file: u64_at(24), offset: u64_at(32), generation: u64_at(40) };
    (header.starts_with(MAGIC) && sane).then_some((name, length))
}

impl Device {
    pub fn new(bytes: u64) -> Device {
        Device {
            store: Store::new(bytes),
            lying: false,
            places: BTreeMap::new(),
            homes: BTreeMap::new(),
            longest: SECTOR,
            rules: Vec::new(),
            draw: Xoshiro256PlusPlus::seed_from_u64(0),
            told: BTreeMap::new(),
            truth: Truth::default(),
            due: None,
            harms: BTreeMap::new(),
        }
    }

    pub fn arm(&mut self, rules: Vec<Rule>, seed: u64) {
        self.rules = rules.into_iter().map(|rule| Armed { rule, next: rule.first }).collect();
        self.draw = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.told.retain(|_, told| told.stands);
        (self.truth.written, self.truth.read) = (0, 0);
        self.places.values_mut().for_each(|place| place.read = false);
    }

    pub fn cache(&mut self, lying: bool) {
        self.store.cache();
        self.lying = lying;
    }

    pub fn cut(&mut self, after: u64, kept_permille: u64, seed: u64) {
        self.due = Some(Due { after, kept_permille, seed });
        if after == 0 {
            self.lose_power();
        }
    }

    pub fn power(&mut self) {
        self.truth.off = false;
        self.due = None;
    }

    pub fn confess(&self) -> Truth {
        Truth { told: self.told.values().cloned().collect(), ..self.truth.clone() }
    }

    /// Does that to each sector that begins with these bytes; how many there were.
    pub fn harm(&mut self, begins: &[u8], harm: Harm) -> u64 {
        let mut found = Vec::new();
        let mut bytes = vec![0; BLOCK_MAX as usize];
        for at in (0..self.store.bytes()).step_by(bytes.len()) {
            self.store.read(at, &mut bytes);
            let sectors = bytes.chunks_exact(SECTOR as usize).zip((at..).step_by(SECTOR as usize));
            found.extend(sectors.filter(|(it, _)| it.starts_with(begins)).map(|(_, at)| at));
        }
        for &at in &found {
            if let Harm::Flip(bit) = harm {
                let mut sector = [0; SECTOR as usize];
                self.store.read(at, &mut sector);
                flip(&mut sector, bit);
                self.store.write(at, &sector, true);
            } else {
                self.harms.insert(at, harm);
            }
        }
        found.len() as u64
    }

    pub fn flush(&mut self) -> Result<(), Errno> {
        if self.truth.off {
            return Err(Errno::IO);
        }
        self.truth.flushes += 1;
        self.store.flush(self.lying);
        Ok(())
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        if self.truth.off {
            return Err(Errno::IO);
        }
        let (mut at, mut plain) = (0, 0);
        while at < data.len() {
            let whole =
                header(&data[at..]).filter(|(_, bytes)| at as u64 + bytes <= data.len() as u64);
            let Some((name, bytes)) = whole else {
                at += SECTOR as usize;
                continue;
            };
            self.write_plain(offset + plain as u64, &data[plain..at]);
            self.write_block(offset + at as u64, &data[at..at + bytes as usize], name);
            at += bytes as usize;
            plain = at;
        }
        self.write_plain(offset + plain as u64, &data[plain..]);
        match &mut self.due {
            Some(Due { after: 0 | 1, .. }) => {
                self.lose_power();
                // What was written meanwhile was not acknowledged.
                return Err(Errno::IO);
            }
            Some(due) => due.after -= 1,
            None => {}
        }
        Ok(())
    }

    fn lose_power(&mut self) {
        let Some(due) = self.due.take() else { return };
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(due.seed);
        let cut = self.store.cut(due.kept_permille, &mut draw);
        (self.truth.kept, self.truth.lost, self.truth.torn) = (cut.kept, cut.lost, cut.torn);
        self.truth.off = true;
    }

    fn write_plain(&mut self, at: u64, data: &[u8]) {
        if !data.is_empty() {
            self.forget(at, data.len() as u64);
            self.store.write(at, data, false);
        }
    }

    /// Places that lie in part or wholly between.
    fn places_between(&self, at: u64, end: u64) -> Vec<u64> {
        let from = (at + 1).saturating_sub(self.longest);
        let places = self.places.range(from..end);
        places.filter(|(place, it)| **place + it.bytes > at).map(|(place, _)| *place).collect()
    }

    /// What lay there is overwritten, and with it what was told of it.
    fn forget(&mut self, at: u64, bytes: u64) {
        for place in self.places_between(at, at + bytes) {
            let lie = self.places.remove(&place).and_then(|place| place.lie);
            if let Some(told) = lie.and_then(|lie| self.told.get_mut(&lie)) {
                told.stands = false;
            }
        }
        self.harms.retain(|sector, _| !(at..at + bytes).contains(sector));
    }

    fn get(&self, at: u64, bytes: u64) -> Vec<u8> {
        let mut block = vec![0; bytes as usize];
        self.store.read(at, &mut block);
        block
    }

    /// Whether the place of the name that a block bears is another one, and holds it.
    fn is_at_home_too(&self, at: u64, comes: &[u8]) -> bool {
        let name = header(comes).map(|(name, _)| name);
        let home = name.and_then(|it| self.homes.get(&(it.campaign, it.file, it.offset)));
        home.is_some_and(|home| *home != at && self.get(*home, comes.len() as u64) == comes)
    }

    /// The lie that is due at this count, of those that can be told here.
    fn due(&mut self, count: u64, fits: impl Fn(Lie) -> bool) -> Option<Lie> {
        let armed = self.rules.iter_mut().find(|it| it.next <= count && fits(it.rule.lie))?;
        armed.next = armed.rule.every.map_or(u64::MAX, |every| count + every);
        Some(armed.rule.lie)
    }

    /// Another place of that length, of which nothing is told, when one is needed.
    fn partner(&mut self, place: u64, bytes: u64, campaign: u64, count: u64) -> Option<u64> {
        if !self.rules.iter().any(|armed| armed.next <= count && armed.rule.lie.takes_two()) {
            return None;
        }
        (0..64).find_map(|_| {
            let from = self.draw.next_u64() % self.store.bytes();
            let (at, it) = self.places.range(from..).next()?;
            let fits = it.bytes == bytes && it.meant.campaign == campaign && it.lie.is_none();
            (fits && *at != place && !it.spoiled).then_some(*at)
        })
    }

    fn write_block(&mut self, at: u64, block: &[u8], meant: Name) {
        let bytes = block.len() as u64;
        self.truth.written += 1;
        let count = self.truth.written;
        let before = self.get(at, bytes);
        let was = header(&before).map(|(name, _)| name);
        let honest = self.places.get(&at).is_some_and(|it| it.lie.is_none() && it.bytes == bytes);
        let older = |name: Name| {
            let same = Name { generation: meant.generation, ..name } == meant;
            same && name != meant
        };
        let previous = (honest && was.is_some_and(older)).then_some(before);
        self.forget(at, bytes);
        let place = Place { bytes, meant, previous, lie: None, spoiled: false, read: false };
        self.places.insert(at, place);
        self.homes.insert((meant.campaign, meant.file, meant.offset), at);
        self.longest = self.longest.max(bytes);

        let partner = self.partner(at, bytes, meant.campaign, count);
        let lie = self.due(count, |lie| match lie {
            lie if lie.is_transient() => false,
            // What is there already would be right.
            Lie::Drop | Lie::Misdirect | Lie::Tear if was == Some(meant) => false,
            Lie::Tear => bytes > SECTOR,
            lie => !lie.takes_two() || partner.is_some(),
        });
        match lie {
            None => self.store.write(at, block, true),
            Some(lie) => self.write_wrong(lie, at, block, partner.unwrap_or(at)),
        }
    }

    fn write_wrong(&mut self, lie: Lie, at: u64, block: &[u8], other: u64) {
        let bytes = block.len() as u64;
        let mut block = block.to_vec();
        let mut partner = self.get(other, bytes);
        let mut where_in_it = 0;
        match lie {
            Lie::Drop => {}
            Lie::Misdirect => self.store.write(other, &block, true),
            Lie::Duplicate => {
                self.store.write(at, &block, true);
                self.store.write(other, &block, true);
                return self.tell(lie, other, true, 0);
            }
            Lie::Swap => {
                self.store.write(at, &partner, true);
                self.store.write(other, &block, true);
            }
            Lie::SwapSectors => {
                where_in_it = self.draw.next_u64() % (bytes / SECTOR);
                let sector = (where_in_it * SECTOR) as usize..((where_in_it + 1) * SECTOR) as usize;
                block[sector.clone()].swap_with_slice(&mut partner[sector]);
                self.store.write(at, &block, true);
                self.store.write(other, &partner, true);
            }
            Lie::Tear => {
                where_in_it = 1 + self.draw.next_u64() % (bytes / SECTOR - 1);
                self.store.write(at, &block[..(where_in_it * SECTOR) as usize], true);
            }
            Lie::Spoil => {
                self.store.write(at, &block, true);
                self.places.get_mut(&at).expect("just written").spoiled = true;
            }
            _ => {
                where_in_it = self.distort(lie, &mut block);
                self.store.write(at, &block, true);
            }
        }
        self.tell(lie, at, false, where_in_it);
        if lie.takes_two() {
            self.tell(lie, other, true, where_in_it);
        }
    }

    /// Changes a block by itself; gives which bit, if it is one.
    fn distort(&mut self, lie: Lie, block: &mut [u8]) -> u64 {
        match lie {
            Lie::Flip | Lie::FlipOnce => {
                let bit = self.draw.next_u64() % (block.len() as u64 * 8);
                flip(block, bit);
                return bit;
            }
            Lie::Garble => self.draw.fill_bytes(block),
            _ => block.fill(0),
        }
        0
    }

    /// Notes what stands at a place from now on.
    fn tell(&mut self, lie: Lie, at: u64, other: bool, where_in_it: u64) {
        let block = self.get(at, self.places[&at].bytes);
        let told = self.note(lie, at, &block, where_in_it);
        (told.stands, told.other) = (true, other);
        let number = *self.told.keys().next_back().expect("just told");
        self.places.get_mut(&at).expect("a place").lie = Some(number);
    }

    fn next_number(&self) -> u64 {
        self.told.keys().next_back().map_or(0, |last| last + 1)
    }

    fn note(&mut self, lie: Lie, at: u64, comes: &[u8], where_in_it: u64) -> &mut Told {
        let number = self.next_number();
        let place = &self.places[&at];
        let told = Told {
            lie,
            place: at,
            block_bytes: place.bytes,
            meant: place.meant,
            other: false,
            bears: header(comes).map(|(name, _)| name),
            at_home_too: self.is_at_home_too(at, comes),
            zeros: comes.iter().all(|byte| *byte == 0),
            at: where_in_it,
            stands: false,
            met: 0,
        };
        self.told.entry(number).or_insert(told)
    }

    pub fn read(&mut self, offset: u64, bytes: usize) -> Result<Vec<u8>, Errno> {
        let end = offset + bytes as u64;
        let places = self.places_between(offset, end);
        if self.is_spoiled(offset, end, &places) {
            // What else is wrong there is given to nobody.
            for lie in places.iter().filter_map(|at| self.places[at].lie) {
                let told = self.told.get_mut(&lie).expect("it stands");
                told.met += u64::from(told.lie == Lie::Spoil);
            }
            return Err(Errno::IO);
        }
        let mut reply = self.get(offset, bytes as u64);
        let new = self.next_number();
        for at in &places {
            if let Err(error) = self.read_block(*at, offset, &mut reply) {
                let others = self.told.range_mut(new..).map(|(_, told)| told);
                others.filter(|told| told.lie != Lie::ErrorOnce).for_each(|told| told.met = 0);
                return Err(error);
            }
        }
        for at in places {
            if let Some(lie) = self.places[&at].lie {
                let block = self.get(at, self.places[&at].bytes);
                let at_home_too = self.is_at_home_too(at, &block);
                let told = self.told.get_mut(&lie).expect("it stands");
                told.met += 1;
                told.at_home_too = at_home_too;
            }
        }
        let once: Vec<u64> = self.harms.range(offset..end).map(|(at, _)| *at).collect();
        for at in once {
            if let Some(Harm::FlipOnce(bit)) = self.harms.remove(&at) {
                flip(&mut reply[(at - offset) as usize..], bit);
            }
        }
        Ok(reply)
    }

    /// Whether nothing comes of a reading from there to there.
    fn is_spoiled(&self, offset: u64, end: u64, places: &[u64]) -> bool {
        let harmed = self.harms.range(offset..end).any(|(_, harm)| matches!(harm, Harm::Spoil));
        self.truth.off || harmed || places.iter().any(|at| self.places[at].spoiled)
    }

    /// Whether a block may come along when a request that failed is read again in one of twice its
    /// size: it is the company of what is asked for, and nobody looks at it.
    ///
    /// The story: once in some hundred runs a block that is zeroed once was drawn so near to a
    /// request that fails once that its zeros came in the second reading of that; the truth said
    /// that they were met, and the program, which had asked for its neighbours, said nothing.
    fn is_company(&self, meant: Name) -> bool {
        let near = |told: &Told| {
            let of = |bytes: u64| (told.meant.offset / bytes, meant.offset / bytes);
            let ((failed, this), (once, again)) = (of(REQUEST_BYTES), of(2 * REQUEST_BYTES));
            told.meant.file == meant.file && failed != this && once == again
        };
        self.told.values().filter(|told| told.lie == Lie::ErrorOnce).any(near)
    }

    /// Lies about one block of a reply, if that is due.
    fn read_block(&mut self, at: u64, offset: u64, reply: &mut [u8]) -> Result<(), Errno> {
        let place = self.places.get_mut(&at).expect("a place");
        let whole = at >= offset && at + place.bytes <= offset + reply.len() as u64;
        if place.lie.is_some() || place.read || !whole {
            return Ok(());
        }
        place.read = true;
        let (bytes, meant, stale) = (place.bytes, place.meant, place.previous.is_some());
        self.truth.read += 1;
        let count = self.truth.read;
        if self.is_company(meant) {
            return Ok(());
        }
        let partner = self.partner(at, bytes, meant.campaign, count);
        let lie = self.due(count, |lie| {
            let fits = (lie != Lie::StaleOnce || stale) && (!lie.takes_two() || partner.is_some());
            lie.is_transient() && fits
        });
        let Some(lie) = lie else { return Ok(()) };
        let block = &mut reply[(at - offset) as usize..(at - offset + bytes) as usize];
        let mut bit = 0;
        match lie {
            Lie::StaleOnce => {
                let previous = self.places[&at].previous.as_ref().expect("it fits");
                block.copy_from_slice(previous);
            }
            Lie::MisreadOnce => block.copy_from_slice(&self.get(partner.expect("it fits"), bytes)),
            Lie::ErrorOnce => {}
            _ => bit = self.distort(lie, block),
        }
        let block = block.to_vec();
        self.note(lie, at, &block, bit).met = 1;
        if lie == Lie::ErrorOnce { Err(Errno::IO) } else { Ok(()) }
    }
}

fn flip(bytes: &mut [u8], bit: u64) {
    bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
}
