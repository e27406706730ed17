//! `brickyard verify` on files of a user, on a disk on which they rot while it reads them.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::disk::{beside_a_guest, usable};
use crate::liar::{Harm, Liar};
use crate::run::{brickyard, draw, parse};

const FILE_BYTES: usize = 2 << 20;

#[test]
fn files_that_rot_between_two_readings_are_found_each_by_what_happened() {
    if !usable("verify on a lying disk", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut liar = Liar::new(48);
    let names = ["flipped", "misread", "spoiled", "sound"];
    let mut sectors = Vec::new();
    for name in names {
        let mut bytes = vec![0; FILE_BYTES];
        let seed = draw(&format!("{name}: seed"), 0, u64::MAX);
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
        std::fs::write(liar.path.join(name), &bytes).expect("written");
        let sector = draw(&format!("{name}: sector"), 0, FILE_BYTES as u64 / 512) as usize;
        sectors.push((sector as u64 * 512, bytes[sector * 512..][..32].to_vec()));
    }
    liar.drop_caches();
    let read_before = liar.read_bytes();

    let folder = tempfile::tempdir().expect("a folder");
    let paths = names.map(|name| liar.path.join(name).display().to_string());
    let mut arguments = vec!["verify", "--hours", "0.0014", "--json"];
    arguments.extend(paths.iter().map(String::as_str));
    let child = brickyard(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let start = Instant::now();
    // Each has been read once, at least.
    while liar.read_bytes() - read_before < 2 * (names.len() * FILE_BYTES) as u64 {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not read from the device");
        std::thread::sleep(Duration::from_millis(5));
    }
    let bit = draw("bit", 0, 512 * 8);
    liar.harm(&sectors[0].1, Harm::Flip(bit));
    liar.harm(&sectors[1].1, Harm::FlipOnce(bit));
    liar.harm(&sectors[2].1, Harm::Spoil);
    let output = child.wait_with_output().expect("it ends");
    let document = parse(&output);
    assert_eq!(output.status.code(), Some(1), "{document:#}");

    let faults = document["verify"]["integrity"]["faults"].as_array().expect("faults");
    let of = |name: &str| -> Vec<_> {
        let whole = |fault: &&serde_json::Value| {
            fault["file"].as_str().is_some_and(|file| file.ends_with(name))
        };
        faults.iter().filter(whole).collect()
    };
    for (name, kind, lasting) in [
        ("flipped", "mismatch", "persistent"),
        ("misread", "bit-flip", "transient"),
        ("spoiled", "unreadable", "persistent"),
    ] {
        let found = of(name);
        assert_eq!(found.len(), 1, "{name}: {document:#}");
        assert_eq!(
            (found[0]["kind"].as_str(), found[0]["lasting"].as_str()),
            (Some(kind), Some(lasting))
        );
    }
    assert!(of("sound").is_empty(), "{document:#}");
    // The one that cannot be read is told to the 4 KiB.
    let (at, _) = sectors[2];
    assert_eq!(of("spoiled")[0]["offset"].as_u64(), Some(at / 4096 * 4096), "{document:#}");
}
