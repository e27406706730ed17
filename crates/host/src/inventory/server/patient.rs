//! Puts many questions at once, and waits for the answers only so long: a broken disk or a dead
//! server may not answer for minutes, or ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::sys::clock;

/// Questions that are open at the same time.
const AT_ONCE_MAX: usize = 32;

/// The answers in the order of the questions; `None` for those that did not come within `patience`.
/// A thread whose question hangs is left behind, and puts no further one.
pub fn ask<Question, Answer>(
    questions: Vec<Question>,
    patience: Duration,
    put: impl Fn(&Question) -> Answer + Send + Sync + 'static,
) -> Vec<Option<Answer>>
where
    Question: Send + Sync + 'static,
    Answer: Send + 'static,
{
    let mut answers: Vec<Option<Answer>> = questions.iter().map(|_| None).collect();
    let shared = Arc::new((questions, put, AtomicUsize::new(0)));
    let (tell, told) = mpsc::channel();
    for _ in 0..answers.len().min(AT_ONCE_MAX) {
        let (shared, tell) = (shared.clone(), tell.clone());
        let work = move || {
            let (questions, put, next) = &*shared;
            while let Some((at, question)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                questions.get(at).map(|question| (at, question))
            } {
                // When nobody listens any more, nobody else is bothered.
                if tell.send((at, put(question))).is_err() {
                    break;
                }
            }
        };
        // With fewer threads it takes longer, and what is late is `None`.
        let _ = std::thread::Builder::new().name("ask".into()).spawn(work);
    }
    drop(tell);
    let begun_ns = clock::monotonic_ns();
    loop {
        let passed = Duration::from_nanos(clock::monotonic_ns().saturating_sub(begun_ns));
        match told.recv_timeout(patience.saturating_sub(passed)) {
            Ok((at, answer)) => answers[at] = Some(answer),
            Err(_) => return answers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_order_and_one_that_hangs_keeps_nobody() {
        let questions: Vec<u64> = (0..100).collect();
        let begun_ns = clock::monotonic_ns();
        let answers = ask(questions, Duration::from_secs(2), |question| {
            if *question == 7 {
                std::thread::sleep(Duration::from_secs(30));
            }
            question * 2
        });
        let took_ns = clock::monotonic_ns() - begun_ns;
        assert!((2_000_000_000..20_000_000_000).contains(&took_ns));
        for (at, answer) in answers.iter().enumerate() {
            let expected = if at == 7 { None } else { Some(at as u64 * 2) };
            assert_eq!(*answer, expected);
        }
        assert!(ask(Vec::<u64>::new(), Duration::ZERO, |question| *question).is_empty());
    }
}
