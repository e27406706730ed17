//! Somebody who asks for settings, somebody who makes them as a test wants, and what is said.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use super::*;
use crate::fleet::{Listener, Session};
use experiment::knob::testing::settings;
use host::sys::signal::Stop;

/// A machine whose settings are this map; `tcp-congestion` is refused there.
#[derive(Default)]
struct Machine {
    set: Mutex<Said>,
    back: Mutex<u32>,
}

impl Machine {
    fn holds(&self) -> Said {
        self.set.lock().unwrap().clone()
    }

    /// Whether all is back within a while.
    fn is_back(&self) -> bool {
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            self.holds().is_empty()
        })
    }
}

impl Changes for Machine {
    fn check(&self, asked: Settings) -> Result<(), Error> {
        match said(&asked).contains_key("tcp-congestion") {
            true => Err(Error::new("cannot do \u{1b}[2Jthat", "no such thing").hint("leave it")),
            false => Ok(()),
        }
    }

    fn set(&self, asked: Settings) -> Result<InForce, Error> {
        self.check(asked.clone())?;
        let values = said(&asked);
        self.set.lock().unwrap().clone_from(&values);
        let notes = vec![
            Note::new("setting-rounded", "gro: \u{1b}]0;x was asked for"),
            Note::new("<script>", "no kind of note"),
        ];
        Ok(InForce { values, notes })
    }

    fn look(&self) -> Vec<Note> {
        vec![Note::new("setting-changed", "somebody did")]
    }

    fn put_back(&self) -> Vec<String> {
        self.set.lock().unwrap().clear();
        *self.back.lock().unwrap() += 1;
        vec!["one thing stays".to_owned()]
    }
}

/// A listener for this machine's settings, or for none.
struct Far(PeerAddress, Arc<Machine>, Arc<Stop>);

impl Far {
    fn new(allowed: bool) -> Far {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(at, None).unwrap();
        let address = PeerAddress::parse(&listener.address().to_string()).unwrap();
        let listener = if allowed { listener.with_settings().unwrap() } else { listener };
        let (machine, stop) = (Arc::<Machine>::default(), Arc::new(Stop::new()));
        let (own, held) = (stop.clone(), machine.clone());
        std::thread::spawn(move || {
            listener.serve(&own, move |session: Session| match session.purpose.settings {
                true => keep(session, &*held, &|_| {}),
                // A trial that runs until its caller hangs up.
                false => {
                    let mut session = session;
                    let mut link = session.link.take().unwrap();
                    session.voice.expect_within(Duration::from_secs(60));
                    while let Ok(Some(_)) = link.line() {}
                }
            })
        });
        Far(address, machine, stop)
    }

    fn trial(&self, campaign: u64) -> Result<Call, String> {
        let purpose = Purpose { campaign, settings: false };
        Call::place(&self.0, None, purpose).map_err(|error| error.to_string())
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.2.ask();
    }
}

fn asked(knobs: &[(&str, &str)]) -> Settings {
    let at = [("peer", "b"), ("settings-at", "peer"), ("peer-interface", "eth7")];
    settings("net", &[&at[..], knobs].concat()).asked_of_peer()
}

#[test]
fn a_machine_that_allows_no_settings_says_what_to_type_there() {
    let far = Far::new(false);
    let why = SettingsCaller::begin(&far.0, 7).expect_err("it is not allowed").to_string();
    assert!(why.contains("brickyard receive --listen 127.0.0.1 --port"), "{why}");
    assert!(why.contains("--allow-knobs") && why.contains("as root"), "{why}");
    assert!(far.trial(7).is_ok(), "trials are measured there all the same");
}

#[test]
fn what_is_set_there_is_told_is_marked_as_the_peers_and_goes_when_the_talk_ends() {
    let far = Far::new(true);
    let mut asking = SettingsCaller::begin(&far.0, 7).unwrap();
    let want = asked(&[("gro", "false"), ("tcp-buffer-max", "1MiB")]);
    assert_eq!(asking.check(&want), Ok(()));
    assert!(far.1.holds().is_empty(), "nothing is set by looking");
    let set = asking.set(&want).unwrap();
    assert_eq!(listed(&set.values), "gro=false network-interface=eth7 tcp-buffer-max=1MiB");
    assert_eq!(far.1.holds(), set.values);
    let texts: Vec<&str> = set.notes.iter().map(|note| note.text.as_str()).collect();
    let marked = format!("The other machine, {}: gro: ]0;x was asked for", far.0);
    assert_eq!(texts, [marked.as_str()], "control characters and strange kinds are nobody's");
    assert!(asking.look().unwrap()[0].text.ends_with(": somebody did"));
    match asking.set(&asked(&[("tcp-congestion", "reno")])) {
        Err(Unset::Refused(why)) => {
            assert!(why.contains("that: no such thing (leave it)"), "{why}");
            assert!(!why.contains('\u{1b}'), "{why}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(asking.back(), Ok(vec!["one thing stays".to_owned()]));
    assert!(far.1.holds().is_empty());
    // Whoever is gone without a word has it put back, too, and once.
    let mut asking = SettingsCaller::begin(&far.0, 8).unwrap();
    asking.set(&want).unwrap();
    drop(asking);
    assert!(far.1.is_back());
    assert_eq!(*far.1.back.lock().unwrap(), 2);
}

/// The port was free for a moment each time that the socket was made anew, and somebody's outgoing
/// connection got it: `receive` ended in the middle of a campaign.
#[test]
fn nobody_gets_the_port_while_the_socket_is_made_anew() {
    let far = Far::new(true);
    let mut asking = SettingsCaller::begin(&far.0, 7).unwrap();
    let at = far.0.resolve().unwrap()[0];
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| {
            let mut tries = 0_u32;
            while !over.load(Relaxed) {
                tries += 1;
                if TcpListener::bind(at).is_ok() {
                    return Err(tries);
                }
            }
            Ok(tries)
        });
        for round in 0..20 {
            let off = if round % 2 == 0 { "true" } else { "false" };
            asking.set(&asked(&[("gro", off)])).unwrap();
        }
        over.store(true, Relaxed);
        let tries = taken.join().unwrap().expect("it stays ours");
        assert!(tries > 100, "{tries} tries");
    });
}

/// Two campaigns would be measured with each other's settings.
#[test]
fn while_settings_are_in_force_only_trials_of_that_campaign_are_let_in() {
    let far = Far::new(true);
    let mut asking = SettingsCaller::begin(&far.0, 7).unwrap();
    asking.set(&asked(&[("gro", "false")])).unwrap();
    let trial = far.trial(7).unwrap();
    let why = asking.set(&asked(&[("gro", "true")])).expect_err("a trial runs");
    assert!(format!("{why:?}").contains("a trial still runs there"), "{why:?}");
    drop(trial);
    asking.set(&asked(&[("gro", "true")])).unwrap();
    assert_eq!(far.1.holds()["gro"], "true");
    let other = far.trial(8).expect_err("of another campaign");
    assert!(other.contains("for a campaign of"), "{other}");
    let other = SettingsCaller::begin(&far.0, 8).expect_err("one at a time").to_string();
    assert!(other.contains("settings of its machine are in force for"), "{other}");
    drop(asking);
    assert!(far.1.is_back());
    drop(far.trial(8).unwrap());
    assert!(SettingsCaller::begin(&far.0, 8).is_ok());
}

/// Whatever is said, cut at any byte or longer than it may be: nothing is set, nobody panics, and
/// the next one is let in.
#[test]
fn cut_strange_and_endless_lines_set_nothing_and_end_the_talk() {
    let far = Far::new(true);
    let whole =
        serde_json::to_string(&SettingsAsk::Set(said(&asked(&[("gro", "false")])))).unwrap();
    let strange = [
        r#"{"set":{"gro":7}}"#.to_owned(),
        r#"{"set":{"gro":"false"},"back":{}}"#.to_owned(),
        format!(r#"{{"set":{{"gro":"{}"}}}}"#, "x".repeat(ASK_BYTES_MAX + (16 << 10))),
    ];
    let cut = (0..whole.len()).step_by(7).map(|end| whole[..end].to_owned());
    for line in cut.chain(strange) {
        let purpose = Purpose { campaign: 7, settings: true };
        let mut call = Call::place(&far.0, None, purpose).unwrap();
        call.voice.expect_within(Duration::from_secs(20));
        let _ = call.voice.word(&line);
        let shown: String = line.chars().take(80).collect();
        assert!(call.hear::<SettingsReply>().is_err(), "{shown}");
    }
    for end in 0..whole.len() {
        assert!(serde_json::from_str::<SettingsAsk>(&whole[..end]).is_err(), "{end}");
    }
    // What can be read and is not allowed is refused in words, and the talk goes on.
    let mut asking = SettingsCaller::begin(&far.0, 7).unwrap();
    for (name, text, word) in [
        ("read-ahead", "1MiB", "no setting that either end"),
        ("interface-mtu", "1", "interface-mtu: "),
        ("nonsense", "1", "there is no knob"),
        ("network-interface", "../../etc", "no name of a network interface"),
    ] {
        let one = Said::from([(name.to_owned(), text.to_owned())]);
        for ask in [SettingsAsk::Set(one.clone()), SettingsAsk::Check(one)] {
            match asking.ask(&ask) {
                Ok(SettingsReply::Refused(why)) => assert!(why.contains(word), "{name}: {why}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    assert!(far.1.holds().is_empty());
    assert_eq!(asking.back(), Ok(Vec::new()), "nothing was touched");
    assert_eq!(*far.1.back.lock().unwrap(), 0);
}
