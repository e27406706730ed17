//! Datagrams from memory to memory: numbered and timed by the sender, counted by the receiver.
//!
//! A sender hands over many datagrams by one call, all with the same body and each with a header of
//! its own, at a rate that `pace` keeps. A receiver takes what is there, with the time at which the
//! kernel got each, and holds numbers and times in an `account`. When the clock stops the sender
//! stops, and the receiver goes on until it has everything or nothing has come for half a second:
//! what is missing then is lost.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::course::{self, Ends};
use super::job::{Datagrams, HEADER_BYTES, Job};
use super::wire::{self, End, Wire};
use super::work::{Broken, Count, Tally, Yield, broken, carry};
use crate::engine::Error;
use crate::engine::load::control::{Event, Phase, Shared};
use crate::engine::load::protocol::{Failure, LoadResult, Message, Prepared};
use crate::engine::load::room;
use crate::engine::load::talk::{Conducted, Talk};
use base::value;
use experiment::measurement::{Note, datagrams};
use facts::counters::series::Kind;
use host::sys::Host;
use host::sys::clock::{monotonic_ns, sleep_until, unix_ns};

mod account;
mod pace;
mod socket;
#[cfg(test)]
mod tests;

use account::Account;
use pace::Pace;
use socket::{Incoming, Outgoing};

/// Nothing has come for so long after the last was sent: nothing more will, ns.
const SILENCE_NS: u64 = 500_000_000;
/// A sender that did less than this share of what was asked has not kept its rate.
const KEPT: f64 = 0.97;

/// The two sockets of one stream, connected to each other.
#[derive(Debug)]
struct Pair {
    sender: UdpSocket,
    receiver: UdpSocket,
}

/// What one receiver counts, alone on its cache lines, besides bytes and datagrams.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Got {
    received: AtomicU64,
    duplicates: AtomicU64,
    reordered: AtomicU64,
    jitter_ns: AtomicU64,
    /// Datagrams that its sender has sent.
    sent: AtomicU64,
    /// Its sender has stopped.
    over: AtomicBool,
}

/// What all ends share.
#[derive(Debug)]
struct Work {
    job: Job,
    datagrams: Datagrams,
    shared: Shared,
    pairs: Vec<Pair>,
    senders: Vec<Count>,
    receivers: Vec<Count>,
    got: Vec<Got>,
}

/// The whole trial, from its settings to its result.
///
/// # Errors
/// See [`crate::engine::load::talk::Stopped`].
pub fn conduct(mut job: Job, sender: Sender<Event>, talk: &mut Talk<'_>) -> Conducted {
    let datagrams = job.datagrams.unwrap_or_default();
    check_room(&job)?;
    let Wire { made: pairs, notes, cpus, .. } = wire::over(&job, move |job, ours, peer| {
        let ends = |index| if job.comes_in(index) { (peer, ours) } else { (ours, peer) };
        (0..job.streams).map(|index| pair(job, datagrams, ends(index), job.link(index))).collect()
    })?;
    job.cpus = cpus;
    let shared = Shared::new(job.streams, 0, true, sender).warming_up(job.warm_up_ns);
    let streams = job.streams;
    let work = Arc::new(Work {
        shared,
        datagrams,
        pairs,
        senders: (0..streams).map(|_| Count::default()).collect(),
        receivers: (0..streams).map(|_| Count::default()).collect(),
        got: (0..streams).map(|_| Got::default()).collect(),
        job,
    });
    let (watched, yields, series) = course::run(&work, None, Prepared::default(), talk)?;
    let mut result =
        super::outcome::gather(&work.job, &work.shared, watched, &yields, series, notes);
    result.notes.extend(work.said(&result));
    Ok(Message::Result(Box::new(result)))
}

fn check_room(job: &Job) -> Result<(), Error> {
    const BUFFERS_BYTES: u64 = 4 << 20;
    let host = Host::live();
    room::check_threads(&host, 2 * job.streams)?;
    room::check_memory(&host, job.streams, 2 * room::THREAD_BYTES + BUFFERS_BYTES)?;
    room::check_descriptors(2 * job.streams as u64, "this load", "lower streams")
}

/// Makes the two sockets of a stream.
fn pair(
    job: &Job,
    datagrams: Datagrams,
    (from, to): (&End, &End),
    link: usize,
) -> Result<Pair, Error> {
    let failed =
        |what: &'static str| move |why: io::Error| Error::Failed(format!("cannot {what}: {why}"));
    to.enter()?;
    let receiver = UdpSocket::bind((to.address(link), 0)).map_err(failed("bind a socket"))?;
    from.enter()?;
    let sender = UdpSocket::bind((from.address(link), 0)).map_err(failed("bind a socket"))?;
    let address = |socket: &UdpSocket| socket.local_addr().map_err(failed("bind a socket"));
    sender.connect(address(&receiver)?).map_err(failed("connect"))?;
    receiver.connect(address(&sender)?).map_err(failed("connect"))?;
    super::wire::buffers(job, &sender, &receiver)?;
    let patience = Some(std::time::Duration::from_millis(50));
    receiver.set_read_timeout(patience).map_err(failed("set SO_RCVTIMEO"))?;
    sender.set_write_timeout(Some(wire::SILENCE_MAX)).map_err(failed("set SO_SNDTIMEO"))?;
    socket::stamp(&receiver).map_err(failed("set SO_TIMESTAMPNS"))?;
    let unsupported = |what: &'static str, instead: &'static str| {
        move |why: io::Error| Error::Unsupported(format!("cannot {what}: {why}; {instead}"))
    };
    if datagrams.segmented {
        let what = "have the kernel cut datagrams (UDP_SEGMENT, Linux 4.18)";
        let instead = "udp-segmentation=false sends each by itself";
        socket::segment(&sender, datagrams.bytes).map_err(unsupported(what, instead))?;
    }
    if datagrams.coalesced {
        let what = "have the kernel join datagrams (UDP_GRO, Linux 5.0)";
        let instead = "udp-coalescing=false takes each by itself";
        socket::coalesce(&receiver).map_err(unsupported(what, instead))?;
    }
    Ok(Pair { sender, receiver })
}

impl Ends for Work {
    type Yield = Yield;

    fn job(&self) -> &Job {
        &self.job
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }

    fn send(&self, index: usize) -> Result<Yield, Broken> {
        let sent = carry(&self.shared, &self.senders[index], |wait| self.send_all(index, wait));
        self.got[index].over.store(true, Relaxed);
        sent
    }

    fn receive(&self, index: usize) -> Result<Yield, Broken> {
        let got = carry(&self.shared, &self.receivers[index], |wait| self.receive_all(index, wait));
        self.shared.tell(Event::Drained);
        got
    }

    fn columns(&self) -> (&'static str, Vec<(String, Kind)>) {
        let mut columns: Vec<(String, Kind)> =
            datagrams::COLUMNS.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        if !self.datagrams.coalesced {
            columns.push((datagrams::SOCKET_DROPPED.to_owned(), Kind::Counter));
        }
        for link in 1..=self.links() {
            columns.push((datagrams::of_link(link), Kind::Counter));
        }
        columns.extend(self.job.columns_of_both());
        (datagrams::SOURCE, columns)
    }

    fn row(&self) -> Vec<u64> {
        let of = |counter: fn(&Got) -> &AtomicU64| -> u64 {
            self.got.iter().map(|got| counter(got).load(Relaxed)).sum()
        };
        let mut row = vec![
            self.senders.iter().map(|count| count.bytes.load(Relaxed)).sum(),
            self.senders.iter().map(Count::cpu_ns).sum(),
            self.receivers.iter().map(Count::cpu_ns).sum(),
            of(|got| &got.sent),
            of(|got| &got.received),
            of(|got| &got.duplicates),
            of(|got| &got.reordered),
            of(|got| &got.jitter_ns) / self.got.len().max(1) as u64,
        ];
        row.extend(self.dropped());
        let links = self.links();
        let mut bytes = vec![0; links];
        for (index, cell) in self.shared.cells.iter().enumerate() {
            if let Some(sum) = bytes.get_mut(self.job.link(index)) {
                *sum += cell.read_bytes.load(Relaxed);
            }
        }
        row.extend(bytes);
        row.extend(self.job.row_of_both(&self.shared));
        row
    }
}

impl Work {
    /// Datagrams that found a receiver's socket full; `None` where it takes several as one, of
    /// which the kernel counts one.
    fn dropped(&self) -> Option<u64> {
        let of = |pair: &Pair| socket::dropped(&pair.receiver).ok();
        (!self.datagrams.coalesced).then(|| self.pairs.iter().filter_map(of).sum())
    }

    /// Links that have figures of their own.
    fn links(&self) -> usize {
        if self.job.interfaces > 1 { self.job.interfaces } else { 0 }
    }

    fn send_all(&self, index: usize, wait: &dyn Fn() -> bool) -> Result<u64, Broken> {
        // These timers are what paces: 50 us late by default.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let (count, socket) = (&self.senders[index], &self.pairs[index].sender);
        let Datagrams { bytes: each, segmented, .. } = self.datagrams;
        let most = Outgoing::most(each, segmented);
        let at_once = Pace::at_once(self.job.pacing, each, most);
        let body = body(self.job.seed ^ (index as u64) << 32, each - HEADER_BYTES);
        let mut outgoing = Outgoing::new(at_once, body, segmented);
        if !wait() {
            return Ok(0);
        }
        let mut pace = self.job.pacing.map(|rate| Pace::new(rate, monotonic_ns()));
        let (mut number, mut bytes) = (0, 0);
        while self.shared.phase() != Phase::Stop {
            if let Some(pace) = &pace {
                let now_ns = monotonic_ns();
                if pace.due_ns() > now_ns {
                    // No sleep is longer than what the trial may have to stop in.
                    sleep_until(pace.due_ns().min(now_ns + SILENCE_NS / 10));
                    continue;
                }
            }
            outgoing.number(number, unix_ns());
            self.hand_over(&mut outgoing, socket)?;
            number += outgoing.count() as u64;
            bytes += (outgoing.count() * each) as u64;
            if let Some(pace) = &mut pace {
                pace.went(outgoing.count() * each, monotonic_ns());
            }
            count.bytes.store(bytes, Relaxed);
            self.got[index].sent.store(number, Relaxed);
        }
        Ok(bytes)
    }

    /// Hands over all messages of a call, however many the kernel takes at once.
    fn hand_over(&self, outgoing: &mut Outgoing, socket: &UdpSocket) -> Result<(), Broken> {
        let mut gone = 0;
        while gone < outgoing.messages() {
            match outgoing.send(socket, gone) {
                Ok(went) => gone += went,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(self.refused(why)),
            }
        }
        Ok(())
    }

    fn refused(&self, why: io::Error) -> Broken {
        let too_long = matches!(why.raw_os_error(), Some(libc::EMSGSIZE | libc::EINVAL));
        match (too_long, self.datagrams.segmented) {
            (true, true) => (
                Failure::Unsupported,
                format!(
                    "cannot have the kernel cut datagrams of {} bytes: {why}; with \
                     udp-segmentation=true each fits into one packet of the MTU: lower \
                     datagram-size, or raise mtu",
                    self.datagrams.bytes
                ),
            ),
            _ => broken("send a datagram")(why),
        }
    }

    fn receive_all(&self, index: usize, wait: &dyn Fn() -> bool) -> Result<u64, Broken> {
        let (socket, got) = (&self.pairs[index].receiver, &self.got[index]);
        let Datagrams { bytes: each, coalesced, .. } = self.datagrams;
        let mut incoming = Incoming::new(each, coalesced);
        let mut account = Account::default();
        let mut tally = Tally::new(&self.shared, self.job.warm_up_ns, index, each as u64);
        if !wait() {
            return Ok(0);
        }
        let (mut bytes, mut last_ns) = (0, 0);
        loop {
            match incoming.receive(socket) {
                Ok(came) => {
                    for place in 0..came {
                        bytes += take(&incoming, place, &mut account);
                    }
                    tally.count(bytes);
                    got.received.store(account.received, Relaxed);
                    got.duplicates.store(account.duplicates, Relaxed);
                    got.reordered.store(account.reordered, Relaxed);
                    got.jitter_ns.store(account.jitter_ns as u64, Relaxed);
                    last_ns = 0;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(why) => return Err(broken("receive a datagram")(why)),
            }
            if got.over.load(Relaxed) {
                let now_ns = monotonic_ns();
                if last_ns == 0 {
                    last_ns = now_ns;
                }
                let all = account.received >= got.sent.load(Relaxed);
                if all || now_ns - last_ns > SILENCE_NS {
                    return Ok(bytes);
                }
            }
        }
    }

    /// What whoever reads the figures must know.
    fn said(&self, result: &LoadResult) -> Vec<Note> {
        let sum = |of: &dyn Fn(&Got) -> u64| self.got.iter().map(of).sum::<u64>();
        let sent = sum(&|got| got.sent.load(Relaxed));
        let lost = sent.saturating_sub(sum(&|got| got.received.load(Relaxed)));
        let mut notes = Vec::new();
        if lost > 0 {
            let share = value::percent(lost as f64 / sent as f64);
            let (lost_count, sent) = (value::count(lost), value::count(sent));
            let place = self.dropped().map_or(String::new(), |dropped| {
                let dropped = value::count(dropped.min(lost));
                format!(
                    ": {dropped} found the receiver's socket full, the others were lost on the way"
                )
            });
            let text = format!("{lost_count} of {sent} datagrams did not arrive ({share}){place}");
            notes.push(Note::new("datagrams-lost", text));
        }
        let bytes: u64 = self.senders.iter().map(|count| count.bytes.load(Relaxed)).sum();
        let asked = self.job.pacing.map(|rate| rate as f64 * self.job.streams as f64);
        let ended_ns = self.shared.marks().ended.map_or(0, |(at_ns, _)| at_ns);
        let seconds = ended_ns.saturating_sub(result.started_monotonic_ns) as f64 / 1e9;
        if let (Some(asked), true) = (asked, seconds > 0.0) {
            let share = bytes as f64 / seconds / asked;
            if share < KEPT {
                let text = format!(
                    "the senders kept {} of the rate that pacing asks for: more than that they, \
                     or the link that they send into, could not do",
                    value::percent(share)
                );
                notes.push(Note::new("rate-not-kept", text));
            }
        }
        notes
    }
}

/// Counts what came in one place; its bytes.
#[inline]
fn take(incoming: &Incoming, place: usize, account: &mut Account) -> u64 {
    let came = incoming.came(place);
    for datagram in came.bytes.chunks(came.each.max(1)) {
        let Some((number, rest)) = datagram.split_first_chunk::<8>() else { continue };
        let Some((sent_ns, _)) = rest.split_first_chunk::<8>() else { continue };
        let transit_ns = (came.at_ns as i64).wrapping_sub(i64::from_le_bytes(*sent_ns));
        account.arrived(u64::from_le_bytes(*number), transit_ns);
    }
    came.bytes.len() as u64
}

/// What each datagram holds besides its header: bytes that no compressor shrinks.
fn body(seed: u64, bytes: usize) -> Box<[u8]> {
    let mut body = vec![0; bytes];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut body);
    body.into()
}
