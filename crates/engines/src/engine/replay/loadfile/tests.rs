//! Tests of the parser.

use super::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Lines as dbench's own loadfile has them, one of each kind.
const EACH: &str = r#"Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 16385 NT_STATUS_OK
Close 16385 NT_STATUS_OK
NTCreateX "\clients\client1\none" 0x40 0x1 9935 NT_STATUS_OBJECT_NAME_NOT_FOUND
QUERY_PATH_INFORMATION "\clients\client1\~dm" 1004 NT_STATUS_OBJECT_PATH_NOT_FOUND
FIND_FIRST "\clients\client1\F.*" 260 1366 0 NT_STATUS_NO_SUCH_FILE
# a remark

NTCreateX "\clients\client1\f" 0x40 0x5 7 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
WriteX 7 65534 1 1 NT_STATUS_OK
ReadX 7 0 4096 100 NT_STATUS_OK
QUERY_FILE_INFORMATION 7 258 NT_STATUS_OK
SET_FILE_INFORMATION 7 1004 NT_STATUS_OK
LockX 7 2147483538 1 NT_STATUS_OK
UnlockX 7 2147483538 1 0x00000000
0.125 Flush 7 SUCCESS
Close 7 *
Rename "\clients\client1\f" "\clients\client1\g" NT_STATUS_OK
Unlink "\clients\client1\g" 0x6 NT_STATUS_OK
Unlink "\clients\client1\g" 0xC0000034
Rmdir "\clients\client1\d" NT_STATUS_DIRECTORY_NOT_EMPTY
"#;

#[test]
fn every_operation_of_dbench_is_read() {
    let file = parse(EACH).unwrap();
    assert_eq!(file.lines.len(), 21);
    assert_eq!(file.paths[..2], ["clients/client1", "clients"]);
    let verb = |number| file.lines.iter().find(|line| line.number == number).unwrap().verb;
    assert_eq!(verb(1), Verb::Deltree(0));
    let made =
        Verb::Create { path: 0, directory: true, disposition: Disposition::Make, handle: 16385 };
    assert_eq!(verb(3), made);
    assert_eq!(verb(13), Verb::Read { handle: 7, offset: 0, size: 4096, comes: 100 });
    assert_eq!(verb(18), Verb::Flush(7));
    assert_eq!(verb(17), Verb::Lock { handle: 7, offset: 2_147_483_538, size: 1, unlock: true });
    let statuses: Vec<Status> = file.lines.iter().skip(18).map(|line| line.status).collect();
    assert_eq!(statuses, [Status::Done, Status::Absent, Status::NotEmpty]);
    let newer = EACH.replace("QUERY_PATH_INFORMATION", "Qpathinfo").replace("FIND_FIRST", "Find");
    assert_eq!(parse(&newer), Ok(file));
}

#[test]
fn what_cannot_be_replayed_is_refused_with_its_line() {
    for (line, word) in [
        ("Bogus 1 NT_STATUS_OK", "called Bogus"),
        ("WriteX 1 0 10 5 NT_STATUS_OK", "of which 5"),
        ("ReadX 1 0 10 11 NT_STATUS_OK", "cannot yield 11"),
        ("WriteX 1 0 99999999999 99999999999 NT_STATUS_OK", "at once"),
        ("WriteX 1 18446744073709551615 1 1 NT_STATUS_OK", "offset"),
        ("LockX 1 0 0 NT_STATUS_OK", "cannot be locked"),
        (r#"Unlink "\a\..\b" 0x6 NT_STATUS_OK"#, "below the directory"),
        (r#"Unlink "\a\*" 0x6 NT_STATUS_OK"#, "Find alone"),
        (r#"Mkdir "" NT_STATUS_OK"#, "below the directory"),
        (r#"Mkdir "\a NT_STATUS_OK"#, "quotation mark is missing"),
        (r#"Mkdir \a NT_STATUS_OK"#, "quotation marks"),
        (r#"NTCreateX "\a" 0x1000 0x2 1 NT_STATUS_OK"#, "options 0x1000"),
        (r#"NTCreateX "\a" 0x40 0x9 1 NT_STATUS_OK"#, "disposition 0x9"),
        ("SET_FILE_INFORMATION 7 1020 NT_STATUS_OK", "level 1020"),
        ("Flush 7 NT_STATUS_WRONG_VOLUME", "NT_STATUS_WRONG_VOLUME"),
        ("Flush 7 NT_STATUS_OK more", "follow the status"),
        ("Flush 7", "too early"),
        ("1x Flush 7 NT_STATUS_OK", "neither a time"),
        ("Flush -7 NT_STATUS_OK", "no number"),
    ] {
        let wrong = parse(&format!("# first\nQUERY_FS_INFORMATION 1 NT_STATUS_OK\n{line}\n"));
        let wrong = wrong.map(|_| ()).unwrap_err();
        assert_eq!(wrong.line, 3, "{line}");
        assert!(wrong.what.contains(word), "{line}: {}", wrong.what);
    }
    assert_eq!(parse("\n# nothing\n").unwrap_err().what, "there is no operation in it");
}

#[test]
fn a_loadfile_cut_anywhere_is_read_up_to_there_or_refused_at_its_last_line() {
    let whole = parse(EACH).unwrap();
    for end in 0..EACH.len() {
        let cut = &EACH[..end];
        match parse(cut) {
            Ok(file) => {
                let kept = file.lines.len() - 1;
                assert_eq!(file.lines[..kept], whole.lines[..kept], "{end}");
            }
            Err(wrong) => assert!(wrong.line as usize >= cut.lines().count().min(1), "{end}"),
        }
    }
}

/// Bytes are changed, lost and doubled at random: nothing panics, and no path leaves the directory.
#[test]
fn a_damaged_loadfile_never_leads_out_of_the_directory() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    for _ in 0..1000 {
        let mut bytes = EACH.as_bytes().to_vec();
        for _ in 0..1 + random.next_u64() % 8 {
            let place = (random.next_u64() % bytes.len() as u64) as usize;
            match random.next_u64() % 3 {
                0 => bytes[place] = b"\\./\"0x*\n 9"[(random.next_u64() % 10) as usize],
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, bytes[place]),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let Ok(file) = parse(&text) else { continue };
        for path in &file.paths {
            let inside = |name: &str| !matches!(name, "" | "." | "..");
            assert!(!path.starts_with('/') && path.split('/').all(inside), "{path}");
        }
    }
}
