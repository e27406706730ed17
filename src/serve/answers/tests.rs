//! What every address gives, and what no request does: a panic, a 500, a byte in the store.

use std::path::Path;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use proptest::prelude::*;

use super::*;
use crate::serve::ADDRESS;
use crate::serve::testing::{Asker, Got, MARKUP, block_on, stored};
use findings::report::FORMATS;

/// What stands around every answer, of whatever kind.
fn around(got: &Got) {
    let field = |name: &str| got.headers.get(name).map(|it| it.to_str().unwrap());
    assert_eq!(field("x-content-type-options"), Some("nosniff"));
    assert_eq!(field("referrer-policy"), Some("no-referrer"));
    assert_eq!(field("x-frame-options"), Some("DENY"));
    assert_eq!(field("cache-control"), Some("no-store"));
    assert_eq!(field("cross-origin-resource-policy"), Some("same-origin"));
    let policy = field("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(policy.ends_with("frame-ancestors 'none'") && !policy.contains("eval"), "{policy}");
}

#[test]
fn every_address_gives_its_page_with_all_that_stands_around_it() {
    let folder = stored();
    let asker = Asker::new(&folder.path().join("a.db"));
    block_on(async {
        for (address, status, says) in [
            ("/", StatusCode::OK, "Older campaigns"),
            ("/campaign/1", StatusCode::OK, "<h2 id=\"answer\">The answer</h2>"),
            ("/campaign/4", StatusCode::OK, "Nothing was measured"),
            ("/compare?campaign=2&campaign=1", StatusCode::OK, "<h2>B against A</h2>"),
            ("/query", StatusCode::OK, "What can be asked"),
            ("/query?sql=SELECT+42", StatusCode::OK, "<td class=\"number\">42</td>"),
            ("/query?sql=%20", StatusCode::OK, "What can be asked"),
            ("/campaign/5", StatusCode::NOT_FOUND, "the store has no campaign 5"),
            ("/campaign/18446744073709551615", StatusCode::NOT_FOUND, "no campaign"),
            ("/campaign/01", StatusCode::NOT_FOUND, "no such page"),
            ("/campaign/1/docx", StatusCode::NOT_FOUND, "no such page"),
            ("/query/docx", StatusCode::NOT_FOUND, "no such page"),
            ("/../a.db", StatusCode::NOT_FOUND, "no such page"),
            ("/compare", StatusCode::BAD_REQUEST, "two campaigns at least"),
            ("/compare?campaign=1&campaign=1", StatusCode::BAD_REQUEST, "two campaigns at least"),
            ("/compare?campaign=1&campaign=x", StatusCode::BAD_REQUEST, "no number"),
            ("/compare?campaign=1&campaign=9", StatusCode::NOT_FOUND, "no campaign 9"),
            ("/query?sql=SELEC+1", StatusCode::BAD_REQUEST, "near &quot;SELEC&quot;"),
        ] {
            let got = asker.get(address).await;
            assert_eq!(got.status, status, "{address}");
            let absent = says == "Older campaigns";
            assert!(got.body.contains(says) != absent, "{address}: {:.3000}", got.body);
            assert_eq!(got.headers["content-type"], "text/html; charset=utf-8", "{address}");
            assert!(got.body.contains("<a href=\"/query\">"), "{address}: a way to go on");
            around(&got);
        }
        let many: Vec<String> = (1..=9).map(|id| format!("campaign={id}")).collect();
        let got = asker.get(&format!("/compare?{}", many.join("&"))).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST);
        let got = asker.get("/favicon.ico").await;
        assert_eq!(got.status, StatusCode::NO_CONTENT);
        around(&got);
    });
}

#[test]
fn every_format_is_saved_under_a_name_of_its_own_and_as_the_command_prints_it() {
    let folder = stored();
    let path = folder.path().join("a.db");
    let asker = Asker::new(&path);
    block_on(async {
        for format in FORMATS {
            let got = asker.get(&format!("/campaign/1/{}", format.name)).await;
            assert_eq!(got.status, StatusCode::OK, "{}", format.name);
            let name =
                format!("attachment; filename=\"brickyard-campaign-1.{}\"", format.extension);
            assert_eq!(got.headers["content-disposition"], name.as_str());
            let media = got.headers["content-type"].to_str().unwrap();
            assert!(media.ends_with("; charset=utf-8") || media.starts_with("application/"));
            let whole = campaign::file(&path, 1, format).unwrap();
            assert_eq!(got.body, String::from_utf8_lossy(&whole.body), "{}", format.name);
            around(&got);
        }
        for (format, says) in [("csv", "a,b\n1,x\n"), ("json", "\"rows\":[[1,\"x\"]]")] {
            let got = asker.get(&format!("/query/{format}?sql=SELECT+1+AS+a,'x'+AS+b")).await;
            assert_eq!(got.status, StatusCode::OK);
            assert!(got.body.contains(says), "{}", got.body);
            let name = format!("attachment; filename=\"brickyard-query.{format}\"");
            assert_eq!(got.headers["content-disposition"], name.as_str());
        }
        let got = asker.get("/query/csv?sql=SELECT+nothing").await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST);
        assert!(!got.headers.contains_key("content-disposition"), "an error is shown, not saved");
    });
}

/// A page without what stands in its scripts, which write markup of their own.
fn without_scripts(page: &str) -> String {
    let rest = |part: &str| part.split_once("</script>").map(|(_, rest)| rest.to_owned());
    let parts = page.split("<script").enumerate();
    parts.map(|(place, part)| if place == 0 { part.into() } else { rest(part).unwrap() }).collect()
}

#[test]
fn hostile_names_are_text_on_every_page() {
    let folder = stored();
    let asker = Asker::new(&folder.path().join("a.db"));
    let sql = |sql: &str| asset::address("/query", &[("sql", sql)]);
    let addresses = [
        "/".to_owned(),
        asset::address("/", &[("filter", MARKUP)]),
        "/campaign/3".to_owned(),
        "/compare?campaign=1&campaign=3".to_owned(),
        sql("SELECT plan, host FROM campaign WHERE id = 3"),
        sql(&format!("SELECT '{MARKUP}")),
        sql(&format!("SELECT 1 AS \"{}\"", MARKUP.replace('"', "\"\""))),
        sql(&format!("SELECT * FROM \"{}\"", MARKUP.replace('"', "\"\""))),
        sql(&format!("SELECT \"{}\" FROM [{MARKUP}]", MARKUP.replace('"', "\"\""))),
        format!("/{}", asset::address("", &[(MARKUP, MARKUP)])),
    ];
    block_on(async {
        for address in &addresses {
            let got = asker.get(address).await;
            let markup = without_scripts(&got.body);
            assert!(!markup.contains("<img") && !markup.contains("<b>"), "{address}");
            // Of ours there is one a page; of a report's three, and three more with an explorer.
            let ends = got.body.matches("</script>").count();
            assert!([1, 3, 6].contains(&ends), "{address}: {ends}");
            assert!(got.body.contains("&lt;img src=x") || !address.contains("img"), "{address}");
        }
    });
}

#[test]
fn the_filter_shows_those_with_all_words_and_pages_go_on_where_one_ends() {
    let folder = stored();
    let path = folder.path().join("a.db");
    {
        let mut store = store::Store::open(&path).unwrap();
        store.repeatable(true).unwrap();
        for number in 5..=230 {
            let plan = format!("many {}", number % 7);
            let uid = format!("n{number}");
            let campaign = experiment::campaign::Campaign { uid, plan, ..Default::default() };
            store.begin(&campaign).unwrap();
        }
    }
    let rows = |got: &Got| got.body.matches("<tr data-words=").count();
    let asker = Asker::new(&path);
    block_on(async {
        let first = asker.get("/").await;
        assert_eq!(rows(&first), 200);
        assert!(!first.body.contains("data-whole"), "the script must not filter a part");
        let next = first.body.split_once("rel=\"next\" href=\"").unwrap().1;
        let next = next.split_once('"').unwrap().0.replace("&amp;", "&");
        let second = asker.get(&next).await;
        assert_eq!(rows(&second), 30, "{next}");
        assert!(second.body.contains("/campaign/30\"") && !second.body.contains("/campaign/31\""));
        let got = asker.get("/?filter=MANY++3").await;
        assert!(rows(&got) > 30 && rows(&got) < 100 && got.body.contains("of 230"));
        let got = asker.get("/?filter=no+such+words").await;
        assert_eq!(rows(&got), 0);
        assert!(got.body.contains("No campaign has all these words"));
        assert_eq!(rows(&asker.get("/?filter=nothing+ended").await), 1);
    });
    drop(folder);
    let got = block_on(asker.get("/"));
    assert_eq!(got.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(got.body.contains("there is no such file"), "{}", got.body);
}

#[test]
fn the_oldest_is_what_others_are_held_against_unless_another_is_named() {
    let folder = stored();
    let asker = Asker::new(&folder.path().join("a.db"));
    let side = |got: &Got, side: &str| {
        let told = got.body.split_once(&format!("<p>{side}: ")).unwrap().1;
        told.split_once("</p>").unwrap().0.to_owned()
    };
    block_on(async {
        let got = asker.get("/compare?campaign=2&campaign=1").await;
        assert!(side(&got, "A").ends_with("(campaign 1)"), "{}", side(&got, "A"));
        let other = "/compare?campaign=1&amp;campaign=2&amp;first=2";
        assert!(got.body.contains(other), "the way to the other");
        let got = asker.get(&other.replace("&amp;", "&")).await;
        assert!(side(&got, "A").ends_with("(campaign 2)") && side(&got, "B").ends_with("1)"));
    });
}

#[test]
fn a_statement_that_does_not_end_is_ended_and_says_so() {
    let folder = stored();
    let asker = Asker::patient(&folder.path().join("a.db"), Duration::from_millis(200));
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                   SELECT max(i) FROM n";
    let address = asset::address("/query", &[("sql", endless)]);
    block_on(async {
        let got = asker.get(&address).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST);
        assert!(got.body.contains("it ran longer than 200 ms"), "{}", got.body);
        // Each has its turn, and lists go another way than statements.
        let others: Vec<_> = (0..12)
            .map(|_| {
                let (asker, address) = (asker.clone(), address.clone());
                tokio::spawn(async move { asker.get(&address).await })
            })
            .collect();
        assert_eq!(asker.get("/").await.status, StatusCode::OK);
        let mut turned_away = 0;
        for other in others {
            let got = other.await.unwrap();
            if got.status == StatusCode::SERVICE_UNAVAILABLE {
                turned_away += 1;
                assert_eq!(got.headers["retry-after"], AGAIN_S);
                around(&got);
            } else {
                assert_eq!(got.status, StatusCode::BAD_REQUEST);
            }
        }
        // One runs and eight wait, of whom some lose patience.
        assert!((3..12).contains(&turned_away), "{turned_away}");
    });
}

/// What the files of a store have in them: the store's bytes, and those of what stands beside it.
#[expect(clippy::disallowed_methods, reason = "a test looks at all of it")]
fn bytes(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = folder.read_dir().unwrap().map(Result::unwrap);
    // The memory that readers share is theirs, and forgotten with the last of them.
    let entries = entries.filter(|entry| !entry.path().to_string_lossy().ends_with("-shm"));
    let mut files: Vec<_> =
        entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn nothing_that_is_asked_for_changes_the_store() {
    let folder = stored();
    let path = folder.path().join("a.db");
    // A reader that is there all the time, so that the last to leave takes no log away.
    let _there = store::Store::open_read_only(&path).unwrap();
    let before = bytes(folder.path());
    let asker = Asker::new(&path);
    block_on(async {
        for sql in [
            "DELETE FROM trial",
            "INSERT INTO note VALUES (1, 'a', 'b')",
            "DROP TABLE campaign",
            "PRAGMA user_version = 99",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "PRAGMA journal_mode = DELETE",
            "ATTACH 'other.db' AS o",
            "VACUUM INTO 'other.db'",
            "SELECT 1; DELETE FROM trial",
            "CREATE TEMP TABLE t (a)",
            "REINDEX",
            "BEGIN IMMEDIATE",
            "SELECT load_extension('x')",
            "SELECT writefile('x', 'y')",
            "",
            "\0",
            "SELECT 1\0; DELETE FROM trial",
        ] {
            let got = asker.get(&asset::address("/query", &[("sql", sql)])).await;
            let refused = got.status == StatusCode::BAD_REQUEST;
            assert!(refused || sql.is_empty(), "{sql:?}: {}", got.status);
        }
        for address in ["/", "/campaign/1", "/compare?campaign=1&campaign=2", "/query"] {
            assert_eq!(asker.get(address).await.status, StatusCode::OK);
        }
    });
    assert!(before == bytes(folder.path()), "a byte was written");
}

/// Pieces of which hostile addresses are made.
fn piece() -> impl Strategy<Value = String> {
    const ODD: &[&str] = &[
        "/",
        "//",
        "..",
        "/../",
        "%2e%2e%2f",
        "%00",
        "%",
        "%zz",
        "%ff",
        "?",
        "&",
        "=",
        ";",
        "+",
        "campaign",
        "campaign=1",
        "/campaign/1",
        "/compare?",
        "/query?sql=",
        "SELECT+1",
        "first=",
        "sql=",
        "'",
        "%22",
        "%3Cscript%3E",
        "*",
        "%E2%80%AE",
        "@",
        ":",
        "/query/csv?sql=",
        "SELECT+*+FROM+trials",
        "/campaign/1/json",
        "9223372036854775808",
        "-1",
        "filter=",
        "before=",
    ];
    prop_oneof![
        4 => proptest::sample::select(ODD).prop_map(str::to_owned),
        1 => "[!-\"$-~]{0,12}",
        1 => (1..3000_usize).prop_map(|times| "a".repeat(times)),
    ]
}

#[test]
fn no_address_makes_it_stumble() {
    let folder = stored();
    let asker = Asker::patient(&folder.path().join("a.db"), Duration::from_millis(500));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let addresses = proptest::collection::vec(piece(), 0..8);
    let method = proptest::sample::select(&["GET", "GET", "GET", "HEAD", "POST", "X"][..]);
    let field = proptest::option::of((
        proptest::sample::select(&["host", "origin", "sec-fetch-site", "range", "cookie"][..]),
        proptest::collection::vec(any::<u8>(), 0..40),
    ));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let done = runner.run(&(addresses, method, field), |(pieces, method, field)| {
        let address = format!("/{}", pieces.concat());
        let mut request = Request::builder().method(method).uri(&address);
        request = request.header("host", ADDRESS.to_string());
        if let Some((name, value)) = field {
            request = request.header(name, value);
        }
        // What is no address at all never gets here: hyper answers it.
        let Ok(request) = request.body(Body::empty()) else { return Ok(()) };
        let got = runtime.block_on(asker.ask(request));
        prop_assert!(got.status.as_u16() < 500, "{method} {address}: {}", got.body);
        around(&got);
        Ok(())
    });
    done.unwrap();
}

/// For the browser test, which says where.
#[test]
fn samples_for_the_browser_is_a_store_too() {
    let Some(folder) = std::env::var_os("BRICKYARD_SAMPLES") else { return };
    let (campaign, records) = findings::report::fixture::simulated();
    let path = Path::new(&folder).join("serve.db");
    crate::serve::testing::fill(&path, &campaign, &records);
}
