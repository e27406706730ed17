//! The end that is called: does its half of what another machine's trial needs, and changes nothing
//! on this one.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::course::{self, Other, Running};
use super::job::Job;
use super::pact::{Order, Word, Yielded};
use super::work::{self, Work, Yield};
use super::{asked, needs, outcome, place, wire};
use crate::engine::Error;
use crate::engine::clients::settings;
use crate::engine::load::control::{Event, Phase, Shared};
use crate::engine::load::protocol::{Command, Failure, Message, Prepared};
use crate::engine::load::supervise::limit_ns;
use crate::engine::load::talk::{self, Stopped, Talk};
use crate::fleet::{Bounds, Link, Session, Tick, Voice};
use base::value;
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

/// Does what this caller wants, within `bounds`; `tell` is told of each trial in a line.
pub fn attend(mut session: Session, bounds: &Bounds, tell: &dyn Fn(&str)) {
    let Some(link) = session.link.take() else { return };
    let (sender, events) = channel();
    let (voice, lines) = (session.voice.clone(), sender.clone());
    let heard = std::thread::Builder::new().name("heard".to_owned());
    if heard.spawn(move || listen(link, &voice, &lines)).is_err() {
        return;
    }
    loop {
        session.voice.expect_within(IDLE_MAX);
        let line = match events.recv() {
            Ok(Event::Input(Some(line))) => line,
            Ok(Event::Input(None)) | Err(_) => return,
            Ok(_) => continue,
        };
        if Command::parse(&line).is_some() {
            // Of a trial that failed before.
            continue;
        }
        let Ok(order) = serde_json::from_str::<Order>(&line) else { return };
        if !trial(&session, &order, bounds, (&sender, &events), tell) {
            return;
        }
    }
}

/// Passes lines on, and answers what is asked of the clock at once.
fn listen(mut link: Link, voice: &Voice, events: &Sender<Event>) {
    while let Ok(Some(line)) = link.line() {
        if let Ok(tick) = serde_json::from_str::<Tick>(&line) {
            if voice.say(&Tick { monotonic_ns: monotonic_ns(), ..tick }).is_err() {
                break;
            }
        } else if events.send(Event::Input(Some(line))).is_err() {
            return;
        }
    }
    let _ = events.send(Event::Input(None));
}

/// One trial; false when the caller is gone.
fn trial(
    session: &Session,
    order: &Order,
    bounds: &Bounds,
    events: (&Sender<Event>, &Receiver<Event>),
    tell: &dyn Fn(&str),
) -> bool {
    let mut output = session.voice.clone();
    let mut talk = Talk::new(&mut output, events.1);
    // Its connections are open until the caller was told why they will not be.
    let mut kept = None;
    let done = conduct(session, order, bounds, events.0.clone(), &mut talk, &mut kept);
    session.shut();
    let caller = session.caller;
    match done {
        Ok(yielded) => {
            let bytes: u64 = yielded.yields.iter().map(|one| one.bytes).sum();
            tell(&format!("{caller}: {} in {} streams", value::bytes(bytes as f64), {
                yielded.yields.len()
            }));
            session.voice.say(&Word::Yielded(Box::new(yielded))).is_ok()
        }
        Err(Stopped::Engine(error)) => {
            let message = talk::failed(error);
            if let Message::Failed { what, .. } = &message {
                tell(&format!("{caller}: {what}"));
            }
            talk.say(&message).is_ok()
        }
        Err(Stopped::Parent | Stopped::Mute(_)) => {
            tell(&format!("{caller} hung up in the middle of a trial"));
            false
        }
    }
}

fn conduct(
    session: &Session,
    order: &Order,
    bounds: &Bounds,
    sender: Sender<Event>,
    talk: &mut Talk<'_>,
    kept: &mut Option<Arc<Work>>,
) -> Result<Yielded, Stopped> {
    let mut job = allowed(order, bounds)?;
    needs::check_room(&job)?;
    let (ticket, come) = session.announce().map_err(|error| Error::Failed(error.to_string()))?;
    session.voice.say(&Word::Ticket(ticket)).map_err(|_| Stopped::Parent)?;
    let streams = streams(&come, job.streams)?;
    session.shut();
    if let Some(stream) = streams.first() {
        let ours = stream.local_addr().map_err(|why| Error::Failed(why.to_string()))?;
        job.cpus = place::cpus(&job, ours.ip())?;
    }
    let limit = Duration::from_nanos(job.at_most_ns).saturating_add(SLACK);
    session.voice.expect_within(limit);
    let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
    match job.reversed {
        true => {
            streams.iter().try_for_each(|socket| wire::prepare_sender(&job, socket))?;
            outgoing = streams;
        }
        false => {
            streams.iter().try_for_each(|socket| wire::prepare_receiver(&job, socket))?;
            incoming = streams;
        }
    }
    let shared = Shared::new(job.streams, 0, true, sender).warming_up(job.warm_up_ns);
    let work = Arc::new(Work::new(job, shared, (outgoing, incoming), None));
    *kept = Some(work.clone());
    let sampler = Sampler::start(&Host::live(), std::process::id(), &[]);
    let sampler = sampler.map_err(|error| Error::Failed(error.to_string()))?;
    guard(&work, bounds.bytes);
    let done = match work.job.reversed {
        true => send(&work, limit, talk),
        false => receive(&work, &session.voice, talk),
    };
    // Whatever happened, no thread of this trial goes on.
    work.shared.end();
    let yielded = done?;
    let notes = work::lock(&work.notes).clone();
    Ok(Yielded { counters: sampler.stop(0), notes, ..yielded })
}

/// Reads what is to be done, and refuses what this end does not do.
fn allowed(order: &Order, bounds: &Bounds) -> Result<Job, Error> {
    let engine = match order.engine.as_str() {
        super::MEMORY => super::MEMORY,
        super::FILES => super::FILES,
        other => {
            let other: String = other.chars().filter(|c| c.is_alphanumeric()).take(40).collect();
            let what = format!("the other end has no part in the engine `{other}`");
            return Err(Error::Unsupported(what));
        }
    };
    let settings = settings(engine, &order.order);
    let job = asked::job(&settings, order.order.seed)?;
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
fn guard(work: &Arc<Work>, bytes_max: u64) {
    let work = work.clone();
    std::thread::spawn(move || {
        while work.shared.phase() != Phase::Stop {
            let sent: u64 = work.senders.iter().map(|count| count.bytes.load(Relaxed)).sum();
            let bytes = sent.max(work.shared.total().read_bytes);
            if bytes > bytes_max {
                let what = format!(
                    "the {} that a trial may move at the other end are through; `brickyard \
                     receive --bytes` allows more",
                    value::bytes(bytes_max as f64)
                );
                work.shared.fail(Failure::Failed, what);
                return;
            }
            std::thread::sleep(LOOK);
        }
    });
}

/// What the near end, which sends, is told.
struct Near(Voice);

impl Other for Near {
    fn go(&self) {}

    fn stop(&self) {
        // One that is gone is noticed by the receivers.
        let _ = self.0.say(&Word::Stopping {});
    }
}

fn receive(work: &Arc<Work>, voice: &Voice, talk: &mut Talk<'_>) -> Result<Yielded, Stopped> {
    let near: Arc<dyn Other> = Arc::new(Near(voice.clone()));
    let (watched, yields, samples) = course::run(work, Some(near), Prepared::default(), talk)?;
    let pairs: Vec<Yield> = yields.iter().flat_map(|one| [Yield::default(), *one]).collect();
    let load =
        outcome::gather(&work.job, &work.shared, watched, &pairs, Series::default(), Vec::new());
    Ok(Yielded { load: Some(load), yields, samples, ..Yielded::default() })
}

fn send(work: &Arc<Work>, limit: Duration, talk: &mut Talk<'_>) -> Result<Yielded, Stopped> {
    let mut running = Running::senders(work, talk)?;
    talk.say(&Message::Prepared(Prepared::default()))?;
    if !talk.wait_for_go() {
        running.quit();
        return Err(Stopped::Parent);
    }
    running.go()?;
    let until_ns = monotonic_ns().saturating_add(limit.as_nanos() as u64);
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        match talk.events.recv_timeout(left) {
            Ok(Event::Input(Some(line))) if Command::parse(&line).is_some() => break,
            Ok(Event::Input(None)) | Err(RecvTimeoutError::Disconnected) => {
                let what = "the end that receives has hung up".to_owned();
                work.shared.fail(Failure::Failed, what);
                talk.gone = true;
            }
            Err(RecvTimeoutError::Timeout) => {
                let what = "nobody said that the trial is over".to_owned();
                work.shared.fail(Failure::Failed, what);
            }
            Ok(Event::Failed) => break,
            Ok(_) => {}
        }
    }
    work.shared.end();
    let (yields, samples) = running.finish()?;
    if talk.gone {
        return Err(Stopped::Parent);
    }
    Ok(Yielded { yields, samples, ..Yielded::default() })
}
