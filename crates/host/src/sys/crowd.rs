//! Places for those who connect: so many in all, so many from one address, and one for whoever
//! comes next.
//!
//! Nobody is shut out by somebody else who holds his places and says nothing. When all are taken,
//! or all of one address, whoever has waited longest has to go: first those who have said nothing
//! yet, then those who have nothing more to say; of all addresses that one goes first which holds
//! most. Whoever is being served stays.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What somebody who holds a place does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// Has not said yet what he comes for.
    Nothing,
    /// Was served, and may say more.
    Waits,
    /// Is served.
    Served,
}

/// The places.
#[derive(Debug)]
pub struct Crowd {
    most: usize,
    most_of_one: usize,
    held: Mutex<CrowdMembers>,
}

/// Who holds places now, and the number of the next.
#[derive(Default)]
struct CrowdMembers {
    next: u64,
    /// By their numbers, the oldest first.
    members: BTreeMap<u64, CrowdMember>,
}

/// Somebody who holds a place: from where, what he does, and how he is sent away.
struct CrowdMember {
    from: IpAddr,
    doing: Doing,
    /// Sends him away; whoever has been sent away is no member any more.
    leave: Box<dyn FnOnce() + Send>,
}

impl std::fmt::Debug for CrowdMembers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrowdMembers").field("members", &self.members.len()).finish_non_exhaustive()
    }
}

/// One place among those for who connects; free again when dropped.
#[derive(Debug)]
pub struct CrowdSlot {
    crowd: Arc<Crowd>,
    number: u64,
}

impl Crowd {
    /// `most` places, of which one address has `most_of_one`.
    pub fn new(most: usize, most_of_one: usize) -> Arc<Crowd> {
        Arc::new(Crowd { most, most_of_one, held: Mutex::default() })
    }

    fn held(&self) -> MutexGuard<'_, CrowdMembers> {
        // Whoever panicked while he held the lock left whole values behind.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many places are taken.
    pub fn taken(&self) -> usize {
        self.held().members.len()
    }

    /// A place for somebody who comes from this address, who is sent away by `leave`. `None` when
    /// all others are being served.
    pub fn enter(
        self: &Arc<Crowd>,
        from: IpAddr,
        leave: impl FnOnce() + Send + 'static,
    ) -> Option<CrowdSlot> {
        let from = share(from);
        let mut held = self.held();
        let gone = self.in_the_way(&held, from)?;
        let gone = gone.and_then(|number| held.members.remove(&number));
        let number = held.next;
        held.next += 1;
        let member = CrowdMember { from, doing: Doing::Nothing, leave: Box::new(leave) };
        held.members.insert(number, member);
        drop(held);
        if let Some(gone) = gone {
            (gone.leave)();
        }
        Some(CrowdSlot { crowd: Arc::clone(self), number })
    }

    /// Who has to go for somebody from this address: nobody while there is room; `None` when there
    /// is none and nobody can go.
    fn in_the_way(&self, held: &CrowdMembers, from: IpAddr) -> Option<Option<u64>> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for member in held.members.values() {
            *counts.entry(member.from).or_default() += 1;
        }
        let full_of_one = counts.get(&from).is_some_and(|count| *count >= self.most_of_one);
        if !full_of_one && held.members.len() < self.most {
            return Some(None);
        }
        let can_go = held.members.iter().filter(|(_, member)| {
            member.doing != Doing::Served && (!full_of_one || member.from == from)
        });
        // Of many from one address rather than of few, then of those who said least, the oldest.
        let first = can_go.min_by_key(|(number, member)| {
            let count = counts.get(&member.from).copied().unwrap_or(0);
            (std::cmp::Reverse(count), member.doing, **number)
        });
        first.map(|(number, _)| Some(*number))
    }
}

impl CrowdSlot {
    /// What its holder does from now on.
    pub fn set(&self, doing: Doing) {
        if let Some(member) = self.crowd.held().members.get_mut(&self.number) {
            member.doing = doing;
        }
    }
}

impl Drop for CrowdSlot {
    fn drop(&mut self) {
        self.crowd.held().members.remove(&self.number);
    }
}

/// Addresses that one machine has at will count as one: of IPv6 the half that names the network
/// (RFC 4291, section 2.5.1).
fn share(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    fn at(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    /// Who comes, and a count of those who were sent away.
    fn enter(crowd: &Arc<Crowd>, from: IpAddr, gone: &Arc<AtomicUsize>) -> Option<CrowdSlot> {
        let gone = Arc::clone(gone);
        crowd.enter(from, move || {
            gone.fetch_add(1, Relaxed);
        })
    }

    /// 64 strangers who said nothing kept everybody else out until their time was over.
    #[test]
    fn one_address_takes_no_more_than_its_share_and_others_come_in() {
        let (crowd, gone) = (Crowd::new(8, 4), Arc::new(AtomicUsize::new(0)));
        let mut places: Vec<CrowdSlot> =
            (0..20).filter_map(|_| enter(&crowd, at(2), &gone)).collect();
        assert_eq!((crowd.taken(), gone.load(Relaxed)), (4, 16), "the newest stay");
        let known = enter(&crowd, at(1), &gone).unwrap();
        assert_eq!((crowd.taken(), gone.load(Relaxed)), (5, 16));
        // All places of all: of the address that holds most one goes, not of the others.
        places.extend((3..6).filter_map(|last| enter(&crowd, at(last), &gone)));
        assert_eq!(crowd.taken(), 8);
        let (_more, _and) = (enter(&crowd, at(9), &gone), enter(&crowd, at(10), &gone));
        assert_eq!((crowd.taken(), gone.load(Relaxed)), (8, 18));
        let held = crowd.held();
        let of = |address: IpAddr| held.members.values().filter(|it| it.from == address).count();
        assert_eq!((of(at(2)), of(at(1)), of(at(9))), (2, 1, 1));
        drop(held);
        drop((known, places));
        assert_eq!(crowd.taken(), 2);
    }

    #[test]
    fn who_is_served_stays_and_who_said_something_stays_longer_than_who_did_not() {
        let (crowd, gone) = (Crowd::new(3, 3), Arc::new(AtomicUsize::new(0)));
        let served = enter(&crowd, at(1), &gone).unwrap();
        let waits = enter(&crowd, at(1), &gone).unwrap();
        let silent = enter(&crowd, at(1), &gone).unwrap();
        served.set(Doing::Served);
        waits.set(Doing::Waits);
        let next = enter(&crowd, at(1), &gone).unwrap();
        assert!(!crowd.held().members.contains_key(&silent.number), "he had said nothing");
        next.set(Doing::Served);
        let last = enter(&crowd, at(1), &gone).unwrap();
        assert!(!crowd.held().members.contains_key(&waits.number), "he had nothing more to say");
        last.set(Doing::Served);
        assert!(enter(&crowd, at(7), &gone).is_none(), "all are served");
        // Whoever was sent away does not take somebody's place along when he goes.
        drop((silent, waits));
        assert_eq!((crowd.taken(), gone.load(Relaxed)), (3, 2));
    }

    #[test]
    fn a_machine_with_many_addresses_of_one_network_is_one() {
        let v6 = |text: &str| share(text.parse().unwrap());
        assert_eq!(v6("2001:db8::1"), v6("2001:db8::ffff:1:2:3"));
        assert_ne!(v6("2001:db8:0:1::1"), v6("2001:db8:0:2::1"));
        assert_eq!(v6("::ffff:192.0.2.1"), at(1));
        assert_ne!(v6("::1"), share(at(1)));
    }
}
