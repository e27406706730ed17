//! A test that hangs says where, and fails: it once took all the time that there was, and told
//! nothing.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::faults::wait_until;

/// None takes half as long; those that are long in the long form are so by their number of rounds.
const SHORT: Duration = Duration::from_secs(15 * 60);
const LONG: Duration = Duration::from_secs(6 * 3600);
/// What was killed has so long to be cleaned up after.
const CLEANING: Duration = Duration::from_secs(60);

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watchdog(#[expect(dead_code, reason = "what is dropped ends the watch")] Sender<()>);

/// Watches over what the caller does from now on.
pub fn watch() -> Watchdog {
    let max = if std::env::var_os("BRICKYARD_LONG").is_some() { LONG } else { SHORT };
    watch_for(max, CLEANING)
}

fn watch_for(max: Duration, cleaning: Duration) -> Watchdog {
    let (over, done) = channel::<()>();
    std::thread::spawn(move || {
        if done.recv_timeout(max) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let all = below(std::process::id());
        eprintln!("a test hangs after {} s; all that it started is ended:", max.as_secs());
        for process in &all {
            eprintln!("{}", described(*process));
        }
        for process in all {
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
        }
        if done.recv_timeout(cleaning) == Err(RecvTimeoutError::Timeout) {
            eprintln!("it still hangs, and is given up");
            std::process::exit(1);
        }
    });
    Watchdog(over)
}

/// The processes below one, whoever started them.
fn below(top: u32) -> Vec<u32> {
    let mut all = vec![top];
    let mut looked = 0;
    while looked < all.len() {
        let tasks = Path::new("/proc").join(all[looked].to_string()).join("task");
        for task in tasks.read_dir().into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        looked += 1;
    }
    all.split_off(1)
}

/// What a process is, in what state, and where in the kernel each of its threads is.
fn described(process: u32) -> String {
    let folder = Path::new("/proc").join(process.to_string());
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let words = read(&folder.join("cmdline")).replace('\0', " ");
    let mut text = format!("{process}: {words}");
    for task in folder.join("task").read_dir().into_iter().flatten().flatten() {
        let (status, stack) = (read(&task.path().join("status")), read(&task.path().join("stack")));
        let state = status.lines().find(|line| line.starts_with("State:")).unwrap_or_default();
        text += &format!("\n  {state}\n    {}", stack.trim().replace('\n', "\n    "));
    }
    text
}

/// The loop device of a killed test had no room left for what waits to be written: everything that
/// wrote to it hung, for 40 minutes, until there was no time left.
#[test]
fn a_test_that_hangs_is_ended_and_says_where() {
    // Whatever this process started is ended.
    let _alone = crate::disk::alone();
    let mut child = Command::new("sh").args(["-c", "sleep 1000; true"]).spawn().expect("sh");
    wait_until("a child of the shell", || !below(child.id()).is_empty());
    let inner = below(child.id());
    // While a process becomes another program it has no words for a moment.
    wait_until("its own words", || described(inner[0]).contains("sleep 1000"));
    let watchdog = watch_for(Duration::from_millis(10), CLEANING);
    let status = child.wait().expect("it is ours");
    assert!(!status.success());
    // Whoever adopted it may take his time to see that it has ended.
    wait_until("its end", || !described(inner[0]).contains("sleep 1000"));
    drop(watchdog);
}
