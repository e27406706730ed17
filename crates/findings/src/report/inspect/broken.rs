//! Servers whose every fact may be nonsense: paths, warnings and the page of them.

use serde_json::{Value, json};

use super::Inspection;
use crate::analysis::path::paths;
use crate::warning::warnings;
use base::stats::testing::{Random, long};
use facts::inventory::server::Server;
use host::inventory::recording::Recording;
use host::inventory::server;

/// A whole number below `below`.
fn whole(random: &mut Random, below: usize) -> usize {
    ((random.uniform() * below as f64) as usize).min(below.saturating_sub(1))
}

/// What a fact may become.
fn nonsense(random: &mut Random, was: &Value) -> Value {
    // Larger than any that a file of /sys can say in 64 bits, whatever its unit.
    let numbers = [0.0, 1.0, -1.0, 1e-300, 1e300, 4_294_967_295.0, 9e18, 0.5];
    let words = ["", "0", "pci0000:00", "\u{1b}[2J", "sda", "0000:00:00.0", "\u{202e}x\n"];
    match (was, whole(random, 4)) {
        (_, 0) => Value::Null,
        (Value::Array(list), 1) => json!(list.iter().chain(list).collect::<Vec<_>>()),
        (Value::Array(_), _) => json!([]),
        (Value::Number(number), _) if number.is_u64() => {
            let large = [0, 1, 2, 3, 127, u64::from(u32::MAX), u64::MAX, 1 << 53];
            json!(large[whole(random, large.len())])
        }
        (Value::Number(_), _) => json!(numbers[whole(random, numbers.len())]),
        (Value::String(_), _) => json!(words[whole(random, words.len())]),
        (Value::Bool(yes), _) => json!(!yes),
        (other, _) => other.clone(),
    }
}

/// Walks down to some fact and changes it.
fn change(random: &mut Random, value: &mut Value) {
    let deeper = whole(random, 8) > 0;
    match value {
        Value::Array(list) if deeper && !list.is_empty() => {
            let place = whole(random, list.len());
            change(random, &mut list[place]);
        }
        Value::Object(members) if !members.is_empty() => {
            let place = whole(random, members.len());
            if let Some(member) = members.values_mut().nth(place) {
                change(random, member);
            }
        }
        other => *other = nonsense(random, other),
    }
}

/// Some thousand servers; forty times as many with BRICKYARD_LONG.
#[test]
fn no_nonsense_breaks_the_paths_the_warnings_or_the_page() {
    let rounds = if long() { 10_000 } else { 250 };
    let mut read = 0;
    for name in ["t610-x4", "two-socket-nvme", "laptop", "qemu-sata"] {
        let sound = json!(server::server(&Recording::open(name).host()));
        for seed in 0..rounds {
            let mut random = Random::new(seed);
            let mut value = sound.clone();
            for _ in 0..1 + whole(&mut random, 8) {
                change(&mut random, &mut value);
            }
            // What cannot be read back is refused where it is read.
            let Ok(server) = serde_json::from_value::<Server>(value) else { continue };
            read += 1;
            let page = std::panic::catch_unwind(|| {
                let inspection = Inspection {
                    brickyard: "0".to_owned(),
                    paths: paths(&server, None),
                    bandwidth: None,
                    warnings: warnings(&server),
                    server,
                };
                (inspection.text(), inspection.json().is_ok())
            });
            let what = format!("{name}, seed {seed}");
            let Ok((text, json)) = page else { panic!("{what}") };
            assert!(json, "{what}");
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{what}");
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest.is_some_and(|columns| columns <= 100), "{what}: {widest:?}");
            let absurd = |word: &str| ["NaN", "inf", "-inf"].contains(&word);
            let line = text.lines().find(|line| line.split([' ', '(']).any(absurd));
            assert_eq!(line, None, "{what}");
        }
    }
    assert!(read > rounds, "most can be read: {read}");
}
