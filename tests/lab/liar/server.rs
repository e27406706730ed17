//! The process that serves a lying disk: a thread answers the kernel, another the test.
//!
//! A process of its own, since a test that is killed while it waits for a disk that it serves
//! itself never ends. When the test ends without a word, this one cleans up behind it.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::device::Device;
use super::order::{Answer, Order};
use crate::fuse::{What, Wire};

/// What is served, and what is to be unmade behind a test that is gone.
struct Served {
    at: PathBuf,
    device: Option<String>,
    mount: Option<PathBuf>,
    disk: Arc<Mutex<Device>>,
    thread: JoinHandle<()>,
}

/// Serves until the test says so, or is gone. Orders come, and answers go, by standard input, a
/// socket: libtest prints to standard output.
pub fn serve() {
    let talk = std::io::stdin().as_fd().try_clone_to_owned().expect("a socket");
    let mut talk = BufReader::new(UnixStream::from(talk));
    let mut served: Option<Served> = None;
    loop {
        let mut line = String::new();
        let order = match talk.read_line(&mut line) {
            Ok(length) if length > 0 => serde_json::from_str(&line).expect("an order"),
            _ => break,
        };
        let answer = match order {
            Order::Leave => return,
            Order::Serve { at, bytes } => {
                served = Some(start(at, bytes));
                Answer::Done
            }
            Order::Heir { device, mount } => {
                let served = served.as_mut().expect("it serves");
                (served.device, served.mount) = (device, mount);
                Answer::Done
            }
            order => obey(order, &mut lock(&served.as_ref().expect("it serves").disk)),
        };
        let mut answer = serde_json::to_vec(&answer).expect("an answer");
        answer.push(b'\n');
        if talk.get_mut().write_all(&answer).is_err() {
            break;
        }
    }
    if let Some(served) = served {
        clean_up(served);
    }
}

fn start(at: PathBuf, bytes: u64) -> Served {
    let wire = Wire::mount(&at, bytes);
    let disk = Arc::new(Mutex::new(Device::new(bytes)));
    let shared = disk.clone();
    let thread = std::thread::spawn(move || answer_the_kernel(&wire, &shared));
    Served { at, device: None, mount: None, disk, thread }
}

fn obey(order: Order, disk: &mut Device) -> Answer {
    match order {
        Order::Arm { rules, seed } => disk.arm(rules, seed),
        Order::Cache { lying } => disk.cache(lying),
        Order::Cut { after, kept_permille, seed } => disk.cut(after, kept_permille, seed),
        Order::Power => disk.power(),
        Order::Harm { sector_begins, harm } => {
            return Answer::Harmed(disk.harm(&sector_begins, harm));
        }
        Order::Confess => return Answer::Truth(disk.confess()),
        Order::Serve { .. } | Order::Heir { .. } | Order::Leave => {}
    }
    Answer::Done
}

/// A disk on which something went wrong answers nothing more: the thread that finds it so ends.
fn lock(disk: &Mutex<Device>) -> MutexGuard<'_, Device> {
    disk.lock().expect("no thread of the disk has failed")
}

fn answer_the_kernel(wire: &Wire, disk: &Mutex<Device>) {
    let mut buffer = Wire::buffer();
    while let Some(request) = wire.next(&mut buffer) {
        let mut disk = lock(disk);
        match request.what {
            What::Read { offset, bytes } => {
                let reply = disk.read(offset, bytes);
                wire.say(request.unique, reply.as_deref().map_err(|error| *error));
            }
            What::Write { offset, data } => {
                let bytes = data.len();
                match disk.write(offset, &buffer[data]) {
                    Ok(()) => wire.written(request.unique, bytes),
                    Err(error) => wire.say(request.unique, Err(error)),
                }
            }
            What::Flush => wire.say(request.unique, disk.flush().map(|()| &[][..])),
        }
    }
}

/// Unmakes what a test that was killed has left. What it mounted is written to meanwhile: the disk
/// goes on to be served.
fn clean_up(served: Served) {
    let run = |program: &str, arguments: &[&Path]| {
        let mut command = Command::new(program);
        let _ = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).status();
    };
    if let Some(mount) = &served.mount {
        run("umount", &[Path::new("-l"), mount]);
        let _ = std::fs::remove_dir(mount);
    }
    if let Some(device) = &served.device {
        run("losetup", &[Path::new("-d"), Path::new(device)]);
    }
    run("umount", &[Path::new("-l"), &served.at]);
    let start = Instant::now();
    while !served.thread.is_finished() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = std::fs::remove_file(&served.at);
    if let Some(folder) = served.at.parent() {
        let _ = std::fs::remove_dir(folder);
    }
}
