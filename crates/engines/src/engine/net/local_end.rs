//! The near end of a trial on two machines: calls the other one to do its half, and has the result.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::due::{DueFiles, WrongBlock};
use super::half::HalfLoad;
use super::job::{NetJob, NetworkPathChoice};
use super::peer_protocol::{self, HalfResult, PeerMessage, PeerNotice, PeerOrder, PeerWord};
use super::runner::{self, LocalEnds, OtherEnd, RunningStreams};
use super::served::SentFiles;
use super::work::{self, NetEndResult, NetLoad};
use super::{again, both, outcome, place, wire};
use crate::engine::Error;
use crate::engine::load::control::{LoadControl, LoadEvent, LoadPhase};
use crate::engine::load::protocol::{
    Failure, LoadResult, LoadSpec, Prepared, WorkerCommand, WorkerMessage,
};
use crate::engine::load::talk::{NoLoadResult, ParentTalk};
use crate::engine::load::watch::stops;
use crate::fleet::{
    Alignment, Call, ClockOffset, LineReader, LineWriter, PeerAddress, PeerMachine, Purpose, Token,
};
use base::value;
use experiment::measurement::{Note, PEER};
use facts::counters::series::Series;
use host::sys;
use host::sys::clock::{monotonic_ns, unix_ns};

/// What the far end does before and after a trial takes no longer.
const ANSWER_MAX: Duration = Duration::from_secs(120);
/// One that receives says four times a second how it goes.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Who broke a connection off has said why by then.
const CAUSE_MAX: Duration = Duration::from_secs(2);
/// How often the parent's wishes are looked at while the far end leads.
const LOOK: Duration = Duration::from_millis(20);

/// A trial whose other end is on another machine.
pub struct TwoMachineTrial {
    /// What is done.
    pub job: NetJob,
    /// As the far end is to read it.
    pub spec: LoadSpec,
    /// The engine.
    pub engine: &'static str,
    /// The files that this end sends.
    pub served: Option<SentFiles>,
    /// What is said of them before.
    pub prepared: Prepared,
}

/// What came of both halves of a trial.
pub struct TwoMachineResult {
    /// What was done here; its files are to be asked.
    pub work: Arc<NetLoad>,
    /// Of sender, receiver, sender, ... in turn.
    pub yields: Vec<NetEndResult>,
    /// What was measured.
    pub result: LoadResult,
}

/// What this end's half gave, beside what the far end's did.
struct JoinedHalves {
    /// Of the receivers' controller, when they are here.
    load: Option<LoadResult>,
    yields: Vec<NetEndResult>,
    samples: Series,
    theirs: HalfResult,
}

/// Carries it from the call to the result.
///
/// # Errors
/// See [`NoLoadResult`].
pub fn conduct(
    trial: TwoMachineTrial,
    sender: Sender<LoadEvent>,
    talk: &mut ParentTalk<'_>,
) -> Result<TwoMachineResult, NoLoadResult> {
    let TwoMachineTrial { mut job, spec, engine, served, prepared } = trial;
    let mut far = RemoteEnd::call(&job, spec.campaign)?;
    let due = served.as_ref().map(SentFiles::due).transpose()?.unwrap_or_default();
    let ticket = far.order(engine, spec, due)?;
    let sockets = far.streams(&job, &ticket)?;
    let here = far.ends().0.ip();
    let most = wire::most_to(&job, here);
    job.cpus = place::cpus(&job, here)?;
    let cells = if job.both { job.streams / 2 } else { job.streams };
    let shared = LoadControl::new(cells, 0, true, sender).warming_up(job.warm_up_ns);
    let sockets = wire::prepare(&job, sockets, |stream| !job.comes_in(stream))?;
    let work = Arc::new(NetLoad::new(job, shared, sockets, served));
    let looking = again::begin(&work)?.map(|(tells, looking)| {
        far.tells = Some(tells);
        looking
    });
    let (yields, mut result) = halves(far, &work, prepared, talk)?;
    if let Some(looking) = looking {
        looking.end(&work, result.integrity.take())?;
    }
    Ok(TwoMachineResult { work, yields, result: LoadResult { wire: most, ..result } })
}

/// Does this end's half while the far end does its own, and gives both: what each end of each
/// stream yielded, and what was measured.
///
/// # Errors
/// See [`NoLoadResult`].
pub fn halves<E: HalfLoad>(
    mut far: RemoteEnd,
    work: &Arc<E>,
    prepared: Prepared,
    talk: &mut ParentTalk<'_>,
) -> Result<(Vec<NetEndResult>, LoadResult), NoLoadResult> {
    let mut heard = far.listen(work)?;
    let half = match work.job().reversed || work.job().both {
        false => send(work, &mut heard, prepared.clone(), talk),
        true => receive(work, &mut heard, prepared.clone(), talk),
    };
    // Whatever happened, no thread of this trial goes on, and the far end is let go.
    work.shared().end();
    let half = match half {
        Ok(half) => half,
        Err(why) => {
            // Whoever sends there would go on, and keep the next trial out, as long as a connection
            // of this one is open in this process.
            work.shut();
            heard.voice.hang_up();
            return Err(why);
        }
    };
    let clocks = far.take_leave(heard)?;
    let (yields, result) = join(work.job(), half, &clocks)?;
    let said = far.said(work.job(), &clocks);
    let notes = [prepared.notes, vec![said], result.notes, work.notes()].concat();
    Ok((yields, LoadResult { notes, ..result }))
}

/// The far end of a trial, on another machine that was called.
pub struct RemoteEnd {
    address: PeerAddress,
    call: Call,
    before: ClockOffset,
    /// Who is told of blocks that came wrong there.
    tells: Option<Sender<WrongBlock>>,
}

/// The lines of the far end, read by a thread.
struct RemoteLines {
    /// The last one may be why there are no more.
    lines: Receiver<Result<PeerMessage, String>>,
    voice: LineWriter,
    reader: JoinHandle<LineReader>,
    address: PeerAddress,
}

impl RemoteEnd {
    /// Calls the machine that a trial of this campaign names.
    ///
    /// # Errors
    /// When nobody listens there, or not to us.
    pub fn call(job: &NetJob, campaign: u64) -> Result<RemoteEnd, Error> {
        let NetworkPathChoice::Machine(address) = &job.wire else {
            return Err(Error::Failed("this trial has no other machine".to_owned()));
        };
        let token = Token::from_environment().map_err(with_hint)?;
        let purpose = Purpose { campaign, settings: false };
        let mut call = Call::place(address, token.as_ref(), purpose).map_err(with_hint)?;
        let before = call.clock().map_err(|why| lost(address, &why))?;
        Ok(RemoteEnd { address: address.clone(), call, before, tells: None })
    }

    /// Our address and its own, as both reach each other.
    pub fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.call.here, self.call.there)
    }

    /// Orders its half, in which this is due of files; what each stream is to begin with.
    ///
    /// # Errors
    /// When it refuses, or is lost.
    pub fn order(
        &mut self,
        engine: &str,
        spec: LoadSpec,
        due: Vec<DueFiles>,
    ) -> Result<String, Error> {
        let order = LoadSpec { streams: Vec::new(), written: Vec::new(), ..spec };
        let told = self.call.voice.say(&PeerOrder { engine: engine.to_owned(), order, due });
        told.map_err(|why| lost(&self.address, &why.to_string()))?;
        match self.answer()? {
            PeerMessage::Word(PeerWord::Ticket(ticket)) => Ok(ticket),
            other => Err(self.refusal(other)),
        }
    }

    /// What it says next, before anything runs.
    ///
    /// # Errors
    /// When it is lost.
    pub fn answer(&mut self) -> Result<PeerMessage, Error> {
        self.call.voice.expect_within(ANSWER_MAX);
        self.call.hear().map_err(|why| lost(&self.address, &why))
    }

    /// Why it goes no further.
    pub fn refusal(&self, said: PeerMessage) -> Error {
        match said {
            PeerMessage::Message(WorkerMessage::Failed { kind, what }) => kind.error(what),
            _ => lost(&self.address, "it did not answer to what was asked"),
        }
    }

    /// Connects the streams.
    fn streams(&self, job: &NetJob, ticket: &str) -> Result<Vec<TcpStream>, Error> {
        let mut sockets = Vec::with_capacity(job.streams);
        for stream in 0..job.streams {
            let socket = self.call.stream(ticket, stream).map_err(|why| {
                Error::Failed(format!("cannot connect stream {stream} to {}: {why}", self.address))
            })?;
            sockets.push(socket);
        }
        Ok(sockets)
    }

    /// Reads what it says from now on; when it fails or hangs up, the trial does.
    fn listen<E: HalfLoad>(&mut self, work: &Arc<E>) -> Result<RemoteLines, Error> {
        let (tell, lines) = channel();
        let (link, voice) = (self.call.link.take(), self.call.voice.clone());
        let link = link.ok_or_else(|| lost(&self.address, "the talk has broken off"))?;
        voice.expect_within(ANSWER_MAX);
        let (own, address, tells) = (work.clone(), self.address.clone(), self.tells.take());
        let reader = std::thread::spawn(move || {
            let mut link = link;
            loop {
                let said = link.line().map_err(|why| why.to_string()).and_then(|line| {
                    let line = line.ok_or_else(|| "it has hung up".to_owned())?;
                    serde_json::from_str::<PeerMessage>(&line)
                        .map_err(|_| "it says what nobody understands".to_owned())
                });
                if let (Ok(PeerMessage::Word(PeerWord::Wrong(wrong))), Some(tells)) =
                    (&said, &tells)
                {
                    // Who looks at it tells why he does no longer.
                    let _ = tells.send(wrong.clone());
                    continue;
                }
                let last = match &said {
                    Ok(PeerMessage::Word(PeerWord::Yielded(yielded))) => {
                        let sent: Vec<u64> = yielded.yields.iter().map(|it| it.bytes).collect();
                        own.were_sent(&sent);
                        true
                    }
                    Ok(PeerMessage::Word(PeerWord::Stopping {})) => {
                        // Both receive, and it ends what this end has not: it has failed, and says
                        // why once its threads have ended, which wait for those of this end.
                        if own.job().both && own.shared().phase() != LoadPhase::Stop {
                            let (kind, what) = work::closed();
                            own.shared().fail(kind, what);
                            own.shut();
                        }
                        false
                    }
                    Ok(PeerMessage::Message(WorkerMessage::Failed { kind, what })) => {
                        let what = format!("the other end, {address}: {what}");
                        own.shared().fail(*kind, what);
                        true
                    }
                    Ok(_) => false,
                    Err(why) => {
                        if let Error::Failed(what) = lost(&address, why) {
                            own.shared().fail(Failure::Failed, what);
                        }
                        true
                    }
                };
                let _ = tell.send(said);
                if last {
                    return link;
                }
            }
        });
        Ok(RemoteLines { lines, voice, reader, address: self.address.clone() })
    }

    /// Compares the clocks once more, and says good-bye.
    fn take_leave(&mut self, heard: RemoteLines) -> Result<Alignment, Error> {
        let broken = |why: &str| lost(&self.address, why);
        self.call.link.put(heard.reader.join().map_err(|_| broken("the talk has broken off"))?);
        let after = self.call.clock().map_err(|why| lost(&self.address, &why))?;
        let _ = self.call.voice.word(WorkerCommand::Bye.word());
        Ok(Alignment { before: self.before, after })
    }

    /// What lay between the ends.
    fn said(&self, job: &NetJob, clocks: &Alignment) -> Note {
        let Call { host, here, there, .. } = &self.call;
        let PeerMachine { name, kernel, cpus, version } = host;
        let way = match (job.both, job.reversed) {
            (true, _) => "both ways at once",
            (false, true) => "from it to this one",
            (false, false) => "from this one to it",
        };
        let ahead = clocks.before.ns;
        let text = format!(
            "the other end is the machine {name} (Linux {kernel}, {cpus} CPUs, brickyard \
             {version}), {} as it is reached from {}; bytes go {way}. Its clock was {} {} ours, \
             give or take {}",
            there.ip(),
            here.ip(),
            value::duration(ahead.unsigned_abs() as f64),
            if ahead < 0 { "behind" } else { "ahead of" },
            value::duration(clocks.error_ns() as f64),
        );
        Note::new("over-two-machines", text)
    }
}

/// In a record there is no room of its own for what to type next.
fn with_hint(error: sys::Error) -> Error {
    let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
    Error::Failed(format!("{error}{hint}"))
}

fn lost(address: &PeerAddress, why: &str) -> Error {
    Error::Failed(format!("lost the other end at {address}: {why}"))
}

impl RemoteLines {
    /// The next thing.
    fn next(&self) -> Result<PeerMessage, Error> {
        match self.lines.recv() {
            Ok(Ok(said)) => Ok(said),
            Ok(Err(why)) => Err(lost(&self.address, &why)),
            Err(_) => Err(lost(&self.address, "it has hung up")),
        }
    }

    fn prepared(&self, work: &impl HalfLoad) -> Result<(), Error> {
        match self.next() {
            Ok(PeerMessage::Message(WorkerMessage::Prepared(_))) => {
                self.voice.expect_within(Duration::from_nanos(work.job().at_most_ns) + ANSWER_MAX);
                Ok(())
            }
            Ok(PeerMessage::Message(WorkerMessage::Failed { kind, what })) => {
                Err(kind.error(format!("the other end, {}: {what}", self.address)))
            }
            other => Err(self.cause(work, other.err())),
        }
    }

    /// What went wrong first: what the far end says of it, or that it is lost, where all that was
    /// noticed here is that a connection broke off; else what failed here.
    fn cause(&self, work: &impl HalfLoad, error: Option<Error>) -> Error {
        let failure = work.shared().marks().failure;
        if failure.as_ref().is_none_or(|(kind, _)| *kind == Failure::Disconnected) {
            // It closes its connections once it has said why.
            loop {
                match self.lines.recv_timeout(CAUSE_MAX) {
                    Ok(Ok(PeerMessage::Message(WorkerMessage::Failed { kind, what }))) => {
                        return kind.error(format!("the other end, {}: {what}", self.address));
                    }
                    Ok(Ok(_)) => {}
                    Ok(Err(why)) => return lost(&self.address, &why),
                    Err(RecvTimeoutError::Timeout) => break,
                    // What it said last was taken by the caller.
                    Err(RecvTimeoutError::Disconnected) => {
                        return error.unwrap_or_else(|| lost(&self.address, "it has hung up"));
                    }
                }
            }
        }
        let failure = failure.map(|(kind, what)| kind.error(what));
        let out_of_turn = || Error::Failed(format!("{} speaks out of turn", self.address));
        failure.or(error).unwrap_or_else(out_of_turn)
    }

    fn yielded(&self, work: &impl HalfLoad) -> Result<HalfResult, Error> {
        self.voice.expect_within(ANSWER_MAX);
        loop {
            match self.next() {
                Ok(PeerMessage::Word(PeerWord::Yielded(yielded))) => return Ok(*yielded),
                // One that receives as well says how that goes.
                Ok(
                    PeerMessage::Message(WorkerMessage::Running(_))
                    | PeerMessage::Word(PeerWord::Stopping {}),
                ) => {}
                other => return Err(self.cause(work, other.err())),
            }
        }
    }
}

/// The far end receives, and leads.
fn send<E: HalfLoad>(
    work: &Arc<E>,
    heard: &mut RemoteLines,
    prepared: Prepared,
    talk: &mut ParentTalk<'_>,
) -> Result<JoinedHalves, NoLoadResult> {
    let mut running = RunningStreams::senders(work, talk)?;
    if let Err(error) = heard.prepared(&**work) {
        running.quit();
        return Err(error.into());
    }
    talk.say(&WorkerMessage::Prepared(prepared))?;
    if !talk.wait_for_go() {
        running.quit();
        return Err(NoLoadResult::Parent);
    }
    if let Err(why) = heard.voice.word(WorkerCommand::Go.word()) {
        let lost = lost(&heard.address, &why.to_string());
        let cause = heard.cause(&**work, Some(lost));
        running.quit();
        return Err(cause.into());
    }
    running.go()?;
    let theirs = follow(&**work, heard, talk);
    work.shared().end();
    if theirs.is_err() {
        // Its receivers take nothing more.
        work.shut();
    }
    let done = running.finish();
    let theirs = theirs?;
    let (yields, samples) = done?;
    Ok(JoinedHalves { load: None, yields, samples, theirs })
}

/// Passes on what the far end says, and what the parent wants of it, until it has its half.
fn follow(
    work: &impl HalfLoad,
    heard: &RemoteLines,
    talk: &mut ParentTalk<'_>,
) -> Result<HalfResult, NoLoadResult> {
    let until_ns = monotonic_ns()
        .saturating_add(work.job().at_most_ns)
        .saturating_add(ANSWER_MAX.as_nanos() as u64);
    heard.voice.expect_within(SILENCE_MAX + Duration::from_nanos(work.job().warm_up_ns));
    let mut told = false;
    loop {
        if !told && let Some(sent) = work.sent() {
            told = true;
            // Who is gone is noticed by the thread that reads what it says.
            let _ = heard.voice.say(&PeerNotice::Sent(sent));
        }
        match heard.lines.recv_timeout(LOOK) {
            Ok(Ok(PeerMessage::Message(running @ WorkerMessage::Running(_)))) => {
                heard.voice.expect_within(SILENCE_MAX);
                talk.say(&running)?;
            }
            Ok(Ok(PeerMessage::Word(PeerWord::Stopping {}))) => {
                heard.voice.expect_within(ANSWER_MAX);
                work.shared().end();
            }
            Ok(Ok(PeerMessage::Word(PeerWord::Yielded(yielded)))) => return Ok(*yielded),
            Err(RecvTimeoutError::Timeout) if monotonic_ns() < until_ns => {}
            Ok(Ok(PeerMessage::Message(WorkerMessage::Failed { kind, what }))) => {
                return Err(kind.error(format!("the other end, {}: {what}", heard.address)).into());
            }
            Ok(Err(why)) => {
                let lost = lost(&heard.address, &why);
                return Err(heard.cause(work, Some(lost)).into());
            }
            _ => return Err(heard.cause(work, None).into()),
        }
        while let Ok(event) = talk.events.try_recv() {
            match event {
                LoadEvent::Input(line) if stops(line.as_deref(), talk) => {
                    let _ = heard.voice.word(WorkerCommand::Stop.word());
                }
                LoadEvent::Failed => return Err(heard.cause(work, None).into()),
                _ => {}
            }
        }
    }
}

/// Tells the far end, which sends, when to begin and to stop, and that somebody is still here.
struct NoticesToRemoteEnd(LineWriter);

impl OtherEnd for NoticesToRemoteEnd {
    fn go(&self) {
        // One that is gone is noticed by the thread that reads what it says.
        let _ = self.0.word(WorkerCommand::Go.word());
    }

    fn stop(&self) {
        let _ = self.0.word(WorkerCommand::Stop.word());
        self.0.expect_within(ANSWER_MAX);
    }

    fn is_here(&self) {
        let _ = self.0.say(&PeerNotice::Here {});
    }
}

/// The far end sends, or both do; this one leads.
fn receive<E: HalfLoad>(
    work: &Arc<E>,
    heard: &mut RemoteLines,
    prepared: Prepared,
    talk: &mut ParentTalk<'_>,
) -> Result<JoinedHalves, NoLoadResult> {
    heard.prepared(&**work)?;
    let far: Arc<dyn OtherEnd> = Arc::new(NoticesToRemoteEnd(heard.voice.clone()));
    let (job, shared) = (work.job(), work.shared());
    let here = if job.both { LocalEnds::Turns { sends: true } } else { LocalEnds::Receivers };
    let done = match runner::run(work, (here, Some(far)), prepared, talk) {
        Err(NoLoadResult::Engine(error)) => return Err(heard.cause(&**work, Some(error)).into()),
        done => done?,
    };
    let (watched, yields, samples) = done;
    let theirs = heard.yielded(&**work)?;
    let pairs = outcome::of_receivers(&yields, |stream| job.comes_in(stream));
    let load = outcome::gather(job, shared, watched, &pairs, Series::default(), Vec::new());
    Ok(JoinedHalves { load: Some(load), yields, samples, theirs })
}

/// Both halves as one, on this machine's clock.
fn join(
    job: &NetJob,
    half: JoinedHalves,
    clocks: &Alignment,
) -> Result<(Vec<NetEndResult>, LoadResult), Error> {
    let JoinedHalves { load, yields, samples, theirs } = half;
    let broken = || Error::Failed("the other end's half of the trial is not whole".to_owned());
    let far = theirs.load.map(|mut far| {
        let now_ns = monotonic_ns();
        let started_ns = clocks.ours_ns(far.started_monotonic_ns);
        far.started_unix_ns = unix_ns().saturating_sub(now_ns.saturating_sub(started_ns));
        far.started_monotonic_ns = started_ns;
        far
    });
    let mut result = match (load, far) {
        (Some(load), None) | (None, Some(load)) if !job.both => load,
        (Some(near), Some(far)) if job.both => both::join(near, far).ok_or_else(broken)?,
        _ => return Err(broken()),
    };
    let zero_ns = result.started_monotonic_ns;
    if theirs.yields.len() != yields.len() || result.streams.len() != yields.len() {
        return Err(broken());
    }
    let ends = yields.into_iter().zip(theirs.yields).enumerate();
    // Of each stream the sender, and the receiver.
    let pairs: Vec<[NetEndResult; 2]> = ends
        .map(|(stream, (own, far))| if job.comes_in(stream) { [far, own] } else { [own, far] })
        .collect();
    for (stream, [sender, _]) in result.streams.iter_mut().zip(&pairs) {
        stream.cpu_ns = stream.cpu_ns.max(sender.cpu_ns);
    }
    let mut own = samples;
    own.at_ns.iter_mut().for_each(|at| *at -= zero_ns as i64);
    let mut far = theirs.samples;
    peer_protocol::align(&mut far, clocks, zero_ns);
    let joined = match (job.both, job.reversed) {
        (true, _) => both::join_samples(own, &far),
        (false, true) => peer_protocol::join(far, own),
        (false, false) => peer_protocol::join(own, far),
    };
    if job.both
        && let Some(window) = &mut result.window
    {
        window.done = both::done(&joined, window, job.message_bytes as u64).ok_or_else(broken)?;
    }
    result.counters = vec![joined];
    for mut series in theirs.counters {
        peer_protocol::align(&mut series, clocks, zero_ns);
        series.source = format!("{PEER}{}", series.source);
        result.counters.push(series);
    }
    result.notes.extend(theirs.notes);
    Ok((pairs.concat(), result))
}
