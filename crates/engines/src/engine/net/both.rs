//! (pure) Streams both ways at once between two machines: each end received half of them, by its
//! own clock, and here both are one trial.
//!
//! The window is the time in which all of both were running: that of each end, laid over each other
//! on this machine's clock. What arrived in it is counted by the samples of the end that got it.

use crate::engine::load::protocol::LoadResult;
use experiment::measurement::{Amount, Note, Stream, Window, network};
use facts::counters::series::Series;

/// What both ends got, of which the near one got every second stream; the far end's start is on the
/// near end's clock already. The window's amount is to be counted. `None` when they do not belong
/// together.
pub fn join(near: LoadResult, far: LoadResult) -> Option<LoadResult> {
    if near.streams.len() != far.streams.len() {
        return None;
    }
    let later_ns = far.started_monotonic_ns as i64 - near.started_monotonic_ns as i64;
    let streams: Vec<Stream> = far
        .streams
        .iter()
        .map(|one| shifted(*one, later_ns))
        .zip(near.streams.iter().copied())
        .flat_map(|(out, back)| [out, back])
        .collect();
    let windows = near.window.zip(far.window);
    let window = windows.and_then(|(near, far)| {
        let start_ns = near.start_ns.max(moved(far.start_ns, later_ns));
        let end_ns = near.end_ns.min(moved(far.end_ns, later_ns));
        (end_ns > start_ns).then_some(Window { start_ns, end_ns, done: Amount::default() })
    });
    let mut notes = [near.notes, far.notes].concat();
    if window.is_none() && near.window.is_some() {
        let text = "There was no time in which bytes arrived both ways. A longer time gives a \
                    figure.";
        notes.push(Note::new("no-common-time", text));
    }
    let mut rows = far.load;
    rows.at_ns.iter_mut().for_each(|at| *at = at.saturating_add(later_ns));
    let mut load = near.load;
    add(&mut load, &rows, |_| ColumnMerge::Sum);
    let elapsed_ns = streams.iter().map(|stream| stream.stopped_ns).max().unwrap_or(0);
    Some(LoadResult { streams, window, load, notes, elapsed_ns, ..near })
}

/// What arrived both ways in the window.
pub fn done(samples: &Series, window: &Window, message_bytes: u64) -> Option<Amount> {
    let (start_ns, end_ns) = (window.start_ns as i64, window.end_ns as i64);
    let arrived = |name| samples.growth(name, start_ns, end_ns);
    let bytes = (arrived(network::OUTGOING)? + arrived(network::INCOMING)?).round() as u64;
    Some(Amount { read_bytes: bytes, read_ops: bytes / message_bytes.max(1), ..Amount::default() })
}

/// The samples of both ends as one, in the rows of the near end: each has senders and receivers,
/// and as many streams as the other.
pub fn join_samples(mut near: Series, far: &Series) -> Series {
    add(&mut near, far, |column| match column {
        network::OUTGOING => ColumnMerge::Other,
        network::INCOMING => ColumnMerge::Own,
        "rtt_ns" | "cwnd_bytes" => ColumnMerge::Mean,
        "rtt_min_ns" => ColumnMerge::Least,
        _ => ColumnMerge::Sum,
    });
    near
}

/// How a column of both ends becomes one.
#[derive(Clone, Copy)]
enum ColumnMerge {
    Sum,
    Mean,
    Least,
    Own,
    Other,
}

/// Adds the columns of `other`, read between its rows. The last row has all of both.
fn add(rows: &mut Series, other: &Series, of: impl Fn(&str) -> ColumnMerge) {
    for column in &mut rows.columns {
        let Some(mut theirs) = other.read_at(&column.name, &rows.at_ns) else { continue };
        let all = other.column(&column.name).and_then(|all| all.values.last());
        if let (Some(all), Some(last)) = (all, theirs.last_mut()) {
            *last = *all;
        }
        let of = of(&column.name);
        for (own, theirs) in column.values.iter_mut().zip(theirs) {
            *own = match of {
                ColumnMerge::Sum => own.saturating_add(theirs),
                ColumnMerge::Mean => (*own / 2).saturating_add(theirs / 2),
                ColumnMerge::Least => theirs.min(*own),
                ColumnMerge::Own => *own,
                ColumnMerge::Other => theirs,
            };
        }
    }
}

fn moved(at_ns: u64, later_ns: i64) -> u64 {
    at_ns.saturating_add_signed(later_ns)
}

fn shifted(one: Stream, later_ns: i64) -> Stream {
    Stream {
        started_ns: moved(one.started_ns, later_ns),
        pass_end_ns: one.pass_end_ns.map(|at_ns| moved(at_ns, later_ns)),
        stopped_ns: moved(one.stopped_ns, later_ns),
        ..one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::counters::series::{Column, ColumnKind};

    fn series(columns: &[(&str, &[u64])]) -> Series {
        let column = |(name, values): &(&str, &[u64])| Column {
            name: (*name).to_owned(),
            kind: ColumnKind::Counter,
            values: values.to_vec(),
        };
        let at_ns = (0..columns[0].1.len() as i64).map(|row| 100 * row).collect();
        Series { source: "tcp".into(), at_ns, columns: columns.iter().map(column).collect() }
    }

    fn half(started_ns: u64, window: (u64, u64), read_bytes: &[u64]) -> LoadResult {
        let total = Amount { read_bytes: *read_bytes.last().unwrap(), ..Amount::default() };
        LoadResult {
            started_monotonic_ns: started_ns,
            window: Some(Window { start_ns: window.0, end_ns: window.1, done: total }),
            streams: vec![Stream { started_ns: 10, stopped_ns: 200, total, ..Stream::default() }],
            load: series(&[("read_bytes", read_bytes)]),
            ..LoadResult::default()
        }
    }

    /// A window of one end alone has time in it in which the other way was not full yet.
    #[test]
    fn the_window_is_that_of_both_on_one_clock_and_each_stream_is_in_its_place() {
        let both = join(half(1000, (20, 180), &[0, 50, 100]), half(1030, (10, 160), &[0, 30, 60]));
        let both = both.unwrap();
        let window = both.window.unwrap();
        assert_eq!((window.start_ns, window.end_ns), (40, 180));
        let bytes: Vec<u64> = both.streams.iter().map(|one| one.total.read_bytes).collect();
        assert_eq!(bytes, [60, 100], "the first stream goes to the far end");
        assert_eq!((both.streams[0].started_ns, both.elapsed_ns), (40, 230));
        // 70 ns into the far end's time 21 of its bytes had come.
        assert_eq!(both.load.columns[0].values, [0, 50 + 21, 160]);
        assert!(both.notes.is_empty());
    }

    #[test]
    fn ends_that_never_ran_together_have_no_window_and_say_so() {
        let both = join(half(1000, (20, 60), &[0, 1]), half(1030, (40, 90), &[0, 1])).unwrap();
        assert_eq!(both.window, None);
        assert_eq!(both.notes[0].kind, "no-common-time");
        let more = LoadResult { streams: Vec::new(), ..half(0, (0, 1), &[0]) };
        assert!(join(half(0, (0, 1), &[0]), more).is_none());
    }

    #[test]
    fn each_way_is_counted_where_it_arrived_and_costs_are_those_of_both() {
        let near = series(&[
            (network::OUTGOING, &[0, 7, 7]),
            (network::INCOMING, &[0, 40, 80]),
            ("sender_cpu_ns", &[0, 5, 9]),
            ("rtt_ns", &[100, 100, 100]),
            ("rtt_min_ns", &[80, 80, 80]),
        ]);
        let far = series(&[
            (network::OUTGOING, &[0, 20, 60]),
            (network::INCOMING, &[0, 9, 9]),
            ("sender_cpu_ns", &[0, 1, 2]),
            ("rtt_ns", &[300, 300, 300]),
            ("rtt_min_ns", &[70, 90, 70]),
        ]);
        let joined = join_samples(near, &far);
        let values = |name: &str| joined.column(name).unwrap().values.clone();
        assert_eq!(values(network::OUTGOING), [0, 20, 60]);
        assert_eq!(values(network::INCOMING), [0, 40, 80]);
        assert_eq!(values("sender_cpu_ns"), [0, 6, 11]);
        assert_eq!((values("rtt_ns"), values("rtt_min_ns")), (vec![200; 3], vec![70, 80, 70]));
        let window = Window { start_ns: 100, end_ns: 200, done: Amount::default() };
        let done = done(&joined, &window, 16).unwrap();
        assert_eq!((done.read_bytes, done.read_ops), (80, 5));
    }
}
