//! Datagrams from memory to memory: numbered and timed by the sender, counted by the receiver.
//!
//! A sender hands over many datagrams by one call, all with the same body and each with a header of
//! its own, at a rate that `pace` keeps. A receiver takes what is there, with the time at which the
//! kernel got each, and holds numbers and times in an `account`. When the clock stops the sender
//! stops, and the receiver goes on until it has everything or nothing has come for half a second:
//! what is missing then is lost. With `verify` each is a block that is held against its number
//! (`checked`).
//!
//! Between two machines (`apart`) each does one half: both meet by `meet`, and the numbers of a
//! trial begin at one that was drawn for it.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::half::HalfLoad;
use super::job::{Datagrams, HEADER_BYTES, NetJob};
use super::runner::{self, LocalEnds, StreamEnds};
use super::wire::{self, NetworkEnd, Wire};
use super::work::{self, EndCounters, NetEndResult, ReceiverTally, broken, carry};
use crate::engine::Error;
use crate::engine::load::control::{LoadControl, LoadEvent, LoadPhase};
use crate::engine::load::protocol::{Failure, LoadFailure, Prepared, WorkerMessage};
use crate::engine::load::room;
use crate::engine::load::talk::{ConductResult, ParentTalk};
use base::value;
use experiment::measurement::{Note, datagrams};
use facts::counters::series::ColumnKind;
use host::sys::Host;
use host::sys::clock::{monotonic_ns, sleep_until, unix_ns};

mod account;
mod apart;
mod checked;
mod meet;
mod pace;
mod said;
mod socket;
#[cfg(test)]
mod tests;

use account::DatagramAccount;
pub use apart::{far, near};
use checked::DatagramBlocks;
use pace::Pace;
use socket::{IncomingDatagrams, OutgoingDatagrams};

/// Nothing has come for so long after the last was sent: nothing more will, ns.
const SILENCE_NS: u64 = 500_000_000;
/// No load has its last datagram so long after its end, ns: a sender on another machine is gone, or
/// does not stop.
const STOPPING_MAX_NS: u64 = 90_000_000_000;
/// The first datagram from another machine has come by then, or something is in the way, ns.
const FIRST_MAX_NS: u64 = 10_000_000_000;
/// More than any trial sends over one stream: 2^42 of them are a million a second for 50 days. A
/// stranger's number is that of a datagram of ours by a chance of 2^-22.
const DATAGRAMS_MAX: u64 = 1 << 42;

/// What one receiver counts, alone on its cache lines, besides bytes and datagrams.
#[derive(Debug, Default)]
#[repr(align(128))]
struct UdpReceiverCounters {
    received: AtomicU64,
    duplicates: AtomicU64,
    reordered: AtomicU64,
    jitter_ns: AtomicU64,
    /// Datagrams that came to it and are none of its stream's.
    strange: AtomicU64,
    /// Datagrams that its sender has sent.
    sent: AtomicU64,
    /// Its sender has stopped.
    over: AtomicBool,
}

/// A load of datagrams: what the ends of all its streams share.
#[derive(Debug)]
pub struct UdpLoad {
    job: NetJob,
    datagrams: Datagrams,
    shared: LoadControl,
    /// One a stream; none where the senders are on another machine.
    outgoing: Vec<UdpSocket>,
    /// One a stream; none where the receivers are on another machine.
    incoming: Vec<UdpSocket>,
    /// What the numbers of each stream's datagrams begin at.
    first: Vec<u64>,
    senders: Vec<EndCounters>,
    receivers: Vec<EndCounters>,
    got: Vec<UdpReceiverCounters>,
}

/// The whole trial, from its settings to its result.
///
/// # Errors
/// See [`crate::engine::load::talk::NoLoadResult`].
pub fn conduct(
    mut job: NetJob,
    sender: Sender<LoadEvent>,
    talk: &mut ParentTalk<'_>,
) -> ConductResult {
    let datagrams = job.datagrams.unwrap_or_default();
    check_room(&job)?;
    let Wire { made: pairs, notes, cpus, .. } = wire::over(&job, move |job, ours, peer| {
        let ends = |index| if job.comes_in(index) { (peer, ours) } else { (ours, peer) };
        (0..job.streams).map(|index| pair(job, datagrams, ends(index), job.link(index))).collect()
    })?;
    job.cpus = cpus;
    let shared = LoadControl::new(job.streams, 0, true, sender).warming_up(job.warm_up_ns);
    let drawn = job.seed.to_string();
    let first = (0..job.streams).map(|stream| meet::first_number(&drawn, stream)).collect();
    let work = Arc::new(UdpLoad::new(job, shared, pairs.into_iter().unzip(), first));
    let (watched, yields, series) =
        runner::run(&work, (LocalEnds::Both, None), Prepared::default(), talk)?;
    let mut result =
        super::outcome::gather(&work.job, &work.shared, watched, &yields, series, notes);
    result.notes.extend(said::datagram_notes(
        &work.job,
        &result.counters,
        yields.iter().step_by(2),
    ));
    result.notes.extend(work.notes());
    Ok(WorkerMessage::Result(Box::new(result)))
}

fn check_room(job: &NetJob) -> Result<(), Error> {
    const BUFFERS_BYTES: u64 = 4 << 20;
    let host = Host::live();
    room::check_threads(&host, 2 * job.streams)?;
    room::check_memory(&host, job.streams, 2 * room::THREAD_BYTES + BUFFERS_BYTES)?;
    room::check_descriptors(2 * job.streams as u64, "this load", "lower streams")
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |why| Error::Failed(format!("cannot {what}: {why}"))
}

/// Makes the two sockets of a stream, connected to each other: that of the sender first.
fn pair(
    job: &NetJob,
    datagrams: Datagrams,
    (from, to): (&NetworkEnd, &NetworkEnd),
    link: usize,
) -> Result<(UdpSocket, UdpSocket), Error> {
    to.enter()?;
    let receiver = UdpSocket::bind((to.address(link), 0)).map_err(failed("bind a socket"))?;
    from.enter()?;
    let sender = UdpSocket::bind((from.address(link), 0)).map_err(failed("bind a socket"))?;
    let address = |socket: &UdpSocket| socket.local_addr().map_err(failed("bind a socket"));
    sender.connect(address(&receiver)?).map_err(failed("connect"))?;
    receiver.connect(address(&sender)?).map_err(failed("connect"))?;
    prepare_sender(job, datagrams, &sender)?;
    prepare_receiver(job, datagrams, &receiver)?;
    Ok((sender, receiver))
}

/// Makes a socket ready to send.
fn prepare_sender(job: &NetJob, datagrams: Datagrams, sender: &UdpSocket) -> Result<(), Error> {
    wire::send_buffer(job, sender)?;
    sender.set_write_timeout(Some(wire::SILENCE_MAX)).map_err(failed("set SO_SNDTIMEO"))?;
    if !datagrams.segmented {
        return Ok(());
    }
    socket::segment(sender, datagrams.bytes).map_err(|why| {
        Error::Unsupported(format!(
            "cannot have the kernel cut datagrams (UDP_SEGMENT, Linux 4.18): {why}; \
             udp-segmentation=false sends each by itself"
        ))
    })
}

/// Makes a socket ready to receive.
fn prepare_receiver(job: &NetJob, datagrams: Datagrams, receiver: &UdpSocket) -> Result<(), Error> {
    wire::receive_buffer(job, receiver)?;
    let patience = Some(std::time::Duration::from_millis(50));
    receiver.set_read_timeout(patience).map_err(failed("set SO_RCVTIMEO"))?;
    socket::stamp(receiver).map_err(failed("set SO_TIMESTAMPNS"))?;
    if !datagrams.coalesced {
        return Ok(());
    }
    socket::coalesce(receiver).map_err(|why| {
        Error::Unsupported(format!(
            "cannot have the kernel join datagrams (UDP_GRO, Linux 5.0): {why}; \
             udp-coalescing=false takes each by itself"
        ))
    })
}

impl StreamEnds for UdpLoad {
    type Yield = NetEndResult;

    fn job(&self) -> &NetJob {
        &self.job
    }

    fn shared(&self) -> &LoadControl {
        &self.shared
    }

    fn send(&self, index: usize) -> Result<NetEndResult, LoadFailure> {
        let sent = carry(&self.shared, &self.senders[index], |wait| self.send_all(index, wait));
        self.got[index].over.store(true, Release);
        sent
    }

    fn receive(&self, index: usize) -> Result<NetEndResult, LoadFailure> {
        let got = carry(&self.shared, &self.receivers[index], |wait| self.receive_all(index, wait));
        self.shared.tell(LoadEvent::Drained);
        got
    }

    fn columns(&self) -> (&'static str, Vec<(String, ColumnKind)>) {
        let mut columns: Vec<(String, ColumnKind)> =
            datagrams::COLUMNS.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        if !self.datagrams.coalesced {
            columns.push((datagrams::SOCKET_DROPPED.to_owned(), ColumnKind::Counter));
        }
        for link in 1..=self.links() {
            columns.push((datagrams::of_link(link), ColumnKind::Counter));
        }
        columns.extend(self.job.columns_of_both());
        (datagrams::SOURCE, columns)
    }

    fn row(&self) -> Vec<u64> {
        let of = |counter: fn(&UdpReceiverCounters) -> &AtomicU64| -> u64 {
            self.got.iter().map(|got| counter(got).load(Relaxed)).sum()
        };
        let mut row = vec![
            self.senders.iter().map(|count| count.bytes.load(Relaxed)).sum(),
            self.senders.iter().map(EndCounters::cpu_ns).sum(),
            self.receivers.iter().map(EndCounters::cpu_ns).sum(),
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

impl HalfLoad for UdpLoad {
    fn notes(&self) -> Vec<Note> {
        let strange: u64 = self.got.iter().map(|got| got.strange.load(Relaxed)).sum();
        let text = format!(
            "{} came in that were none of this trial, and are in no figure",
            value::counted(strange, "datagram")
        );
        let strange = (strange > 0).then(|| Note::new("strange-datagrams", text));
        // The end that checked says so.
        let checked =
            DatagramBlocks::for_stream(&self.job, 0).filter(|_| !self.incoming.is_empty());
        strange.into_iter().chain(checked.map(|blocks| blocks.said())).collect()
    }

    /// Nobody waits long for one.
    fn shut(&self) {}

    fn moved_bytes(&self) -> u64 {
        let sent: u64 = self.senders.iter().map(|count| count.bytes.load(Relaxed)).sum();
        sent.max(self.shared.total().read_bytes)
    }

    fn sent(&self) -> Option<Vec<u64>> {
        let over = self.got.iter().all(|got| got.over.load(Acquire));
        let apart = self.incoming.is_empty();
        let bytes = || self.senders.iter().map(|count| count.bytes.load(Relaxed)).collect();
        (apart && over).then(bytes)
    }

    fn were_sent(&self, bytes: &[u64]) {
        if !self.outgoing.is_empty() {
            return;
        }
        for (got, bytes) in self.got.iter().zip(bytes) {
            got.sent.store(bytes / self.datagrams.bytes as u64, Relaxed);
            got.over.store(true, Release);
        }
    }
}

/// How long a receiver has waited since the end of its load, monotonic clock, ns; 0 before.
#[derive(Default)]
struct DrainWait {
    stopped_ns: u64,
    last_ns: u64,
}

impl UdpLoad {
    /// With these sockets out and in.
    fn new(
        job: NetJob,
        shared: LoadControl,
        (outgoing, incoming): (Vec<UdpSocket>, Vec<UdpSocket>),
        first: Vec<u64>,
    ) -> UdpLoad {
        let counts = || (0..job.streams).map(|_| EndCounters::default()).collect();
        UdpLoad {
            datagrams: job.datagrams.unwrap_or_default(),
            senders: counts(),
            receivers: counts(),
            got: (0..job.streams).map(|_| UdpReceiverCounters::default()).collect(),
            shared,
            outgoing,
            incoming,
            first,
            job,
        }
    }

    /// Datagrams that found a receiver's socket full; `None` where it takes several as one, of
    /// which the kernel counts one.
    fn dropped(&self) -> Option<u64> {
        let of = |receiver: &UdpSocket| socket::dropped(receiver).ok();
        (!self.datagrams.coalesced).then(|| self.incoming.iter().filter_map(of).sum())
    }

    /// Links that have figures of their own.
    fn links(&self) -> usize {
        if self.job.interfaces > 1 { self.job.interfaces } else { 0 }
    }

    fn send_all(&self, index: usize, wait: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
        // These timers are what paces: 50 us late by default.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let (count, socket) = (&self.senders[index], &self.outgoing[index]);
        let Datagrams { bytes: each, segmented, .. } = self.datagrams;
        let most = OutgoingDatagrams::most(each, segmented);
        let at_once = Pace::at_once(self.job.pacing, each, most);
        let blocks = DatagramBlocks::for_stream(&self.job, index);
        let body_bytes = each - HEADER_BYTES;
        let bodies = match blocks {
            Some(_) => vec![0; at_once * body_bytes],
            None => body(self.job.seed ^ (index as u64) << 32, body_bytes),
        };
        let mut outgoing = OutgoingDatagrams::new(at_once, bodies, blocks.is_some(), segmented);
        if !wait() {
            return Ok(0);
        }
        let mut pace = self.job.pacing.map(|rate| Pace::new(rate, monotonic_ns()));
        let (mut number, mut bytes) = (0, 0);
        let first = self.first[index];
        while self.shared.phase() != LoadPhase::Stop {
            if let Some(pace) = &pace {
                let now_ns = monotonic_ns();
                if pace.due_ns() > now_ns {
                    // No sleep is longer than what the trial may have to stop in.
                    sleep_until(pace.due_ns().min(now_ns + SILENCE_NS / 10));
                    continue;
                }
            }
            let now_ns = unix_ns();
            outgoing.number(first + number, now_ns);
            if let Some(blocks) = &blocks {
                blocks.make(outgoing.bodies(), number, now_ns);
            }
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
    fn hand_over(
        &self,
        outgoing: &mut OutgoingDatagrams,
        socket: &UdpSocket,
    ) -> Result<(), LoadFailure> {
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

    fn refused(&self, why: io::Error) -> LoadFailure {
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

    fn receive_all(&self, index: usize, wait: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
        let (socket, got) = (&self.incoming[index], &self.got[index]);
        let due = (self.first[index], DatagramBlocks::for_stream(&self.job, index));
        let Datagrams { bytes: each, coalesced, .. } = self.datagrams;
        let mut incoming = IncomingDatagrams::new(each, coalesced);
        let mut account = DatagramAccount::default();
        let mut tally = ReceiverTally::new(&self.shared, self.job.warm_up_ns, index, each as u64);
        if !wait() {
            return Ok(0);
        }
        let (mut bytes, mut waiting) = (0, DrainWait::default());
        loop {
            let mut came = 0;
            match incoming.receive(socket) {
                Ok(count) => {
                    came = count;
                    for place in 0..count {
                        bytes += take(&incoming, place, due, &mut account, got)?;
                    }
                    tally.count(bytes);
                    got.received.store(account.received, Relaxed);
                    got.duplicates.store(account.duplicates, Relaxed);
                    got.reordered.store(account.reordered, Relaxed);
                    got.jitter_ns.store(account.jitter_ns as u64, Relaxed);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    if bytes == 0 && self.is_late() {
                        return Err(self.nothing(socket));
                    }
                }
                Err(why) => return Err(broken("receive a datagram")(why)),
            }
            if self.shared.phase() == LoadPhase::Stop
                && self.is_through(got, account.received, came > 0, &mut waiting)?
            {
                let none = account.received == 0 && got.sent.load(Relaxed) > 0;
                let came = !(none && self.outgoing.is_empty());
                return if came { Ok(bytes) } else { Err(self.nothing(socket)) };
            }
        }
    }

    /// Whether a receiver has all that was sent, or no more will come; asked after the end alone.
    #[cold]
    fn is_through(
        &self,
        got: &UdpReceiverCounters,
        received: u64,
        came: bool,
        waiting: &mut DrainWait,
    ) -> Result<bool, LoadFailure> {
        let now_ns = monotonic_ns();
        if waiting.stopped_ns == 0 {
            waiting.stopped_ns = now_ns;
        }
        let over = got.over.load(Acquire);
        if came || !over || waiting.last_ns == 0 {
            waiting.last_ns = now_ns;
        }
        let long = now_ns - waiting.stopped_ns > STOPPING_MAX_NS;
        if over {
            let all = received >= got.sent.load(Relaxed);
            return Ok(all || long || now_ns - waiting.last_ns > SILENCE_NS);
        }
        if long {
            let what = "the end that sends did not say how many datagrams it had sent";
            return Err((Failure::Failed, what.to_owned()));
        }
        // Whoever sends may be gone.
        Ok(!came && self.outgoing.is_empty() && self.shared.marks().failure.is_some())
    }

    /// Whether something from another machine should have come by now.
    fn is_late(&self) -> bool {
        let few = self.job.pacing.map_or(0, |rate| {
            (self.datagrams.bytes as u64).saturating_mul(3_000_000_000) / rate.max(1)
        });
        let since_ns = self.shared.released_ns.load(Relaxed);
        self.outgoing.is_empty()
            && self.shared.phase() != LoadPhase::Stop
            && monotonic_ns().saturating_sub(since_ns) > FIRST_MAX_NS.max(few)
    }

    /// Both ends met, and nothing came.
    fn nothing(&self, socket: &UdpSocket) -> LoadFailure {
        let name = |address: io::Result<std::net::SocketAddr>| {
            address.map_or_else(|why| why.to_string(), |address| address.to_string())
        };
        let (from, to) = (name(socket.peer_addr()), name(socket.local_addr()));
        let bytes = self.datagrams.bytes;
        // A small one came this way when both met, unless this end is the one that has called.
        let instead = match self.job.reversed {
            true => "let UDP from there in through this machine's firewall, or lower datagram-size",
            false => "those with which both ends met are smaller and came: lower datagram-size",
        };
        let what = format!(
            "no datagram of {bytes} bytes came from {from} to {to} (UDP): something on the way \
             drops them; {instead}"
        );
        (Failure::Failed, what)
    }
}

/// Counts what came in one place; its bytes. `due` is what the numbers begin at, and what is behind
/// them where that is checked.
///
/// # Errors
/// With what is wrong with the first datagram that is not as it was sent.
#[inline]
fn take(
    incoming: &IncomingDatagrams,
    place: usize,
    (first, blocks): (u64, Option<DatagramBlocks>),
    account: &mut DatagramAccount,
    got: &UdpReceiverCounters,
) -> Result<u64, LoadFailure> {
    let came = incoming.came(place);
    let mut bytes = 0;
    for datagram in came.bytes.chunks(came.each.max(1)) {
        let head = datagram.split_first_chunk::<8>().filter(|_| datagram.len() == incoming.whole());
        let number = head.map(|(number, _)| u64::from_le_bytes(*number).wrapping_sub(first));
        let sent_ns = head.and_then(|(_, rest)| rest.first_chunk::<8>());
        let (Some(number), Some(sent_ns)) = (number.filter(|it| *it < DATAGRAMS_MAX), sent_ns)
        else {
            strange(datagram, (number, blocks), got)?;
            continue;
        };
        if let Some(blocks) = blocks.filter(|blocks| !blocks.is_right(datagram, number)) {
            return Err(blocks.differs(datagram, number));
        }
        let transit_ns = (came.at_ns as i64).wrapping_sub(i64::from_le_bytes(*sent_ns));
        account.arrived(number, transit_ns);
        bytes += datagram.len() as u64;
    }
    Ok(bytes)
}

/// Counts what is none of this stream's, unless it is a greeting that was on its way still. One of
/// this stream by its block has a number that is wrong.
#[cold]
fn strange(
    datagram: &[u8],
    (number, blocks): (Option<u64>, Option<DatagramBlocks>),
    got: &UdpReceiverCounters,
) -> Result<(), LoadFailure> {
    if let (Some(number), Some(blocks)) = (number, blocks)
        && blocks.named(datagram).is_some()
    {
        return Err(blocks.differs(datagram, number));
    }
    if !meet::is_greeting(datagram) {
        work::add(&got.strange, 1);
    }
    Ok(())
}

/// What each datagram holds besides its header: bytes that no compressor shrinks.
fn body(seed: u64, bytes: usize) -> Vec<u8> {
    let mut body = vec![0; bytes];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut body);
    body
}
