//! The contract of the first screen, over campaigns of every kind.

use super::*;
use crate::report::fixture::samples::samples;

const ENDS: &[&str] = &[
    "Report: brickyard-report.html",
    "All tables: brickyard report 7 --format text",
    "Again: brickyard evaluate /srv/a --budget 1h --seed 42",
];

fn ends() -> Vec<String> {
    ENDS.iter().map(|end| (*end).to_owned()).collect()
}

/// After three minutes the last screen was a list of what the budget did not buy; the answer stood
/// 200 lines above it.
#[test]
fn the_first_screen_of_every_campaign_keeps_its_contract() {
    let all = samples();
    assert!(all.len() >= 30, "{}", all.len());
    for sample in &all {
        let input = sample.input();
        for size in [USUAL, Size { columns: 120, rows: 40 }] {
            let text = render(&input, size, &ends());
            let what = format!("{} at {size:?}:\n{text}", sample.name);
            let lines: Vec<&str> = text.lines().collect();
            // The prompt has the last line.
            assert!(lines.len() < size.rows, "{} lines of {what}", lines.len());
            for line in &lines {
                assert!(line.chars().count() <= size.columns, "{line:?} of {what}");
                assert!(line.is_ascii() && !line.contains(char::is_control), "{line:?} of {what}");
            }
            for end in ENDS {
                assert!(text.contains(end), "{what}");
            }
            let said = !input.summary.said.is_empty() || !input.summary.figures.is_empty();
            assert!(said || lines.len() > 4, "nothing is said: {what}");
            let judged = input.summary.confidence.is_some();
            assert_eq!(judged, text.contains("Confidence "), "{what}");
            no_nonsense(&text, &what);
        }
        assert!(input.summary.findings.len() <= 5);
        for finding in &input.summary.findings {
            let words = finding.text.split_whitespace().count();
            assert!(words <= 25 && finding.text.ends_with('.'), "{}: {finding:?}", sample.name);
        }
    }
}

/// "Sequential reading" collapsed, had the longest tail and was limited by latency, on one screen:
/// three loads, whose names stood in brackets that had been left out. And of five findings one had
/// something to type.
#[test]
fn each_finding_names_its_load_and_says_what_to_type() {
    let (mut wrong, mut typed) = (Vec::new(), 0);
    for sample in samples() {
        let summary = sample.input().summary.clone();
        let mut subjects: Vec<String> = Vec::new();
        for finding in &summary.findings {
            if finding.command.is_none() && finding.advice.is_none() {
                wrong.push(format!("{}: nothing to type: {finding:?}", sample.name));
            }
            let command = finding.command.as_deref().unwrap_or_default();
            typed += usize::from(command.starts_with("brickyard "));
            subjects.push(finding.text.split_whitespace().take(4).collect::<Vec<_>>().join(" "));
        }
        let named = |subject: &String| subjects.iter().filter(|it| *it == subject).count();
        if subjects.iter().any(|subject| named(subject) > 2) {
            wrong.push(format!("{}: three of one name: {subjects:?}", sample.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(typed > 10, "{typed} commands");
}

/// What nobody can use or understand.
fn no_nonsense(text: &str, what: &str) {
    const NONE: &[&str] = &["NaN", "inf ", "null", "_per_s", "()", "  ,", "1 trials"];
    for none in NONE {
        assert!(!text.contains(none), "{none:?} in {what}");
    }
    // A list of levels is several numbers, and what a simulated server is made of is typed whole.
    let digits = |part: &str| part.bytes().filter(u8::is_ascii_digit).count();
    let long = |word: &str| word.split([',', '=']).any(|part| digits(part) > 7);
    let made_of = |word: &&str| word.starts_with("sim-");
    let wrong = text.split_whitespace().filter(|word| !made_of(word)).find(|word| long(word));
    assert_eq!(wrong, None, "{what}");
}

/// A figure whose bytes may be a cache's never stands without saying so.
#[test]
fn a_figure_that_may_be_a_caches_says_so_beside_it() {
    let mut said = 0;
    for sample in samples() {
        let input = sample.input();
        let text = render(&input, USUAL, &[]);
        for figure in input.summary.figures.iter().filter(|it| !it.caveat.is_empty()) {
            said += 1;
            assert!(text.contains(&format!("! {}", &figure.caveat[..10])), "{text}");
            let level = input.summary.confidence.as_ref().map(|it| it.level.name());
            assert_eq!(level, Some("low"), "{}: {text}", sample.name);
        }
    }
    assert!(said > 0);
}

/// "Sequential reading gives 8007 MB/s" stood on the first screen: the brackets that said that it
/// came from memory had been left out.
#[test]
fn a_finding_on_memory_says_so_in_its_one_sentence() {
    let mut said = 0;
    for sample in samples() {
        let summary = &sample.input().summary;
        for finding in summary.findings.iter().filter(|it| it.question == "cache") {
            said += 1;
            let told = ["from the page cache", "from memory", "from a cache", "unknown origin"];
            assert!(told.iter().any(|it| finding.text.contains(it)), "{finding:?}");
        }
    }
    assert!(said > 0);
}

#[test]
fn figures_are_told_with_what_is_known_of_them() {
    let mut figure = SummaryFigure {
        name: "sequential_read".into(),
        label: "read".into(),
        unit: Unit::BytesPerSecond,
        estimate: Estimate::within(1.9e9, 1.7e9, 2.1e9),
        p99: None,
        load: "depth 8".into(),
        remark: String::new(),
        caveat: String::new(),
        range: (1.6e9, 2.2e9),
        trials: vec![1],
    };
    let both = |figure: &SummaryFigure| format!("{}, {}", told(figure), known(figure));
    assert_eq!(both(&figure), "1900 MB/s, 1700 to 2100");
    figure.estimate = Estimate::within(1.9e9, 0.9e9, 4e9);
    assert_eq!(both(&figure), "about 1900 MB/s, 900 to 4000");
    figure.estimate = Estimate::within(1.9e9, 1e7, 3e11);
    assert_eq!(both(&figure), "about 1900 MB/s, runs 1600 to 2200");
    figure.estimate = Estimate::bare(1.9e9);
    assert_eq!(both(&figure), "1900 MB/s, one run");
    figure.unit = Unit::Nanoseconds;
    figure.estimate = Estimate::within(240e3, 238e3, 243e3);
    figure.p99 = Some(Estimate::bare(1.8e6));
    assert_eq!(both(&figure), "240 us, 238 to 243 us, 99 % within 1.80 ms");
    figure.remark = "not preconditioned".into();
    assert_eq!(both(&figure), "240 us, 238 to 243 us, 99 % within 1.80 ms, not preconditioned");
}

/// Letters and digits alone: marks of Markdown, tags and folded lines are each format's own.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// What a page shows, without its tags, and without what stands for characters.
fn shown(page: &str) -> String {
    let mut text = String::new();
    for part in page.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, after)| after));
    }
    ["&amp;", "&lt;", "&gt;", "&quot;"].iter().fold(text, |text, mark| text.replace(mark, ""))
}

/// The first screen is one contract: a reader of the page, of a forum's Markdown, of a terminal and
/// of JSON must find the same verdict, figures and findings.
#[test]
fn every_format_has_the_same_first_screen() {
    let (mut figures, mut findings, mut verdicts) = (0, 0, 0);
    for sample in samples() {
        let input = sample.input();
        let summary = &input.summary;
        let of = |format: &str| {
            let bytes = crate::report::find(format).unwrap().bytes(&input).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let html = of("html");
        let section = html.split_once("<section class=\"answer\"").expect("a first screen").1;
        let section = section.split_once("</section>").unwrap().0;
        let markdown = of("markdown");
        let first = markdown.split("## All findings").next().unwrap();
        let parts: [(&str, String); 4] = [
            ("text", bare(&of("text"))),
            ("terminal", bare(&render(&input, Size { columns: 100, rows: 200 }, &[]))),
            ("markdown", bare(first)),
            ("html", bare(&shown(section))),
        ];
        let mut due: Vec<String> = summary.said.clone();
        if let Some(trust) = &summary.confidence {
            verdicts += 1;
            due.extend([trust.level.name().to_owned(), trust.reason.clone()]);
            due.extend(trust.advice.clone());
        }
        for figure in &summary.figures {
            figures += 1;
            due.extend([figure.label.clone(), told(figure), known(figure), figure.load.clone()]);
            due.push(figure.caveat.clone());
        }
        due.extend(summary.limit.iter().map(|limit| limit.text.clone()));
        for finding in &summary.findings {
            findings += 1;
            due.push(finding.text.clone());
            // A terminal has room for one of them.
            due.extend(finding.command.clone().or(finding.advice.clone()));
        }
        for (format, text) in &parts {
            for due in due.iter().map(|due| bare(&plain(due))) {
                // The word of confidence is in capitals in a terminal.
                let has = text.contains(&due) || text.to_lowercase().contains(&due);
                assert!(has, "{}: {due} is not in {format}:\n{text}", sample.name);
            }
        }
        let json: serde_json::Value = serde_json::from_str(&of("json")).unwrap();
        // Written and read, as the document was: the last digit of a number may not come back.
        let told = serde_json::to_string(summary).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(json["summary"], told, "{}", sample.name);
    }
    assert!(figures > 60 && findings > 30 && verdicts > 12, "{figures} {findings} {verdicts}");
}
