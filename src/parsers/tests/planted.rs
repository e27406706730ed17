//! Parsers that fail on purpose at the third input that they are given: the harness must see it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::super::{Parser, Seeds};

/// One of each kind.
pub const PARSERS: &[Parser] = &[
    planted("harness-fine", |_| {}),
    planted("harness-panics", |_| assert!(!is_third(), "planted")),
    planted("harness-hangs", |_| {
        while is_third() {
            COUNT.fetch_sub(1, Relaxed);
        }
    }),
    planted("harness-swells", |_| {
        if is_third() {
            std::hint::black_box(vec![1_u8; 2 << 30]);
        }
    }),
    planted("harness-recurs", |_| {
        if is_third() {
            std::hint::black_box(deep(1));
        }
    }),
];

static COUNT: AtomicUsize = AtomicUsize::new(0);

const fn planted(name: &'static str, feed: fn(&[u8])) -> Parser {
    Parser { name, seeds: Seeds::Texts(&["a seed", "another"]), feed }
}

fn is_third() -> bool {
    COUNT.fetch_add(1, Relaxed) == 2
}

/// Deeper than any stack.
fn deep(level: u64) -> u64 {
    let room = std::hint::black_box([level; 512]);
    if level == u64::MAX { room[0] } else { deep(level + 1) ^ std::hint::black_box(room)[7] }
}
