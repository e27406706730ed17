//! `brickyard serve`, as typed: a browser's requests and hostile ones, over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::bounds::from;
use crate::program::brickyard;

/// Two campaigns of a simulated server in `brickyard.db`.
fn measured(folder: &Path) {
    let plan = "[plan]\nname = \"two\"\nabout = \"Two levels\"\nengine = \"sim\"\nreplicates = 2\n\
                [[workload]]\nuse = \"sequential-read\"\nfile-size = \"1GiB\"\n\
                streams = [1, 4]\nstop = \"500ms\"\n";
    std::fs::write(folder.join("two.toml"), plan).expect("a plan");
    for seed in ["1", "2"] {
        let output = brickyard(folder, &["run", "two.toml", "--quiet", "--seed", seed]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
}

/// The program while it serves; killed when a test fails.
struct Served {
    child: Child,
    /// `127.0.0.1:PORT`.
    at: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn new(folder: &Path) -> Served {
        Served::on(folder, "127.0.0.1:0").0
    }

    /// One that listens there, and the lines that it says of it.
    fn on(folder: &Path, listen: &str) -> (Served, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(["serve", "--listen", listen])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("brickyard can be started");
        let mut url = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut url).expect("an address");
        let at = url.trim().strip_prefix("http://").and_then(|url| url.strip_suffix('/'));
        let at = at.unwrap_or_else(|| panic!("no address: {url:?}")).to_owned();
        // All of it was said before the address.
        let mut said = vec![0; 4096];
        let read = child.stderr.take().expect("piped").read(&mut said).expect("it says something");
        (Served { at, child }, String::from_utf8_lossy(&said[..read]).into_owned())
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.at).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        stream
    }

    /// What comes back for these bytes, to the end of the connection.
    fn sent(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // It may have answered and closed before the last byte was sent.
        let _ = stream.write_all(bytes);
        let mut back = Vec::new();
        let _ = stream.read_to_end(&mut back);
        String::from_utf8_lossy(&back).into_owned()
    }

    /// The same for a request of these first words and fields.
    fn asked(&self, first: &str, fields: &str) -> String {
        let host = if fields.to_lowercase().contains("host:") { "" } else { &self.at };
        let host = if host.is_empty() { String::new() } else { format!("Host: {host}\r\n") };
        self.sent(format!("{first} HTTP/1.1\r\n{host}{fields}Connection: close\r\n\r\n").as_bytes())
    }

    fn get(&self, path: &str) -> String {
        self.asked(&format!("GET {path}"), "")
    }

    /// Asks it to end, and gives its exit status.
    fn ended(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).expect("signalled");
        self.child.wait().expect("it ends").code()
    }
}

/// The number of an answer.
fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn campaigns_reports_comparisons_and_sql_are_served_until_it_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let served = Served::new(at);
    for (path, says) in [
        ("/", "4 done"),
        ("/campaign/1", "The answer"),
        ("/campaign/2/csv", "throughput_bytes_per_s"),
        ("/compare?campaign=1&campaign=2", "B against A"),
        ("/query", "sequential_read"),
        ("/query?sql=SELECT+count(*)+FROM+trials", "<td class=\"number\">8</td>"),
    ] {
        let answer = served.get(path);
        assert_eq!(status(&answer), "200", "{path}: {answer:.500}");
        assert!(answer.contains(says), "{path}: {answer:.3000}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{path}");
    }
    // The file that is saved is the one that the command prints.
    let answer = served.get("/campaign/1/json");
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    let printed = brickyard(at, &["report", "1", "--json"]);
    assert_eq!(body.trim_end(), String::from_utf8_lossy(&printed.stdout).trim_end());
    // The first screen is that of the page that is drawn.
    let page = ["report", "1", "--format", "html", "--output", "page.html"];
    assert_eq!(brickyard(at, &page).status.code(), Some(0));
    let drawn = std::fs::read_to_string(at.join("page.html")).expect("a page");
    let first = |page: &str| {
        let section = page.split_once("<section class=\"answer\"").expect("a first screen").1;
        section
            .split_once("<figure")
            .or(section.split_once("</section>"))
            .expect("its end")
            .0
            .to_owned()
    };
    let answer = first(&served.get("/campaign/1"));
    assert_eq!(answer, first(&drawn));
    assert!(answer.contains("Confidence ") && answer.contains("MB/s"), "{answer}");
    let head = served.asked("HEAD /", "");
    assert!(status(&head) == "200" && head.ends_with("\r\n\r\n"), "a head alone: {head}");
    // Whoever measures meanwhile is not in its way, and is seen at once.
    let output = brickyard(at, &["run", "two.toml", "--quiet", "--seed", "3"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(served.get("/").contains("/campaign/3\""));
    assert_eq!(served.ended(Signal::TERM), Some(130));
}

#[test]
fn what_is_no_browser_of_this_machine_gets_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let served = Served::new(at);
    for (first, fields, refused) in [
        ("GET /", "Host: evil.example\r\n", "421"),
        ("GET /", "Host: evil.example:7410\r\n", "421"),
        ("GET /", "Origin: http://evil.example\r\n", "403"),
        ("GET /", "Origin: null\r\n", "403"),
        ("GET /", "Sec-Fetch-Site: cross-site\r\n", "403"),
        ("GET /", "Sec-Fetch-Site: same-site\r\n", "403"),
        ("POST /query", "Content-Length: 0\r\n", "405"),
        ("DELETE /campaign/1", "", "405"),
        ("OPTIONS *", "", "405"),
        ("GET /", "Content-Length: 5\r\n", "413"),
        ("GET /", "Transfer-Encoding: chunked\r\n", "413"),
        ("GET /campaign/../../etc/passwd", "", "404"),
        ("GET /%2e%2e/%2e%2e/etc/passwd", "", "404"),
    ] {
        let answer = served.asked(first, fields);
        assert_eq!(status(&answer), refused, "{first} {fields}: {answer:.500}");
        assert!(!answer.contains("/campaign/1\""), "{first} {fields}: it tells of the store");
    }
    assert_eq!(status(&served.sent(b"GET / HTTP/1.0\r\n\r\n")), "421", "no host at all");
    let long = format!("GET /?filter={}", "x".repeat(20_000));
    assert_eq!(status(&served.asked(&long, "")), "414");
    let huge = format!("X: {}\r\n", "x".repeat(200_000));
    assert_eq!(status(&served.asked("GET /", &huge)), "431");
    let many = "X: y\r\n".repeat(500);
    assert_eq!(status(&served.asked("GET /", &many)), "431");
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe\0 HTTP/1.1\r\n\r\n",
    ] {
        let mut stream = served.connect();
        let _ = stream.write_all(nonsense);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut back = String::new();
        let _ = stream.read_to_string(&mut back);
        assert!(back.is_empty() || status(&back).starts_with('4'), "{nonsense:?}: {back}");
    }
    assert_eq!(status(&served.get("/")), "200", "it still answers");
    assert_eq!(served.ended(Signal::INT), Some(130));
}

#[test]
fn sql_that_writes_or_does_not_end_is_refused_and_others_are_answered_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let served = Served::new(at);
    for (sql, says) in [
        ("DELETE+FROM+trial", "not authorized"),
        ("SELEC+1", "syntax error"),
        ("SELECT+nowhere", "no such column: nowhere"),
        ("SELECT+1;+DELETE+FROM+trial", "these are two statements"),
    ] {
        let answer = served.get(&format!("/query?sql={sql}"));
        assert_eq!(status(&answer), "400", "{sql}");
        assert!(answer.contains(says), "{sql}: {answer:.3000}");
    }
    let endless = "WITH+RECURSIVE+n(i)+AS+(SELECT+1+UNION+ALL+SELECT+i%2B1+FROM+n)\
                   +SELECT+max(i)+FROM+n";
    let mut stream = served.connect();
    let asked = format!("GET /query?sql={endless} HTTP/1.1\r\nHost: {}\r\n\r\n", served.at);
    stream.write_all(asked.as_bytes()).expect("asked");
    // Meanwhile all else is answered, as it was asked for later and is here before.
    assert_eq!(status(&served.get("/")), "200");
    assert_eq!(status(&served.get("/campaign/1")), "200");
    stream.set_nonblocking(true).expect("set");
    assert!(stream.read(&mut [0; 1]).is_err(), "the endless one has ended");
    stream.set_nonblocking(false).expect("set");
    let mut back = [0; 12];
    stream.read_exact(&mut back).expect("an answer");
    assert_eq!(&back, b"HTTP/1.1 400", "it ran longer than it may");
    assert!(served.get("/query?sql=SELECT+count(*)+FROM+trials").contains(">8</td>"));
    // No look at the clock ends this one, which is a single step: its process is ended.
    let answer =
        served.get("/query?sql=SELECT+instr(zeroblob(60000000),zeroblob(30000000)||x'01')");
    assert_eq!(status(&answer), "504", "{answer:.500}");
    assert!(answer.contains("it ran longer than 10"), "{answer:.3000}");
    assert!(served.get("/query?sql=SELECT+count(*)+FROM+trials").contains(">8</td>"));
}

/// Who says nothing holds a place for seconds: all of one address held by such, the next one takes
/// the place of whoever has waited longest.
#[test]
fn who_says_nothing_is_let_go_and_others_come_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let served = Served::new(at);
    let mut silent: Vec<TcpStream> = (0..70).map(|_| served.connect()).collect();
    for (number, stream) in silent.iter_mut().enumerate() {
        let half = format!("GET / HTTP/1.1\r\nHost: {}\r\nX", served.at);
        let some = &half.as_bytes()[..number.min(half.len())];
        stream.write_all(some).expect("it takes some");
    }
    assert_eq!(status(&served.get("/")), "200");
    for stream in &mut silent[..60] {
        let mut back = String::new();
        let _ = stream.read_to_string(&mut back);
        assert!(back.is_empty() || status(&back) == "408", "{back}");
    }
    // One that was stopped in the middle of a request does not hold up the end.
    assert_eq!(served.ended(Signal::HUP), Some(130));
}

/// 64 connections of a stranger who said nothing kept everybody else waiting until they were over.
#[test]
fn who_holds_connections_and_says_nothing_keeps_nobody_of_another_address_out() {
    let folder = tempfile::tempdir().expect("a folder");
    measured(folder.path());
    let served = Served::new(folder.path());
    let at = served.at.parse().expect("an address");
    // More than there are places, of more than one address.
    let idle: Vec<TcpStream> = (0..180).map(|n| from([127, 0, 0, 2 + n / 60], at)).collect();
    for _ in 0..5 {
        assert_eq!(status(&served.get("/")), "200");
    }
    // Nor does one who holds all of this address's.
    let more: Vec<TcpStream> = (0..70).map(|_| served.connect()).collect();
    assert_eq!(status(&served.get("/")), "200");
    drop((idle, more));
    assert_eq!(served.ended(Signal::TERM), Some(130));
}

#[test]
fn an_address_that_others_reach_is_served_with_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    measured(folder.path());
    let (served, said) = Served::on(folder.path(), "0.0.0.0:0");
    assert!(said.contains("warning: everybody") && said.contains("hint: "), "{said}");
    assert!(served.at.starts_with("127.0.0.1:"), "{}", served.at);
    assert_eq!(status(&served.get("/")), "200");
    let port = served.at.rsplit(':').next().expect("a port");
    assert_eq!(status(&served.asked("GET /", &format!("Host: fileserver:{port}\r\n"))), "421");
    let (_, said) = Served::on(folder.path(), "[::1]:0");
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn what_cannot_be_served_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let refused = |arguments: &[&str], says: &str| {
        let output = brickyard(at, &[&["serve"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty() && said.contains("hint: "), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    };
    refused(&[], "there is no such file");
    std::fs::write(at.join("text.db"), "no database at all, but longer than its head would be")
        .expect("written");
    refused(&["--store", "text.db"], "it is not a SQLite database");
    measured(at);
    refused(&["--listen", "nowhere"], "type --listen 127.0.0.1:7410");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = taken.local_addr().expect("bound").to_string();
    refused(&["--listen", &address], "takes any port that is free");
    // Another machine's address.
    refused(&["--listen", "192.0.2.1:7410"], "cannot listen on 192.0.2.1:7410");
    assert!(!at.join("none.db").exists());
}
