//! A listener and those who call it: the right ones, strangers, and those who only hold on.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use proptest::prelude::*;

use super::greeting::{Greeting, Introduction, ListenerAnswer};
use super::listen::{Listener, Session};
use super::token::Token;
use super::{Call, PeerAddress, Purpose, Tick};
use host::sys::clock::monotonic_ns;
use host::sys::signal::Stop;

/// A listener on a port of its own; it stops with this.
struct Listening {
    address: SocketAddr,
    stop: Arc<Stop>,
    held: Arc<AtomicUsize>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

/// Answers what it is asked of the clock, and holds a caller until he hangs up.
fn answer(mut session: Session) {
    let Some(mut link) = session.link.take() else { return };
    session.voice.expect_within(Duration::from_secs(20));
    while let Ok(Some(line)) = link.line() {
        if let Ok(tick) = serde_json::from_str::<Tick>(&line) {
            let _ = session.voice.say(&Tick { monotonic_ns: monotonic_ns(), ..tick });
        }
    }
}

fn listening(token: Option<Token>) -> Listening {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = Listener::bind(at, token).unwrap();
    let (address, stop) = (listener.address(), Arc::new(Stop::new()));
    let held = Arc::new(AtomicUsize::new(0));
    let (own, counted) = (stop.clone(), held.clone());
    std::thread::spawn(move || {
        listener.serve(&own, move |session| {
            counted.fetch_add(1, SeqCst);
            answer(session);
        })
    });
    Listening { address, stop, held }
}

impl Listening {
    /// Who was let in, once it is so many, or a while later.
    fn held(&self, least: usize) -> usize {
        for _ in 0..200 {
            if self.held.load(SeqCst) >= least {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.held.load(SeqCst)
    }

    fn call(&self, token: Option<&Token>) -> Result<Call, String> {
        let address = PeerAddress::parse(&self.address.to_string()).unwrap();
        Call::place(&address, token, Purpose::default()).map_err(|error| error.to_string())
    }

    /// Says this and gives all that comes back until the other end closes.
    fn say(&self, bytes: &[u8]) -> String {
        let mut socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // It may have hung up before all is said.
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = socket.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    }
}

#[test]
fn who_knows_the_token_is_let_in_and_nobody_else_and_both_are_told_why() {
    let token = Token::draw().unwrap();
    let listening = listening(Some(token.clone()));
    let call = listening.call(Some(&token)).unwrap();
    assert!(call.host.cpus > 0 && !call.host.kernel.is_empty());
    drop(call);
    let other = Token::draw().unwrap();
    let wrong = listening.call(Some(&other)).unwrap_err();
    assert!(wrong.contains("is not the token"), "{wrong}");
    let none = listening.call(None).unwrap_err();
    assert!(none.contains("set BRICKYARD_TOKEN"), "{none}");
    assert_eq!(listening.held(1), 1);
    // It never went over the wire.
    let hello = serde_json::to_string(&Greeting::Talk(Introduction::own("0"))).unwrap();
    let said = listening.say(
        format!("{hello}\n{{\"proof\":\"\",\"purpose\":{{\"campaign\":0,\"settings\":false}}}}\n")
            .as_bytes(),
    );
    assert!(said.contains("refused") && !said.contains(&token.assignment()[16..]), "{said}");
}

#[test]
fn without_a_token_only_loopback_is_listened_on() {
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let refused = Listener::bind(any, None).unwrap_err().to_string();
    assert!(refused.contains("no token"), "{refused}");
    let listening = listening(None);
    assert!(listening.call(None).is_ok());
}

/// One that has no token may be anybody: a caller who has one is not to be sent away for it, and
/// one that claims to know it and does not, is.
#[test]
fn a_listener_that_does_not_know_the_token_is_found_out() {
    let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = PeerAddress::parse(&socket.local_addr().unwrap().to_string()).unwrap();
    std::thread::spawn(move || {
        let (mut caller, _) = socket.accept().unwrap();
        let say = |caller: &mut TcpStream, answer: &ListenerAnswer| {
            let line = serde_json::to_string(answer).unwrap() + "\n";
            caller.write_all(line.as_bytes()).unwrap();
        };
        say(&mut caller, &ListenerAnswer::Nonce(Introduction::own("1")));
        let host = super::PeerMachine::own();
        say(&mut caller, &ListenerAnswer::Welcome { proof: "00".repeat(32), host });
        let _ = caller.read(&mut [0; 4096]);
        std::thread::sleep(Duration::from_secs(1));
    });
    let token = Token::draw().unwrap();
    let error = Call::place(&address, Some(&token), Purpose::default()).unwrap_err().to_string();
    assert!(error.contains("does not know the token"), "{error}");
}

#[test]
fn another_version_is_refused_in_one_sentence_at_either_end() {
    let listening = listening(None);
    let newer =
        Introduction { brickyard: "9.9.0\u{1b}[2J".into(), protocol: 99, nonce: "0".into() };
    let line = serde_json::to_string(&Greeting::Talk(newer.clone())).unwrap() + "\n";
    let said: ListenerAnswer = serde_json::from_str(listening.say(line.as_bytes()).trim()).unwrap();
    let ListenerAnswer::Refused(why) = said else { panic!("{said:?}") };
    assert!(why.contains("9.9.0") && why.contains("same version on both machines"), "{why}");
    assert!(!why.contains('\u{1b}'), "what a stranger writes is printed");
    let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = PeerAddress::parse(&socket.local_addr().unwrap().to_string()).unwrap();
    std::thread::spawn(move || {
        let (mut caller, _) = socket.accept().unwrap();
        let line = serde_json::to_string(&ListenerAnswer::Nonce(newer)).unwrap() + "\n";
        caller.write_all(line.as_bytes()).unwrap();
        let _ = caller.read_to_end(&mut Vec::new());
    });
    let error = Call::place(&address, None, Purpose::default()).unwrap_err().to_string();
    assert!(error.contains("same version on both machines"), "{error}");
}

#[test]
fn one_caller_is_talked_to_at_a_time_and_the_next_one_after_him() {
    let listening = listening(None);
    let first = listening.call(None).unwrap();
    let second = listening.call(None).unwrap_err();
    assert!(second.contains("one at a time"), "{second}");
    drop(first);
    assert!(listening.call(None).is_ok());
}

#[test]
fn the_clocks_of_one_machine_agree_within_what_is_said() {
    let listening = listening(None);
    let mut call = listening.call(None).unwrap();
    let offset = call.clock().unwrap();
    assert!(offset.ns.unsigned_abs() <= offset.error_ns, "{offset:?}");
}

/// Some say nothing, some a byte now and then, some never end their line: all hold a connection and
/// keep nobody else out.
#[test]
fn half_open_slow_and_endless_callers_keep_nobody_out() {
    let listening = listening(None);
    let silent: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(listening.address).unwrap()).collect();
    let mut slow = TcpStream::connect(listening.address).unwrap();
    slow.write_all(b"{").unwrap();
    let endless = vec![b'x'; 4 << 20];
    assert_eq!(listening.say(&endless), "");
    assert!(listening.call(None).is_ok());
    let began_ns = monotonic_ns();
    // A byte in time does not make the line longer in coming.
    let gone = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        slow.write_all(b" ").is_err()
    });
    assert!(gone, "a slow caller holds on for {} s", (monotonic_ns() - began_ns) / 1_000_000_000);
    let mut one = &silent[0];
    one.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let hung_up = one.read(&mut [0; 1]);
    assert!(
        matches!(hung_up, Ok(0))
            || hung_up.is_err_and(|why| { why.kind() == std::io::ErrorKind::ConnectionReset })
    );
}

/// 64 connections of strangers who said nothing shut everybody out for ten seconds, whoever knew
/// the token as well: they were all that there was room for.
#[test]
fn who_knows_the_token_comes_in_while_strangers_hold_every_place() {
    let token = Token::draw().unwrap();
    let listening = listening(Some(token.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connect = |last: u8| {
        let stream = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from(([127, 0, 0, last], 0)))?;
            socket.connect(listening.address).await?.into_std()
        });
        stream.unwrap()
    };
    // Two of them hold all places of all.
    let strangers: Vec<TcpStream> = (0..150).map(|n| connect(2 + n / 75)).collect();
    for _ in 0..3 {
        drop(listening.call(Some(&token)).unwrap());
    }
    // Of the caller's own machine somebody holds all that one address has.
    let beside: Vec<TcpStream> = (0..70).map(|_| connect(1)).collect();
    drop(listening.call(Some(&token)).unwrap());
    assert_eq!(listening.held(4), 4);
    drop((strangers, beside));
}

/// Whoever answers a call may be anybody until he has shown that he knows the token: a line of a
/// gibibyte was read from him.
#[test]
fn an_answer_without_an_end_is_read_no_further_than_a_greeting() {
    let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = PeerAddress::parse(&socket.local_addr().unwrap().to_string()).unwrap();
    let sent = std::thread::spawn(move || {
        let (mut caller, _) = socket.accept().unwrap();
        let piece = vec![b'x'; 1 << 20];
        (0..1024).take_while(|_| caller.write_all(&piece).is_ok()).count()
    });
    let error = Call::place(&address, None, Purpose::default()).unwrap_err().to_string();
    assert!(error.contains("a line of more than"), "{error}");
    assert!(sent.join().unwrap() < 64, "what the kernel holds on its own, MiB");
}

/// More strangers than there are places for are turned away, and the places come free.
#[test]
fn a_crowd_of_strangers_is_turned_away_and_leaves_the_door_free() {
    let listening = listening(None);
    let crowd: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(listening.address).unwrap()).collect();
    drop(crowd);
    let until_ns = monotonic_ns() + 60_000_000_000;
    while listening.call(None).is_err() {
        assert!(monotonic_ns() < until_ns, "nobody is let in any more");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_stream_without_the_ticket_of_the_day_is_closed() {
    let listening = listening(None);
    for ticket in ["", "0", &"a".repeat(64)] {
        let line = format!("{{\"bytes\":{{\"ticket\":\"{ticket}\",\"stream\":0}}}}\n");
        assert_eq!(listening.say(line.as_bytes()), "");
    }
    assert_eq!(listening.held.load(SeqCst), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Garbage of any kind, and good lines that are cut or have a byte changed: nothing panics,
    /// nobody is let in by it who could not come in anyway, and the next one is.
    #[test]
    fn garbage_costs_the_listener_nothing(
        noise in prop::collection::vec(any::<u8>(), 0..300),
        cut in 0_usize..200,
        place in 0_usize..200,
        byte in any::<u8>(),
        kind in 0_u8..4,
    ) {
        let token = Token::new("a token of twenty bytes").unwrap();
        let listening = listening(Some(token.clone()));
        let hello = serde_json::to_string(&Greeting::Talk(Introduction::own("00"))).unwrap() + "\n";
        let proof = "{\"proof\":\"00\",\"purpose\":{\"campaign\":0,\"settings\":true}}\n";
        let mut said = format!("{hello}{proof}").into_bytes();
        match kind {
            0 => said = noise,
            1 => said.truncate(cut),
            2 => { let at = place % said.len(); said[at] = byte; }
            _ => said.extend(noise),
        }
        let answer = listening.say(&said);
        prop_assert!(!answer.contains("welcome"), "{answer}");
        prop_assert!(listening.call(Some(&token)).is_ok());
        prop_assert_eq!(listening.held(1), 1);
    }
}
