//! Datagrams between two machines: each end's half.

use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::{UdpLoad, check_room, meet, prepare_receiver, prepare_sender, said};
use crate::engine::Error;
use crate::engine::clients::settings;
use crate::engine::load::control::{LoadControl, LoadEvent};
use crate::engine::load::protocol::{LoadSpec, Prepared, WorkerMessage};
use crate::engine::load::talk::{ConductResult, NoLoadResult, ParentTalk};
use crate::engine::net::job::{MTU, NetJob, of_mtu};
use crate::engine::net::local_end::{RemoteEnd, halves};
use crate::engine::net::peer_protocol::PeerWord;
use crate::engine::net::{DATAGRAMS, asked, place};
use crate::fleet::Session;
use experiment::knob;
use experiment::measurement::Note;
use host::sys::Host;
use host::sys::link;

/// The end that calls: the whole trial, from its settings to its result.
///
/// # Errors
/// See [`NoLoadResult`].
pub fn near(
    job: NetJob,
    mut spec: LoadSpec,
    sender: Sender<LoadEvent>,
    talk: &mut ParentTalk<'_>,
) -> ConductResult {
    check_room(&job)?;
    let mut far = RemoteEnd::call(&job, spec.campaign)?;
    let (mut job, note) = sized(job, &mut spec, far.ends().0.ip())?;
    let ticket = far.order(DATAGRAMS, spec, Vec::new())?;
    let sockets = meet::near(&mut far, job.streams, &ticket)?;
    job.cpus = place::cpus(&job, far.ends().0.ip())?;
    let sends = !job.reversed;
    let work = Arc::new(work(job, sends, sender, (&ticket, sockets))?);
    let (yields, mut result) = halves(far, &work, Prepared::default(), talk)?;
    result.notes.extend(note);
    result.notes.extend(said::datagram_notes(
        &work.job,
        &result.counters,
        yields.iter().step_by(2),
    ));
    Ok(WorkerMessage::Result(Box::new(result)))
}

/// The end that is called: its half, once both have met.
///
/// # Errors
/// When they do not meet, or what is asked cannot be done here.
pub fn far(
    session: &Session,
    mut job: NetJob,
    sender: Sender<LoadEvent>,
) -> Result<UdpLoad, NoLoadResult> {
    check_room(&job)?;
    let door = meet::MeetingSocket::open(session.here, session.caller.ip())?;
    let (ticket, _) = session.announce().map_err(|error| Error::Failed(error.to_string()))?;
    // No connection has this ticket.
    session.shut();
    session.voice.say(&PeerWord::Ticket(ticket.clone())).map_err(|_| NoLoadResult::Parent)?;
    let sockets = door.meet(&ticket, job.streams)?;
    job.cpus = place::cpus(&job, session.here.ip())?;
    let sends = job.reversed;
    let work = work(job, sends, sender, (&ticket, sockets))?;
    session.voice.say(&PeerWord::Met {}).map_err(|_| NoLoadResult::Parent)?;
    Ok(work)
}

/// Datagrams of which nobody said how long they are fill a packet of the interface that has our
/// address; the other end is told the number.
fn sized(job: NetJob, spec: &mut LoadSpec, here: IpAddr) -> Result<(NetJob, Option<Note>), Error> {
    if settings(DATAGRAMS, spec).get(knob::DATAGRAM_SIZE).is_some() {
        return Ok((job, None));
    }
    let name = link::having(here.to_canonical()).map_err(|why| Error::Failed(why.to_string()))?;
    let mtu = name.as_ref().and_then(|name| {
        Host::live().word(format!("/sys/class/net/{name}/mtu"))?.parse::<u32>().ok()
    });
    let (mtu, whose) = match (mtu, name) {
        (Some(mtu), Some(name)) => (mtu, format!("{name} has an MTU of {mtu}")),
        _ => (MTU, format!("nobody knows the MTU at {here}, and {MTU} is usual")),
    };
    let bytes = of_mtu(mtu, here.to_canonical().is_ipv4());
    if let Some(settings) = spec.settings.as_object_mut() {
        settings.insert(knob::DATAGRAM_SIZE.name.to_owned(), bytes.into());
    }
    let note = Note::new("datagram-size", format!("each datagram has {bytes} bytes: {whose}"));
    Ok((asked::job(&settings(DATAGRAMS, spec), spec.seed)?, Some(note)))
}

/// What is done with these sockets, out of which this end sends or receives.
fn work(
    job: NetJob,
    sends: bool,
    sender: Sender<LoadEvent>,
    (ticket, sockets): (&str, Vec<UdpSocket>),
) -> Result<UdpLoad, Error> {
    let datagrams = job.datagrams.unwrap_or_default();
    let prepare = if sends { prepare_sender } else { prepare_receiver };
    sockets.iter().try_for_each(|socket| prepare(&job, datagrams, socket))?;
    let ends = if sends { (sockets, Vec::new()) } else { (Vec::new(), sockets) };
    let firsts = (0..job.streams).map(|stream| meet::first_number(ticket, stream)).collect();
    let shared = LoadControl::new(job.streams, 0, true, sender).warming_up(job.warm_up_ns);
    Ok(UdpLoad::new(job, shared, ends, firsts))
}
