//! (pure) One self-contained page: opens from disk, asks nothing of anybody.
//!
//! What is read without a script (answer, findings, tables) is HTML; what is drawn is data for
//! `page.js`. Everything that came from outside goes through maud's escaping or [`assets::inert`].

use maud::{DOCTYPE, PreEscaped, html};
use serde::Serialize;

use super::nature::Nature;
use super::{Input, words};

pub mod assets;
pub mod compared;
mod chart;
mod curves;
mod explorer;
mod failures;
mod figures;
mod first;
mod fold;
mod integrity;
mod inventory;
mod panel;
mod saving;
mod sections;
mod share;
mod sql;
pub mod tables;
mod timelines;
mod topology;
mod varying;

use explorer::Explorer;
use panel::Panel;
use timelines::Timeline;

/// What the page's script draws.
#[derive(Serialize)]
struct Drawn<'a> {
    panels: Vec<&'a Panel>,
    timelines: &'a [Timeline],
    timeline_panels: &'a [(&'a str, &'a str)],
    /// Courses of the trials with faults.
    faults: &'a [Timeline],
    /// Every trial, typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    explorer: Option<&'a Explorer>,
    /// Where caches end, across its grid.
    edges: Vec<explorer::edges::CacheEdgeLine>,
}

/// Prints the page.
///
/// # Errors
/// Never in practice: everything in it can be serialized.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let figures = figures::figures(input);
    let (timelines, without) = timelines::timelines(input);
    let (faults, more) = timelines::of_faults(input);
    let integrity = integrity::sections(input, &faults, more);
    let explorer = explorer::explorer(input);
    let drawn = Drawn {
        panels: figures.iter().flat_map(|figure| &figure.panels).collect(),
        timelines: &timelines,
        timeline_panels: timelines::PANELS,
        faults: &faults,
        explorer: explorer.as_ref(),
        edges: explorer::edges::edges(input),
    };
    let data = assets::inert(&serde_json::to_string(&drawn)?);
    let title = title(input);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(GENERATOR);
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(assets::STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the answer" }
                (sections::header(input, &title, integrity.is_some(), explorer.is_some()))
                main #main {
                    (first::section(input))
                    @if let Some((integrity, _)) = &integrity { (integrity) }
                    @let checked = integrity.is_some();
                    (sections::drawings(&figures, checked, &|panel| sql::of_panel(input, panel)))
                    div.appendix {
                        @if let Some((_, Some(faults))) = &integrity { (faults) }
                        @let sql = |panel: &Panel| sql::of_panel(input, panel);
                        @let more = sections::more_drawings(&figures, checked, &sql);
                        @if let Some(more) = more { (more) }
                        @if let Some(failures) = failures::section(input) { (failures) }
                        (sections::findings(&input.findings))
                        @if let Some(explorer) = &explorer { (explorer::section(explorer)) }
                        (sections::courses(&timelines, without))
                        (sections::results(input))
                        (sections::server(input))
                        (share::section(input))
                    }
                }
                (sections::footer(input))
                script type="application/json" id="data" { (PreEscaped(data)) }
                script { (PreEscaped(assets::plotly())) }
                script { (PreEscaped(assets::SCRIPT)) }
                @if explorer.is_some() {
                    @for script in assets::EXPLORER { script { (PreEscaped(script)) } }
                }
            }
        }
    };
    Ok(page.into_string())
}

/// Says of a page whose it is.
const GENERATOR: &str = concat!("Brickyard ", env!("CARGO_PKG_VERSION"), ", report");

/// Whether a file is such a page, of whatever version.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    is_page(start, "report")
}

/// Whether a file is a page of ours that shows `what`.
fn is_page(start: &[u8], what: &str) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(HEAD_BYTES)]);
    let (doctype, generator) = ("<!DOCTYPE html>", "<meta name=\"generator\" content=\"");
    let generator = head.starts_with(doctype).then(|| head.split_once(generator)).flatten();
    let named = generator.and_then(|(_, rest)| rest.split_once('"'));
    let told = named.and_then(|(named, _)| named.strip_prefix("Brickyard ")?.split_once(", "));
    told.is_some_and(|(_, shows)| shows == what)
}

/// A title has no more letters: names of directories may be of any length.
const TITLE_MAX: usize = 90;

/// The generator stands before so many bytes.
const HEAD_BYTES: usize = 8 << 10;

/// `Storage of fileserver: /srv/a`.
fn title(input: &Input<'_>) -> String {
    let mut directories: Vec<&str> = Vec::new();
    for record in input.records {
        let settings = &record.trial.settings;
        let fresh = settings.directories();
        if !fresh.is_empty() {
            directories.extend(fresh.iter().map(String::as_str));
            directories.sort_unstable();
            directories.dedup();
        }
    }
    let lead = Nature::of_campaign(input.campaign).lead();
    let title = match directories.is_empty() {
        true => format!("{lead}Storage of {}", input.campaign.host),
        false => format!("{lead}Storage of {}: {}", input.campaign.host, directories.join(", ")),
    };
    words::clipped(&title, TITLE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{self, Fixture};
    use experiment::knob;
    use experiment::measurement::Note;
    use experiment::plan::blocked;

    const MARKUP: &str = "</script><img src=x onerror=alert(1)><a href='javascript:alert(2)'>&amp;";

    /// Every text that a user, a device or a kernel can put into a campaign is hostile.
    fn hostile() -> Fixture {
        let mut fixture = fixture::evaluated();
        for record in &mut fixture.records {
            record.trial.settings.set(knob::DIRECTORIES, &[format!("/srv/{MARKUP}")]);
            record.trial.group.push_str(MARKUP);
        }
        for cell in &mut fixture.cells {
            cell.settings.set(knob::DIRECTORIES, &[format!("/srv/{MARKUP}")]);
            for group in &mut cell.groups {
                group.push_str(MARKUP);
            }
        }
        for view in &mut fixture.trials {
            view.note(Note::new(MARKUP, MARKUP));
        }
        fixture.records[0] = broken();
        fixture.campaign.host = MARKUP.into();
        fixture.campaign.argv.push(MARKUP.into());
        fixture.campaign.inventory[MARKUP] = MARKUP.into();
        fixture.campaign.inventory["server"] = serde_json::json!({
            "pci": [{ "address": MARKUP, "name": MARKUP, "link":
                { "current": { "gt_per_s": 2.5, "lanes": 4 } } }],
            "drives": [{ "name": MARKUP, "controller": MARKUP, "links": [{ "name": MARKUP }] }],
            "interfaces": [{ "name": MARKUP, "controller": MARKUP, "bits_per_s": 1e9 }],
            "machine": { "hostname": MARKUP },
        });
        fixture.campaign.not_bought[0].cell = MARKUP.into();
        fixture.answer.push(MARKUP.into());
        fixture.findings[0].claim = MARKUP.into();
        fixture.findings[0].limit = Some(MARKUP.into());
        fixture
    }

    /// A trial whose faults are hostile in every text.
    fn broken() -> experiment::measurement::Record {
        let (_, mut records) = fixture::damaged();
        let mut record = records.remove(0);
        if let experiment::measurement::Outcome::Done(measurement) = &mut record.outcome {
            let integrity = measurement.integrity.as_mut().unwrap();
            integrity.checksum = MARKUP.into();
            integrity.wrong.insert(MARKUP.into(), 1);
            integrity.uncounted.push(MARKUP.into());
            integrity.counted[0].of = MARKUP.into();
            for fault in &mut integrity.faults {
                fault.file = MARKUP.into();
                fault.kind = MARKUP.into();
                fault.what = MARKUP.into();
                fault.found = MARKUP.into();
                fault.kernel = vec![MARKUP.into()];
                fault.rereads.iter_mut().for_each(|reread| reread.gave = MARKUP.into());
            }
        }
        record
    }

    fn damaged() -> String {
        let (campaign, records) = fixture::damaged();
        render(&Input::new(&campaign, &records)).unwrap()
    }

    #[test]
    fn faults_are_shown_with_their_bytes_and_nothing_is_shown_where_none_was_looked_for() {
        assert!(!page(&fixture::evaluated()).contains("id=\"integrity\""));
        let page = damaged();
        // What they come to stands before all figures, and each of them after these.
        let (_, after) = page.split_once("id=\"integrity\"").unwrap();
        let (_, after) = after.split_once("id=\"figures\"").unwrap();
        let (_, section) = after.split_once("id=\"faults\"").unwrap();
        let section = section.split_once("id=\"findings\"").unwrap().0;
        assert_eq!(section.matches("<details class=\"fault\"").count(), 11);
        // A flipped bit: the byte once as expected, once as found.
        let first = section.split_once("id=\"fault1\"").unwrap().1;
        let first = first.split_once("</details>").unwrap().0;
        let marks = ["<mark class=\"del\">", "<mark class=\"ins\">"];
        assert_eq!(marks.map(|mark| first.matches(mark).count()), [1, 1], "{first}");
        assert!(section.contains("critical medium error"), "the kernel's words");
        assert_eq!(section.matches("data-course").count(), 2);
        assert!(first.contains("errors: during this trial sda counted 2 more pending sectors"));
        assert!(section.contains("none of 2 error counters grew during this trial"));
        assert!(page.contains("href=\"#integrity\""));
    }

    /// An evaluation of a recorded machine.
    fn wired(recording: &str) -> Fixture {
        let recording = host::inventory::recording::Recording::open(recording);
        let server = host::inventory::server::server(&recording.host());
        let mut fixture = fixture::evaluated();
        fixture.campaign.inventory["server"] = serde_json::json!(server);
        fixture
    }

    /// A week: 3000 trials, each sampled for long.
    fn long() -> Fixture {
        let (group, settings) = fixture::planned().remove(0);
        let cells: Vec<_> = (1..=1000)
            .map(|streams| {
                let mut settings = settings.clone();
                settings.set(knob::STREAMS, streams);
                (group.clone(), settings)
            })
            .collect();
        let mut fixture = fixture::campaign_of(blocked(&cells, 3, 1), 400);
        fixture.findings[0].evidence = (1..=2000).collect();
        fixture
    }

    fn page(fixture: &Fixture) -> String {
        render(&fixture.input()).unwrap()
    }

    #[test]
    fn hostile_names_are_text_and_nothing_else() {
        let page = page(&hostile());
        assert!(!page.contains("<img"), "an element got in");
        assert!(!page.contains("<a href='javascript"));
        assert_eq!(page.matches("</script>").count(), 6, "one end for each of our scripts");
        assert!(page.contains("&lt;/script&gt;&lt;img"), "the text itself is shown");
    }

    #[test]
    fn the_second_sources_slot_is_drawn_and_named_as_the_narrowest() {
        let page = page(&wired("t610-x4"));
        let drawn = page.split("<svg").find(|part| part.contains("class=\"wire")).unwrap();
        let picture = drawn.split_once("</svg>").unwrap().0;
        assert!(picture.contains("wire narrow") && picture.contains("narrowest"), "{picture}");
        assert!(picture.contains("PCIe link of 0000:03:00.0"));
        assert!(page.contains("as `brickyard inspect` prints it"));
        assert!(!page.contains("<dt>server</dt>"), "not told twice");
    }

    #[test]
    fn a_campaign_without_a_server_or_with_nonsense_has_no_picture() {
        let mut fixture = fixture::evaluated();
        assert!(!page(&fixture).contains("How it is wired"));
        for nonsense in [serde_json::json!(7), serde_json::json!({ "pci": MARKUP })] {
            fixture.campaign.inventory["server"] = nonsense;
            assert!(!page(&fixture).contains("How it is wired"));
        }
    }

    #[test]
    fn however_long_the_campaign_the_page_stays_under_25_mb() {
        let fixture = long();
        let page = page(&fixture);
        assert!(page.len() < 25 << 20, "{} bytes", page.len());
        assert!(page.len() > 5 << 20, "{} bytes: something was lost", page.len());
        assert!(page.contains("id=\"t3000\"") || page.contains("more trials are in the store"));
    }

    #[test]
    fn the_page_asks_nothing_of_anybody() {
        let page = page(&fixture::evaluated());
        let ours = page.replace(assets::plotly(), "");
        for asking in ["http://", "https://", "src=", "@import", "url(", "<link"] {
            // The one allowed: where the palette comes from, in a comment.
            let found = ours.matches(asking).count();
            let cited = usize::from(asking == "https://");
            assert_eq!(found, cited, "{asking}");
        }
        let head = page.split_once("</head>").unwrap().0;
        assert!(head.contains("Content-Security-Policy"));
        assert!(head.contains("default-src &#39;none&#39;") || head.contains("default-src 'none'"));
    }

    #[test]
    fn without_a_script_answer_findings_and_tables_are_there() {
        let fixture = fixture::evaluated();
        let page = page(&fixture);
        let body = page.split_once("<body>").unwrap().1.split_once("<script").unwrap().0;
        let body = body.replace('\u{a0}', " ");
        assert!(body.contains(&fixture.answer[0]));
        assert!(body.contains("Throughput stops growing at 4 streams."));
        assert!(body.contains("No space left on device"));
        assert_eq!(body.matches("<tr id=\"t").count(), fixture.records.len());
        assert!(body.contains("brickyard evaluate /srv/a --budget 1h"));
        assert!(body.contains("<noscript>"));
        for knob in experiment::knob::KNOBS.iter().filter(|knob| knob.obeyed_by("file")) {
            assert!(body.contains(&format!("<code>{}</code>", knob.name)), "{}", knob.name);
        }
    }

    #[test]
    fn cached_figures_are_marked_in_every_table() {
        let page = page(&fixture::evaluated());
        let (_, cached) = page.split_once("<h3>streams, from cache</h3>").unwrap();
        let table = cached.split_once("</table>").unwrap().0;
        let figures = table.matches("class=\"number foreign\"").count();
        assert_eq!(figures, 3 * 6, "6 figures in each of 3 rows");
        assert_eq!(table.matches("<span class=\"badge\"").count(), figures);
        assert_eq!(table.matches(">cache</span>").count(), 3, "a word at the first of each row");
    }

    #[test]
    fn an_empty_campaign_has_a_page_too() {
        let mut fixture = fixture::campaign_of(Vec::new(), 0);
        fixture.answer.clear();
        fixture.findings.clear();
        let page = page(&fixture);
        assert!(page.contains("Nothing was measured"));
        assert!(page.contains("Not measured within this budget"));
    }

    #[test]
    fn a_simulated_evaluation_fills_every_figure() {
        let (campaign, records) = fixture::simulated();
        let input = Input::new(&campaign, &records);
        let figures = figures::figures(&input);
        assert_eq!(figures.len(), 8);
        for figure in &figures {
            assert!(!figure.panels.is_empty(), "{}: {}", figure.id, figure.message);
        }
        assert!(render(&input).unwrap().contains("A simulated server, not a real one."));
    }

    /// The figure of operations was drawn into its own caption, which had the same name.
    #[test]
    fn no_two_elements_have_the_same_name() {
        for fixture in [fixture::evaluated(), fixture::names(), wired("t610-x4")] {
            let page = page(&fixture);
            let body = page.split("<body").nth(1).unwrap().split("<script").next().unwrap();
            let named = body.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next());
            let mut seen = std::collections::BTreeSet::new();
            for name in named {
                assert!(seen.insert(name), "{name} twice");
            }
            assert!(seen.len() > 10, "{seen:?}");
        }
    }

    /// For the browser test, which says where.
    #[test]
    fn samples_for_the_browser_are_written_where_asked() {
        let Some(folder) = std::env::var_os("BRICKYARD_SAMPLES") else { return };
        let mut empty = fixture::campaign_of(Vec::new(), 0);
        empty.answer.clear();
        let all = [
            ("evaluated", fixture::evaluated()),
            ("hostile", hostile()),
            ("empty", empty),
            ("long", long()),
            ("names", fixture::names()),
            ("wired", wired("t610-x4")),
            ("crossed", fixture::crossed()),
            ("empty-server", wired("virtio-guest")),
        ];
        let (campaign, records) = fixture::simulated();
        let simulated = render(&Input::new(&campaign, &records)).unwrap();
        let (campaign, records) = fixture::cached();
        let cached = render(&Input::new(&campaign, &records)).unwrap();
        let damaged = damaged();
        let pages = all.iter().map(|(name, fixture)| (*name, page(fixture)));
        for (name, page) in
            pages.chain([("simulated", simulated), ("cached", cached), ("damaged", damaged)])
        {
            let path = std::path::Path::new(&folder).join(format!("{name}.html"));
            #[expect(clippy::disallowed_methods, reason = "a test makes its fixture")]
            std::fs::write(path, page).unwrap();
        }
    }

    /// The campaigns of the first screen's contract as pages, for what only a browser can tell.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its fixture")]
    fn samples_for_the_browser_of_every_kind_are_written_where_asked() {
        let Some(folder) = std::env::var_os("BRICKYARD_SAMPLES") else { return };
        let folder = std::path::Path::new(&folder).join("kinds");
        std::fs::create_dir_all(&folder).unwrap();
        for sample in fixture::samples::samples() {
            let page = render(&sample.input()).unwrap();
            let name = sample.name.replace(' ', "-");
            std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
        }
    }
}
