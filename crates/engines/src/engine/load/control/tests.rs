//! When windows open and close, and what they hold.

use super::*;
use std::sync::mpsc::channel;

fn shared(streams: usize, sustained: bool) -> LoadControl {
    LoadControl::new(streams, 10, sustained, channel().0)
}

#[test]
fn the_window_opens_with_the_last_starter_and_counts_only_what_comes_after() {
    let shared = shared(2, true);
    shared.started();
    assert_eq!(shared.phase(), LoadPhase::Starting);
    shared.cells[0].read_ops.store(3, Relaxed);
    shared.started();
    assert_eq!(shared.phase(), LoadPhase::Window);
    shared.cells[0].read_ops.store(7, Relaxed);
    shared.cells[1].write_ops.store(2, Relaxed);
    assert_eq!(shared.window(), None);
    shared.end();
    let done = shared.window().unwrap().done;
    assert_eq!((done.read_ops, done.read_bytes, done.write_bytes), (4, 40, 20));
}

/// A pool of ZFS behind a throttle completed its whole queue at once, every 0.42 s: of 6 s there
/// were 14 lots where 14.3 are right, and rates came out as 0.958 to 0.991 of the limit.
#[test]
fn a_window_of_lots_is_as_long_as_they_took_and_a_stall_at_its_end_counts() {
    let rate = |stalled_ns: u64| {
        let shared = shared(1, true).at_depth(8);
        let now = monotonic_ns() - 2_000_000_000;
        shared.cells[0].read_ops.store(8, Relaxed);
        shared.cells[0].last_ns.store(now - 90_000_000, Relaxed);
        shared.started();
        shared.cells[0].read_ops.store(8 * 21, Relaxed);
        // Twenty lots of 100 ms, of which the last ended so long ago.
        shared.cells[0].last_ns.store(monotonic_ns() - stalled_ns, Relaxed);
        let opened = Some((now, amount(8, 0, 10)));
        lock(&shared.marks).opened = opened;
        shared.end();
        let window = shared.window().unwrap();
        (window.seconds(), window.done.read_ops)
    };
    let (seconds, ops) = rate(60_000_000);
    assert!((seconds - 2.03).abs() < 0.01 && ops == 160, "{seconds} s, {ops}");
    let (seconds, _) = rate(300_000_000);
    assert!((seconds - 2.0).abs() < 0.01, "{seconds} s");
}

/// Six short trials of a throttled disk were 4 to 10 % above its limit, all alike: their
/// windows opened with an operation, which was the first of a lot.
#[test]
fn a_window_that_opens_by_time_opens_then_and_not_before_all_have_begun() {
    let shared = shared(2, true).opening_after(1_000_000);
    shared.released_ns.store(monotonic_ns(), Relaxed);
    let due_ns = shared.released_ns.load(Relaxed) + 1_000_000;
    shared.started();
    assert_eq!((shared.opens_at_ns(), shared.open_by_time()), (Some(due_ns), false));
    shared.cells[1].read_ops.store(3, Relaxed);
    shared.started();
    assert_eq!((shared.phase(), shared.opens_at_ns()), (LoadPhase::Starting, Some(due_ns)));
    assert!(shared.open_by_time());
    assert_eq!((shared.phase(), shared.opens_at_ns()), (LoadPhase::Window, None));
    shared.cells[1].read_ops.store(7, Relaxed);
    shared.end();
    assert_eq!(shared.window().unwrap().done.read_ops, 4);
    // What is not warmed up opens with its operations.
    let at_once = self::shared(1, true).opening_after(0);
    assert_eq!(at_once.opens_at_ns(), None);
    at_once.started();
    assert_eq!(at_once.phase(), LoadPhase::Window);
}

#[test]
fn sustained_streams_run_to_the_last_pass_and_others_close_with_the_first() {
    for sustained in [true, false] {
        let shared = shared(2, sustained);
        shared.started();
        shared.started();
        shared.cells[0].read_ops.store(5, Relaxed);
        shared.pass_over();
        let phase = if sustained { LoadPhase::Window } else { LoadPhase::Closed };
        assert_eq!(shared.phase(), phase);
        shared.cells[1].read_ops.store(5, Relaxed);
        shared.pass_over();
        assert_eq!(shared.phase(), LoadPhase::Stop);
        let ops = shared.window().map(|window| window.done.read_ops);
        assert_eq!(ops, Some(if sustained { 10 } else { 5 }));
    }
}

#[test]
fn a_trial_that_ends_before_all_have_started_has_no_window() {
    let shared = shared(2, true);
    shared.started();
    shared.end();
    shared.started();
    assert_eq!(shared.window(), None);
    assert_eq!(shared.phase(), LoadPhase::Stop);
}

#[test]
fn the_clock_of_a_stream_stands_while_it_is_paused_and_goes_on_from_there() {
    let cell = StreamCounters::default();
    assert_eq!(cell.timed_ns(50), 50);
    cell.pause(100);
    assert_eq!((cell.timed_ns(100), cell.timed_ns(900)), (100, 100));
    cell.resume(1000);
    assert_eq!((cell.timed_ns(1000), cell.timed_ns(1070)), (100, 170));
    cell.pause(1100);
    cell.resume(1101);
    assert_eq!(cell.timed_ns(1200), 299);
}

#[test]
fn the_first_failure_is_kept() {
    let shared = shared(1, true);
    shared.fail(Failure::Failed, "one".into());
    shared.fail(Failure::Unsupported, "two".into());
    assert_eq!(shared.marks().failure, Some((Failure::Failed, "one".into())));
    assert_eq!(shared.phase(), LoadPhase::Stop);
}
