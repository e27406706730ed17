//! Stores with bytes that turned: the same figures, or a word and no exit status 0.

use std::path::Path;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use experiment::plan::blocked;
use findings::analysis::compare::THRESHOLD;
use findings::report::{fixture, query};
use store::query::{Bounds, Query};

/// What a command prints, and whether it says that something is damaged; its words where it
/// refuses.
type Given = Result<(Vec<u8>, bool), String>;

fn words(error: Error) -> String {
    format!("{error}")
}

/// As `brickyard report CAMPAIGN --format NAME` does, or without a number.
fn reported(path: &Path, number: Option<u64>, name: &str) -> Given {
    let store = Store::open_read_only(path).map_err(words)?;
    let campaigns = store.campaigns().map_err(words)?;
    let newest = campaigns.last().map(|campaign| campaign.id);
    let wanted = number.or(newest);
    let campaign = campaigns.into_iter().find(|campaign| Some(campaign.id) == wanted);
    let campaign = campaign.ok_or("there is no such campaign")?;
    let id = campaign.id;
    let samples = StoredSamples { store: &store, campaign: id };
    let retrieved = Retrieved::new(&store, campaign).map_err(words)?;
    let format = findings::report::find(name).unwrap();
    let bytes = format.bytes(&retrieved.input(&samples)).map_err(|error| error.to_string())?;
    Ok((bytes, !store.damage_of(id, number.is_none()).is_empty()))
}

/// As `brickyard compare 1 2 --format json` does.
fn compared(path: &Path) -> Given {
    let side = |id: u64| -> Result<Retrieved, String> {
        let store = Store::open_read_only(path).map_err(words)?;
        let campaigns = store.campaigns().map_err(words)?;
        let campaign = campaigns.into_iter().find(|campaign| campaign.id == id);
        Retrieved::new(&store, campaign.ok_or("there is no such campaign")?).map_err(words)
    };
    let (first, second) = (side(1)?, side(2)?);
    let asked = ComparisonRequest { threshold: THRESHOLD, figure: None };
    let mut formats = findings::report::compare::FORMATS.iter();
    let format = formats.find(|format| format.name == "json").unwrap();
    let (text, _) =
        side_by_side(("1", &first), &[("2", &second)], &asked, &View::default(), format)
            .map_err(|error| error.to_string())?;
    Ok((text.into_bytes(), !(first.damage.is_empty() && second.damage.is_empty())))
}

/// As `brickyard query SQL --format json` does; what has no figure yet is computed, and kept.
fn asked(path: &Path, sql: &str) -> Given {
    let query = Query::open(path, &mut |_, _| {}).map_err(words)?;
    let bounds = Bounds { time: Duration::from_secs(60), rows: 10_000 };
    let answer = query.ask(sql, bounds).map_err(words)?;
    let mut formats = query::FORMATS.iter();
    let format = formats.find(|format| format.name == "json").unwrap();
    let text = (format.render)(&answer).map_err(|error| error.to_string())?;
    Ok((text.into_bytes(), !answer.damage.is_empty()))
}

/// Everything that a store is asked for here.
fn all(path: &Path) -> Vec<(&'static str, Given)> {
    vec![
        ("report --format json", reported(path, None, "json")),
        ("report 1 --format csv", reported(path, Some(1), "csv")),
        ("compare 1 2", compared(path)),
        ("query trials", asked(path, "SELECT * FROM trials ORDER BY campaign, trial")),
        ("query trial", asked(path, "SELECT * FROM trial ORDER BY id")),
        ("query note", asked(path, "SELECT * FROM note ORDER BY trial, kind, text")),
    ]
}

/// A store of three campaigns in one file, with its cache or without.
fn stored(path: &Path, cache: bool) -> Vec<u8> {
    let of = fixture::campaign_of(blocked(&fixture::planned()[..2], 2, 1), 3);
    let mut store = Store::open(path).unwrap();
    store.repeatable(true).unwrap();
    for uid in ["one", "two", "three"] {
        let id = store.begin(&Campaign { uid: uid.into(), ..of.campaign.clone() }).unwrap();
        of.records.iter().for_each(|record| store.append(id, record).unwrap());
        store.end(id, 1_795_297_999_000_000_000).unwrap();
    }
    drop(store);
    let connection = rusqlite::Connection::open(path).unwrap();
    let empty = if cache { "" } else { "DELETE FROM derived; DELETE FROM derived_name;" };
    connection.execute_batch(&format!("{empty} PRAGMA journal_mode = DELETE; VACUUM")).unwrap();
    drop(connection);
    std::fs::read(path).unwrap()
}

/// Makes one thing wrong; says what.
fn damage(bytes: &mut Vec<u8>, random: &mut Xoshiro256PlusPlus) -> String {
    let place = (random.next_u64() % bytes.len() as u64) as usize;
    let page = place / 4096 * 4096;
    match random.next_u64() % 8 {
        0 => {
            bytes[place] = random.next_u64() as u8;
            format!("byte {place} is {}", bytes[place])
        }
        1 => {
            bytes[page..].iter_mut().take(4096).for_each(|byte| *byte = 0);
            format!("page at {page} is zero")
        }
        2 => {
            bytes.truncate(place);
            format!("cut at {place}")
        }
        _ => {
            let bit = random.next_u64() % 8;
            bytes[place] ^= 1 << bit;
            format!("bit {bit} of byte {place} turned")
        }
    }
}

/// Makes a store of these bytes: what one that was there left beside it must not mend, or harm, it.
fn put(path: &Path, bytes: &[u8]) {
    for beside in ["-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(format!("{}{beside}", path.display()));
    }
    std::fs::write(path, bytes).unwrap();
}

/// Of 300 stores with a flipped bit 23 gave other figures with exit status 0: a count that turned
/// is a count.
#[test]
#[expect(clippy::print_stdout, reason = "a seed that can be repeated")]
fn a_store_with_damage_gives_the_same_figures_or_says_what_is_damaged() {
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|long| long == "1");
    let seed = std::env::var("BRICKYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(host::sys::clock::unix_ns);
    println!("BRICKYARD_SEED={seed}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let (mut said, mut same, mut refused) = (0, 0, 0);
    for cache in [true, false] {
        let path = folder.path().join(format!("{cache}.db"));
        let whole = stored(&path, cache);
        let due: Vec<_> = all(&path).into_iter().map(|(_, given)| given.unwrap()).collect();
        assert!(due.iter().all(|(bytes, damaged)| bytes.len() > 10 && !damaged));
        for round in 0..if long { 1500 } else { 150 } {
            let mut bytes = whole.clone();
            let what = damage(&mut bytes, &mut random);
            let path = folder.path().join("damaged.db");
            put(&path, &bytes);
            for ((command, given), (right, _)) in all(&path).into_iter().zip(&due) {
                match given {
                    Err(_) => refused += 1,
                    Ok((_, true)) => said += 1,
                    Ok((bytes, false)) if bytes == *right => same += 1,
                    Ok((bytes, false)) => {
                        let other = String::from_utf8_lossy(&bytes);
                        let right = String::from_utf8_lossy(right);
                        let mut lines = other.lines().zip(right.lines());
                        let line = lines.find(|(other, right)| other != right);
                        panic!("seed {seed}, round {round}, {what}: {command} gives {line:?}");
                    }
                }
            }
        }
    }
    println!("{same} the same, {said} said, {refused} refused");
    assert!(same > 0 && said + refused > 0, "{same} {said} {refused}");
}

/// Each count of a trial, each row beside it: whatever changed says so, and only that trial goes.
#[test]
fn whatever_changes_of_a_trial_is_noticed_and_only_that_trial_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let whole = stored(&path, false);
    let numbers = |path: &Path| -> (Vec<u32>, Vec<String>) {
        let store = Store::open_read_only(path).unwrap();
        let campaign = store.campaign(1).unwrap().unwrap();
        let retrieved = Retrieved::new(&store, campaign).unwrap();
        let said = retrieved.damage.iter().map(ToString::to_string).collect();
        (retrieved.records.iter().map(|record| record.trial.number).collect(), said)
    };
    let (before, said) = numbers(&path);
    assert!(before.contains(&2) && said.is_empty(), "{before:?} {said:?}");
    let id = "(SELECT id FROM trial WHERE campaign = 1 AND number = 2)";
    for (sql, trial) in [
        ("UPDATE trial SET window_read_bytes = window_read_bytes + 1 WHERE id = ID", true),
        ("UPDATE trial SET settings = replace(settings, '\"', '\" ') WHERE id = ID", true),
        ("UPDATE trial SET outcome = 'interrupted' WHERE id = ID", true),
        ("UPDATE sample SET rows = rows + 1 WHERE trial = ID", true),
        ("DELETE FROM sample WHERE trial = ID", true),
        ("INSERT OR REPLACE INTO histogram VALUES (ID, 'read', x'00')", true),
        ("INSERT INTO note SELECT ID, 'steal', 'none'", true),
        ("UPDATE seal SET parts = 0 WHERE trial = ID", true),
        ("DROP TRIGGER seal_trial_gone; DELETE FROM trial WHERE id = ID; GONE", true),
        ("DROP TRIGGER seal_gone; DELETE FROM seal WHERE trial = ID; SGONE", true),
        ("UPDATE campaign SET inventory = '{}' WHERE id = 1", false),
        ("UPDATE campaign SET host = 'another'", false),
        ("UPDATE seal_campaign SET trials = 3", false),
    ] {
        std::fs::write(&path, &whole).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        let trigger = |name: &str| -> String {
            let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
            connection.query_row(sql, [name], |row| row.get(0)).unwrap()
        };
        let sql = sql.replace("ID", id);
        let sql = sql.replace("SGONE", &trigger("seal_gone"));
        let sql = sql.replace("GONE", &trigger("seal_trial_gone"));
        connection.execute_batch(&sql).unwrap();
        drop(connection);
        let (left, said) = numbers(&path);
        assert!(!said.is_empty(), "{sql}: nothing is said");
        if !trial {
            assert_eq!(left, before, "{sql}");
            assert!(said.iter().all(|said| said.starts_with("campaign 1 is damaged")), "{said:?}");
            continue;
        }
        assert!(said.iter().any(|said| said.starts_with("trial 2 of campaign 1")), "{said:?}");
        let others: Vec<u32> = before.iter().copied().filter(|number| *number != 2).collect();
        assert_eq!(left, others, "{sql}");
        let store = Store::open_read_only(&path).unwrap();
        let checked = store.check(&mut |_| {}).unwrap();
        assert!(checked.damaged.iter().any(|it| it.trial == Some(2)), "{sql}: {checked:?}");
        let input = Retrieved::new(&store, store.campaign(1).unwrap().unwrap()).unwrap();
        let samples = StoredSamples { store: &store, campaign: 1 };
        let text = findings::report::find("text").unwrap().bytes(&input.input(&samples)).unwrap();
        let text = String::from_utf8(text).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("trial 2 of campaign 1 is damaged"), "{text}");
    }
}

/// Turned bits in a copy of a store, one at a time: what a query of the views gives for each.
fn turned(folder: &Path, whole: &[u8], bits: &[(usize, u8)]) -> (usize, usize) {
    let (mut said, mut same) = (0, 0);
    let (all, path) = ("SELECT * FROM trials ORDER BY campaign, trial", folder.join("turned.db"));
    put(&path, whole);
    let (right, _) = asked(&path, all).unwrap();
    for (place, bit) in bits {
        let mut bytes = whole.to_owned();
        bytes[*place] ^= 1 << bit;
        put(&path, &bytes);
        match asked(&path, all) {
            Err(_) | Ok((_, true)) => said += 1,
            Ok((given, false)) => {
                assert!(given == right, "bit {bit} of byte {place}: other rows, and no word");
                same += 1;
            }
        }
    }
    (said, same)
}

/// A bit turned in a key of the page above the rows of trials: none of two trials could be found by
/// its number, though each was there for who read all of them. So `SELECT * FROM trials` gave it
/// without its start and its time, with exit status 0. A bit of the row itself is told as well.
#[test]
fn what_a_view_takes_of_a_trial_s_own_row_is_held_against_its_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let whole = stored(&path, true);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let number = |sql: &str| -> usize {
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    let (size, root) = (
        number("PRAGMA page_size"),
        number("SELECT rootpage FROM sqlite_schema WHERE name = 'trial'"),
    );
    let page = (root - 1) * size;
    assert_eq!(whole[page], 5, "no page above the rows: more trials are needed");
    // A child's number of four bytes, then the key.
    let cells = usize::from(whole[page + 3]) << 8 | usize::from(whole[page + 4]);
    let cell = |place: usize| {
        let at = page + 12 + 2 * place;
        page + (usize::from(whole[at]) << 8 | usize::from(whole[at + 1]))
    };
    let keys: Vec<(usize, u8)> =
        (0..cells).flat_map(|place| (0..3).map(move |bit| (cell(place) + 4, bit))).collect();
    let (said, _) = turned(folder.path(), &whole, &keys);
    assert!(said > 0, "none of {} bits of {cells} keys", keys.len());
    // The time that a trial took, where it stands in a row.
    let took = 2_000_000_000_u32.to_be_bytes();
    let places = whole.windows(4).enumerate().filter(|(_, four)| *four == took);
    let places: Vec<(usize, u8)> = places.map(|(place, _)| (place + 3, 0)).collect();
    let trials = number("SELECT count(*) FROM trial");
    let (said, _) = turned(folder.path(), &whole, &places);
    assert!(said >= trials, "{said} of {} for {trials} trials", places.len());
}

/// A bit turned in the index of the cache: it led to one row twice and to another never, and both
/// had the right checksum. `SELECT * FROM trials` gave as many rows as there are trials.
#[test]
fn no_index_of_the_cache_hides_a_row_or_shows_one_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let whole = stored(&path, true);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let roots = |name: &str| -> usize {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        connection.query_row(sql, [name], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    for index in ["derived_version", "derived_light_campaign"] {
        let page = (roots(index) - 1) * 4096;
        assert_eq!(whole[page], 10, "{index} has one page");
        let content = usize::from(whole[page + 5]) << 8 | usize::from(whole[page + 6]);
        let places = page + content..page + 4096;
        let bits: Vec<(usize, u8)> =
            places.flat_map(|place| (0..3).map(move |bit| (place, bit))).collect();
        assert!(bits.len() > 30, "{index}: {}", bits.len());
        turned(folder.path(), &whole, &bits);
    }
    // The version in a row is another than in the index, which was read in its place: the row was
    // missing, and not a word.
    let sql = "SELECT version FROM derived NOT INDEXED LIMIT 1";
    let version: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    let version = version.to_be_bytes();
    let places = whole.windows(8).enumerate().filter(|(_, eight)| *eight == version);
    let bits: Vec<(usize, u8)> = places.map(|(place, _)| (place + 6, 1)).collect();
    assert!(bits.len() >= 24, "in rows and in the index: {}", bits.len());
    turned(folder.path(), &whole, &bits);
}

/// Who removes a trial, or a campaign, by SQL and on purpose damages nothing.
#[test]
fn what_is_removed_on_purpose_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    stored(&path, true);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sql =
        "DELETE FROM trial WHERE campaign = 1 AND number = 2; DELETE FROM campaign WHERE id = 3";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let checked = Store::open_read_only(&path).unwrap().check(&mut |_| {}).unwrap();
    assert!(checked.is_whole() && checked.campaigns == 2, "{checked:?}");
    let (_, damaged) = reported(&path, None, "csv").unwrap();
    assert!(!damaged);
}
