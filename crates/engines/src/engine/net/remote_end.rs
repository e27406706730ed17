//! The far end of a trial on two machines: is called, and does its half of the near one's trial.
//! Settings of this machine are the business of another talk ([`crate::fleet::setting`]).

use std::any::Any;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::due::{ExpectedFiles, WrongBlock, WrongBlockListener};
use super::half::HalfLoad;
use super::job::NetJob;
use super::peer_protocol::{HalfResult, PeerNotice, PeerOrder, PeerWord};
use super::runner::{self, LocalEnds, OtherEnd, RunningStreams};
use super::work::{NetLoad, lock};
use super::{asked, needs, outcome, place, udp, wire};
use crate::engine::Error;
use crate::engine::clients::settings;
use crate::engine::file::job::format;
use crate::engine::load::control::{LoadControl, LoadEvent, LoadPhase};
use crate::engine::load::protocol::{Failure, LoadResult, Prepared, WorkerCommand, WorkerMessage};
use crate::engine::load::supervise::limit_ns;
use crate::engine::load::talk::{self, NoLoadResult, ParentTalk};
use crate::fleet::setting::{self, Changes};
use crate::fleet::{Bounds, LineReader, LineWriter, Session, Tick};
use base::value::{self, Stop};
use facts::counters::series::Series;
use host::counters::Sampler;
use host::sys::Host;
use host::sys::clock::monotonic_ns;

/// Who was let in and orders nothing for so long is sent away.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// All streams are there by then.
const STREAMS_MAX: Duration = Duration::from_secs(20);
/// How much longer than its limit a trial may take, with what comes before it and after.
const SLACK: Duration = Duration::from_secs(150);
/// How often the bytes that were allowed are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Datagrams go no longer to somebody who has said nothing for so long, ns: he may be gone.
const SILENCE_MAX_NS: u64 = 15_000_000_000;
/// How often that is looked at.
const LOOK_FOR: Duration = Duration::from_secs(1);

/// Is told how much was sent of each stream, bytes.
type SentListener = Box<dyn Fn(&[u64]) + Send>;

/// What the thread that hears the caller and the trial share.
#[derive(Default)]
struct CallerState {
    /// When he said something last, monotonic clock, ns.
    heard_ns: AtomicU64,
    /// The trial that runs.
    listening: Mutex<Option<SentListener>>,
}

impl CallerState {
    /// Somebody said something; whether it was for the trial alone.
    fn hears(&self, line: &str) -> bool {
        self.heard_ns.store(monotonic_ns(), Relaxed);
        match serde_json::from_str(line) {
            Ok(PeerNotice::Sent(bytes)) => {
                if let Some(listening) = lock(&self.listening).as_ref() {
                    listening(&bytes);
                }
                true
            }
            Ok(PeerNotice::Here {}) => true,
            Err(_) => false,
        }
    }

    fn is_silent(&self) -> bool {
        monotonic_ns().saturating_sub(self.heard_ns.load(Relaxed)) > SILENCE_MAX_NS
    }
}

/// Does what this caller wants, within `bounds`, by `changes` where settings of this machine may be
/// changed; `tell` is told of each trial in a line.
pub fn attend(
    mut session: Session,
    bounds: &Bounds,
    changes: Option<&dyn Changes>,
    tell: &dyn Fn(&str),
) {
    if session.purpose.settings {
        // Nobody is let in for it where nothing may be changed.
        if let Some(changes) = changes {
            setting::keep(session, changes, tell);
        }
        return;
    }
    let Some(link) = session.link.take() else { return };
    let (sender, events) = channel();
    let ear = Arc::new(CallerState::default());
    let (voice, lines, own) = (session.voice.clone(), sender.clone(), ear.clone());
    let heard = std::thread::Builder::new().name("heard".to_owned());
    if heard.spawn(move || listen(link, &voice, &lines, &own)).is_err() {
        return;
    }
    loop {
        session.voice.expect_within(IDLE_MAX);
        let line = match events.recv() {
            Ok(LoadEvent::Input(Some(line))) => line,
            Ok(LoadEvent::Input(None)) | Err(_) => return,
            Ok(_) => continue,
        };
        if WorkerCommand::parse(&line).is_some() {
            // Of a trial that failed before.
            continue;
        }
        let Ok(order) = serde_json::from_str::<PeerOrder>(&line) else { return };
        let here = OrderContext { session: &session, bounds, ear: &ear };
        if !trial(&here, &order, (&sender, &events), tell) {
            return;
        }
    }
}

/// Passes lines on, and answers what is asked of the clock at once.
fn listen(mut link: LineReader, voice: &LineWriter, events: &Sender<LoadEvent>, ear: &CallerState) {
    while let Ok(Some(line)) = link.line() {
        if let Ok(tick) = serde_json::from_str::<Tick>(&line) {
            if voice.say(&Tick { monotonic_ns: monotonic_ns(), ..tick }).is_err() {
                break;
            }
        } else if !ear.hears(&line) && events.send(LoadEvent::Input(Some(line))).is_err() {
            return;
        }
    }
    let _ = events.send(LoadEvent::Input(None));
}

/// Whose order is carried out, and within what bounds.
struct OrderContext<'a> {
    session: &'a Session,
    bounds: &'a Bounds,
    ear: &'a CallerState,
}

/// One trial; false when the caller is gone.
fn trial(
    here: &OrderContext<'_>,
    order: &PeerOrder,
    events: (&Sender<LoadEvent>, &Receiver<LoadEvent>),
    tell: &dyn Fn(&str),
) -> bool {
    let session = here.session;
    let mut output = session.voice.clone();
    let mut talk = ParentTalk::new(&mut output, events.1);
    // Its connections are open until the caller was told why they will not be.
    let mut kept = None;
    let done = conduct(here, order, events.0.clone(), &mut talk, &mut kept);
    session.shut();
    let caller = session.caller;
    match done {
        Ok(yielded) => {
            let bytes: u64 = yielded.yields.iter().map(|one| one.bytes).sum();
            tell(&format!("{caller}: {} in {} streams", value::bytes(bytes as f64), {
                yielded.yields.len()
            }));
            session.voice.say(&PeerWord::Yielded(Box::new(yielded))).is_ok()
        }
        Err(NoLoadResult::Engine(error)) => {
            let message = talk::failed(error);
            if let WorkerMessage::Failed { what, .. } = &message {
                tell(&format!("{caller}: {what}"));
            }
            talk.say(&message).is_ok()
        }
        Err(NoLoadResult::Parent | NoLoadResult::Mute(_)) => {
            tell(&format!("{caller} hung up in the middle of a trial"));
            false
        }
    }
}

fn conduct(
    here: &OrderContext<'_>,
    order: &PeerOrder,
    sender: Sender<LoadEvent>,
    talk: &mut ParentTalk<'_>,
    kept: &mut Option<Arc<dyn Any>>,
) -> Result<HalfResult, NoLoadResult> {
    let job = allowed(order, here.bounds)?;
    match job.datagrams {
        None => {
            let expected = expected(order, &job, &here.session.voice)?;
            let work = Arc::new(connect(here.session, job, sender)?.expecting(expected));
            *kept = Some(work.clone());
            half(here, &work, talk)
        }
        Some(_) => {
            let work = Arc::new(udp::far(here.session, job, sender)?);
            *kept = Some(work.clone());
            half(here, &work, talk)
        }
    }
}

/// Waits for the connections of all streams.
fn connect(
    session: &Session,
    mut job: NetJob,
    sender: Sender<LoadEvent>,
) -> Result<NetLoad, NoLoadResult> {
    needs::check_room(&job)?;
    let (ticket, come) = session.announce().map_err(|error| Error::Failed(error.to_string()))?;
    session.voice.say(&PeerWord::Ticket(ticket)).map_err(|_| NoLoadResult::Parent)?;
    let streams = streams(&come, job.streams)?;
    session.shut();
    job.cpus = place::cpus(&job, session.here.ip())?;
    let sockets = wire::prepare(&job, streams, |stream| job.comes_in(stream))?;
    if job.both {
        // The near end says when it is over.
        job.stop = Stop::After(job.at_most_ns);
    }
    let cells = if job.both { job.streams / 2 } else { job.streams };
    let shared = LoadControl::new(cells, 0, true, sender).warming_up(job.warm_up_ns);
    Ok(NetLoad::new(job, shared, sockets, None))
}

/// This end's half, once both have met.
fn half<E: HalfLoad>(
    here: &OrderContext<'_>,
    work: &Arc<E>,
    talk: &mut ParentTalk<'_>,
) -> Result<HalfResult, NoLoadResult> {
    let OrderContext { session, bounds, ear } = here;
    let limit = Duration::from_nanos(work.job().at_most_ns).saturating_add(SLACK);
    session.voice.expect_within(limit);
    let sampler = Sampler::start(&Host::live(), std::process::id(), &[]);
    let sampler = sampler.map_err(|error| Error::Failed(error.to_string()))?;
    guard(work, bounds.bytes);
    let own = work.clone();
    *lock(&ear.listening) = Some(Box::new(move |bytes| own.were_sent(bytes)));
    let done = match work.job().reversed {
        true => send(work, limit, ear, talk),
        false => receive(work, &session.voice, talk),
    };
    *lock(&ear.listening) = None;
    // Whatever happened, no thread of this trial goes on.
    work.shared().end();
    let yielded = done?;
    Ok(HalfResult { counters: sampler.stop(0), notes: work.notes(), ..yielded })
}

/// Reads what is to be done, and refuses what this end does not do.
fn allowed(order: &PeerOrder, bounds: &Bounds) -> Result<NetJob, Error> {
    let engine = match order.engine.as_str() {
        super::MEMORY => super::MEMORY,
        super::FILES => super::FILES,
        super::DATAGRAMS => super::DATAGRAMS,
        other => {
            let other: String = other.chars().filter(|c| c.is_alphanumeric()).take(40).collect();
            let what = format!("the other end has no part in the engine `{other}`");
            return Err(Error::Unsupported(what));
        }
    };
    let settings = settings(engine, &order.order);
    let mut job = asked::job(&settings, order.order.seed)?;
    if job.streams > bounds.streams {
        return Err(Error::Unsupported(format!(
            "streams={} are more than the {} that the other end lets in; `brickyard receive \
             --streams {}` there",
            job.streams, bounds.streams, job.streams
        )));
    }
    if limit_ns(&settings) > bounds.trial_ns {
        return Err(Error::Unsupported(format!(
            "a trial may take {} at the other end, and this one up to {}; lower stop and at-most, \
             or `brickyard receive --trial` there",
            value::duration(bounds.trial_ns as f64),
            value::duration(limit_ns(&settings) as f64)
        )));
    }
    // Whoever leads may be gone, or not what he seems.
    job.at_most_ns = limit_ns(&settings);
    Ok(job)
}

/// The connections of all streams, in their order.
fn streams(come: &Receiver<(usize, TcpStream)>, count: usize) -> Result<Vec<TcpStream>, Error> {
    let mut all: Vec<Option<TcpStream>> = (0..count).map(|_| None).collect();
    let until_ns = monotonic_ns() + STREAMS_MAX.as_nanos() as u64;
    for missing in (1..=count).rev() {
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        let Ok((number, socket)) = come.recv_timeout(left) else {
            return Err(Error::Failed(format!(
                "{missing} of {count} streams did not come in within {} s",
                STREAMS_MAX.as_secs()
            )));
        };
        match all.get_mut(number) {
            Some(place @ None) => *place = Some(socket),
            _ => return Err(Error::Failed(format!("stream {number} came in twice, or unasked"))),
        }
    }
    Ok(all.into_iter().flatten().collect())
}

/// Ends a trial that moves more bytes than it may.
fn guard<E: HalfLoad>(work: &Arc<E>, bytes_max: u64) {
    let work = work.clone();
    std::thread::spawn(move || {
        while work.shared().phase() != LoadPhase::Stop {
            if work.moved_bytes() > bytes_max {
                let what = format!(
                    "the {} that a trial may move at the other end are through; `brickyard \
                     receive --bytes` allows more",
                    value::bytes(bytes_max as f64)
                );
                work.shared().fail(Failure::Failed, what);
                return;
            }
            std::thread::sleep(LOOK);
        }
    });
}

/// What is due of the files of the near end, where they are checked.
fn expected(
    order: &PeerOrder,
    job: &NetJob,
    voice: &LineWriter,
) -> Result<Option<ExpectedFiles>, Error> {
    let settings = settings(super::FILES, &order.order);
    let Some(format) = format(&settings).filter(|_| order.engine == super::FILES) else {
        return Ok(None);
    };
    let load = (job.streams, job.message_bytes);
    let written = (format, order.order.campaign);
    let expected = ExpectedFiles::new(
        order.due.clone(),
        load,
        written,
        Box::new(NoticesToLocalEnd(voice.clone())),
    );
    expected.map(Some).map_err(Error::Failed)
}

/// Tells the near end when it must stop, and of blocks that came wrong.
#[derive(Debug)]
struct NoticesToLocalEnd(LineWriter);

impl WrongBlockListener for NoticesToLocalEnd {
    fn hears(&self, wrong: WrongBlock) {
        // One that is gone is noticed by the receivers.
        let _ = self.0.say(&PeerWord::Wrong(wrong));
    }
}

impl OtherEnd for NoticesToLocalEnd {
    fn go(&self) {}

    fn stop(&self) {
        // One that is gone is noticed by the receivers.
        let _ = self.0.say(&PeerWord::Stopping {});
    }
}

fn receive<E: HalfLoad>(
    work: &Arc<E>,
    voice: &LineWriter,
    talk: &mut ParentTalk<'_>,
) -> Result<HalfResult, NoLoadResult> {
    let near: Arc<dyn OtherEnd> = Arc::new(NoticesToLocalEnd(voice.clone()));
    let (job, shared) = (work.job(), work.shared());
    let here = if job.both { LocalEnds::Turns { sends: false } } else { LocalEnds::Receivers };
    let ends = (here, Some(near));
    let (watched, yields, samples) = runner::run(work, ends, Prepared::default(), talk)?;
    let pairs = outcome::of_receivers(&yields, |stream| !(job.both && job.comes_in(stream)));
    let load = outcome::gather(job, shared, watched, &pairs, Series::default(), Vec::new());
    let load = LoadResult { integrity: work.integrity(), ..load };
    Ok(HalfResult { load: Some(load), yields, samples, ..HalfResult::default() })
}

fn send<E: HalfLoad>(
    work: &Arc<E>,
    limit: Duration,
    ear: &CallerState,
    talk: &mut ParentTalk<'_>,
) -> Result<HalfResult, NoLoadResult> {
    let mut running = RunningStreams::senders(work, talk)?;
    talk.say(&WorkerMessage::Prepared(Prepared::default()))?;
    if !talk.wait_for_go() {
        running.quit();
        return Err(NoLoadResult::Parent);
    }
    running.go()?;
    let until_ns = monotonic_ns().saturating_add(limit.as_nanos() as u64);
    let fail = |what: &str| work.shared().fail(Failure::Failed, what.to_owned());
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        match talk.events.recv_timeout(left.min(LOOK_FOR)) {
            Ok(LoadEvent::Input(Some(line))) if WorkerCommand::parse(&line).is_some() => break,
            Ok(LoadEvent::Input(None)) | Err(RecvTimeoutError::Disconnected) => {
                fail("the end that receives has hung up");
                talk.gone = true;
            }
            Err(RecvTimeoutError::Timeout) if monotonic_ns() >= until_ns => {
                fail("nobody said that the trial is over");
            }
            Err(RecvTimeoutError::Timeout) if work.job().datagrams.is_some() && ear.is_silent() => {
                fail("the end that receives has said nothing for 15 s, and may be gone");
            }
            Ok(LoadEvent::Failed) => break,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
    work.shared().end();
    let (yields, samples) = running.finish()?;
    if talk.gone {
        return Err(NoLoadResult::Parent);
    }
    Ok(HalfResult { yields, samples, ..HalfResult::default() })
}
