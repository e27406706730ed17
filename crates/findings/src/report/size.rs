//! (pure) What a throughput takes: as text, and as one document.

use serde_json::{Value as Json, json};

use super::nature::Nature;
use super::words;
use crate::analysis::size::{Basis, Cost, Expected, PartRate, PartsNeeded, Sizing, Slots};
use base::value::{bits, significant, throughput};
use experiment::campaign::Campaign;

/// A sizing and the campaigns that it rests on.
#[derive(Clone, Copy, Debug)]
pub struct SizingReport<'a> {
    /// The campaigns, in the order in which they were asked for; one or more.
    pub campaigns: &'a [Campaign],
    /// What it takes.
    pub sizing: &'a Sizing,
}

/// Width of the first column.
const PART: usize = 11;
/// Width of the second.
const COUNT: usize = 9;

/// For people.
pub fn text(told: &SizingReport<'_>) -> String {
    let of = told.sizing;
    let target = bits(of.throughput_bytes_per_s);
    let mut text = format!(
        "{}Brickyard {} - what {target} from disk to network takes\n\n",
        nature(told).line(),
        env!("CARGO_PKG_VERSION")
    );
    text.push_str(&wrapped(&answer(of), ""));
    text.push('\n');
    part(&mut text, "controllers", &of.controllers, of, throughput);
    part(&mut text, "disks", &of.disks, of, megabytes);
    more_disks(&mut text, of);
    part(&mut text, "NICs", &of.nics, of, bits);
    text.push_str(&line(
        "slots",
        &range(&[of.slots.value, of.slots.low, of.slots.high]),
        &there(&of.slots),
    ));
    if let Some(cost) = &of.cost {
        text.push_str(&line("cost", &amount(cost), &bill(cost)));
    }
    text.push_str("\nWhat binds, tightest first\n");
    for limit in &of.binds.limits {
        let (low, high) = (limit.low_bytes_per_s, limit.high_bytes_per_s);
        let rate = match significant(low * 8e-9) {
            least if low < high => format!("{least} to {}", bits(high)),
            _ => bits(high),
        };
        text.push_str(&line(limit.what, "", &format!("{rate}: {}", limit.said)));
    }
    if !of.binds.unknown.is_empty() {
        text.push_str(&line("not known", "", &of.binds.unknown.join("; ")));
    }
    text.push('\n');
    if let Some(expected) = &of.expected {
        text.push_str(&wrapped(&authors(expected, of), ""));
    }
    text.push_str(&wrapped(&basis(told), ""));
    for note in &of.notes {
        text.push_str(&wrapped(note, ""));
    }
    text
}

/// The answer in two sentences.
fn answer(of: &Sizing) -> String {
    let known = |need: &PartsNeeded, what: &str| {
        need.value.map(|_| format!("{} {what}", range(&[need.value, need.low, need.high])))
    };
    let disks = of.disks.value.map(|_| format!("at least {}", disks(of)));
    let parts = [known(&of.controllers, "controllers"), disks, known(&of.nics, "NICs")];
    let named = ["controllers", "disks", "NICs"];
    let missing: Vec<&str> = named
        .iter()
        .zip(&parts)
        .filter(|(_, part)| part.is_none())
        .map(|(name, _)| *name)
        .collect();
    let found: Vec<String> = parts.iter().flatten().cloned().collect();
    let mut said = match found.is_empty() {
        true => "What it takes is not known".to_owned(),
        false => format!("It takes {}", found.join(", ")),
    };
    if !missing.is_empty() && !found.is_empty() {
        said.push_str(&format!("; how many {} is not known", missing.join(" and ")));
    }
    format!("{said}. {}", binding(of))
}

fn disks(of: &Sizing) -> String {
    let rates = of.disks.rates.iter();
    let exact: Vec<f64> = rates.map(|rate| of.throughput_bytes_per_s / rate.bytes_per_s).collect();
    let least = exact.iter().copied().fold(f64::INFINITY, f64::min);
    let most = exact.iter().copied().fold(0.0, f64::max);
    let whole = range(&[of.disks.value, of.disks.low, of.disks.high]);
    match (significant(least), significant(most)) {
        (least, most) if least == most => format!("{whole} disks ({least}, rounded up)"),
        (least, most) => format!("{whole} disks ({least} to {most}, rounded up)"),
    }
}

fn binding(of: &Sizing) -> String {
    let Some(limit) = of.binds.limits.first() else {
        return "What binds first is not known.".to_owned();
    };
    let what = limit.what;
    let most = bits(limit.high_bytes_per_s);
    match (of.binds.below_target, what, of.slots.there) {
        (Some(true), "slots", Some(there)) => format!(
            "Slots bind first: these are {} cards, the machine has {there} slots, and with such \
             cards in all of them it gets no further than {most}.",
            range(&[of.slots.value, of.slots.low, of.slots.high])
        ),
        (Some(true), ..) => format!("The {what} binds first, at {most}."),
        (Some(false), ..) => {
            format!("Nothing that is known binds below that; the {what} would first, at {most}.")
        }
        (None, ..) => {
            let target = of.throughput_bytes_per_s;
            let open = of.binds.limits.iter().filter(|it| it.low_bytes_per_s < target);
            let open: Vec<&str> = open.map(|limit| limit.what).collect();
            format!(
                "Nothing surely binds below that, but {} may; the {what} surely would at {most}.",
                open.join(" and ")
            )
        }
    }
}

/// `5`, `5 to 6`, `5 or more`.
fn range(ends: &[Option<u64>; 3]) -> String {
    match *ends {
        [None, ..] => "not known".to_owned(),
        [Some(value), low, Some(high)] if low.unwrap_or(value) == high => high.to_string(),
        [Some(value), low, Some(high)] => format!("{} to {high}", low.unwrap_or(value)),
        [Some(value), low, None] => format!("{} or more", low.unwrap_or(value)),
    }
}

fn line(part: &str, count: &str, said: &str) -> String {
    let lead = format!("  {part:PART$} {count:COUNT$} ");
    const WIDTH: usize = 98;
    let indent = lead.chars().count();
    let (mut lines, mut line) = (String::new(), lead);
    let mut begins = true;
    for word in said.split_whitespace() {
        if !begins && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(indent);
            begins = true;
        }
        if !begins {
            line.push(' ');
        }
        line.push_str(word);
        begins = false;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

/// A part by its best and its worst rate.
fn part(text: &mut String, name: &str, need: &PartsNeeded, of: &Sizing, print: fn(f64) -> String) {
    if let Some(why) = &need.why {
        text.push_str(&line(name, "not known", why));
        return;
    }
    let said = |rate: &PartRate| {
        let exact = significant(of.throughput_bytes_per_s / rate.bytes_per_s);
        let lanes = rate.lanes.map_or(String::new(), |lanes| format!(", x{lanes}"));
        format!("{exact} at {}{lanes}: {}", print(rate.bytes_per_s), rate.said)
    };
    let count = range(&[need.value, need.low, need.high]);
    if let Some(best) = need.rates.first() {
        text.push_str(&line(name, &count, &said(best)));
    }
    if let [_, between @ .., worst] = &need.rates[..] {
        let more = match between.len() {
            0 => String::new(),
            more => format!("; {more} more between"),
        };
        text.push_str(&line("", "", &format!("{}{more}", said(worst))));
    }
}

fn megabytes(bytes_per_s: f64) -> String {
    format!("{} MB/s", significant(bytes_per_s / 1e6))
}

fn more_disks(text: &mut String, of: &Sizing) {
    let alone = &of.disks_alone;
    if let (Some(best), true) = (alone.best(), alone.rates != of.disks.rates) {
        let (low, high) = (best.low_bytes_per_s, best.high_bytes_per_s.unwrap_or(best.bytes_per_s));
        let rate = match significant(low / 1e6) {
            least if low < high => format!("{least} to {}", megabytes(high)),
            _ => megabytes(high),
        };
        let count = range(&[alone.value, alone.low, alone.high]);
        text.push_str(&line(
            "",
            &count,
            &format!("at what each gives alone, {rate}: {}", best.said),
        ));
    }
    if let Some(filled) = &of.disks_filled {
        let count = range(&[Some(filled.value), Some(filled.low), filled.high]);
        let controllers = range(&[of.controllers.value, of.controllers.low, of.controllers.high]);
        let said = format!(
            "with all {} ports of {controllers} controllers filled ({})",
            filled.ports, filled.from
        );
        text.push_str(&line("", &count, &said));
    }
    if let Some(capacity) = &of.disks_capacity {
        let count = capacity.value.map_or("not known".to_owned(), |disks| disks.to_string());
        let each =
            capacity.disk_bytes.map_or(String::new(), |each| format!(" of {}", terabytes(each)));
        let said = format!(
            "for {}, with disks{each} ({}); without redundancy",
            terabytes(capacity.capacity_bytes),
            capacity.from
        );
        text.push_str(&line("", &count, &said));
    }
}

/// As disks are labelled and capacities typed: `160 GB`, `200 TB`.
fn terabytes(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e12 => format!("{} GB", significant(bytes / 1e9)),
        bytes => format!("{} TB", significant(bytes / 1e12)),
    }
}

fn there(slots: &Slots) -> String {
    let Some(there) = slots.there else {
        return slots.why.clone().unwrap_or_default();
    };
    let widths: Vec<String> =
        slots.widths.iter().map(|width| format!("{} x{}", width.slots, width.lanes)).collect();
    let needed = slots
        .lanes
        .map_or(String::new(), |lanes| format!("; the best cards ran over {lanes} lanes"));
    format!("one a card; the machine has {there}: {}{needed}", widths.join(", "))
}

fn amount(cost: &Cost) -> String {
    let (low, unit) = (whole(cost.low), &cost.currency);
    let said = match cost.high {
        Some(high) if whole(high) == low => low,
        Some(high) => format!("{low} to {}", whole(high)),
        None => format!("{low} or more"),
    };
    format!("{said} {unit}").trim().to_owned()
}

fn whole(price: f64) -> String {
    if price.fract() == 0.0 { format!("{price:.0}") } else { format!("{price:.2}") }
}

fn bill(cost: &Cost) -> String {
    let items: Vec<String> = cost
        .items
        .iter()
        .map(|item| format!("{} {} at {}", item.count, item.part, whole(item.each)))
        .collect();
    let without = match &cost.without[..] {
        [] => String::new(),
        parts => format!("; no price or number: {}", parts.join(", ")),
    };
    format!("{}{without}", items.join(", "))
}

fn authors(expected: &Expected, of: &Sizing) -> String {
    let count = |number: f64| format!("{number:.0}");
    let nics = expected.nics.map(|nics| format!("{} NICs", count(nics)));
    let controllers =
        expected.controllers.map(|[a, b]| format!("{} to {} controllers", count(a), count(b)));
    let disks = expected.disks.map(|[a, b]| format!("{} to {} disks", count(a), count(b)));
    let all: Vec<String> = [controllers, disks.clone(), nics].into_iter().flatten().collect();
    let mut said =
        format!("{} expected {} ({}), not measured.", expected.by, all.join(", "), expected.place);
    let filled = of.disks_filled.as_ref().filter(|filled| {
        let ends = expected.disks.zip(filled.high);
        ends.is_some_and(|([a, b], high)| alike(a, filled.low) && alike(b, high))
    });
    if let (Some(disks), Some(filled)) = (disks, filled) {
        said.push_str(&format!(
            " Their {disks} are the controllers with all {} ports filled: {}.",
            filled.ports,
            range(&[Some(filled.value), Some(filled.low), filled.high])
        ));
    }
    said
}

/// Whether a count is what somebody expected in round numbers.
fn alike(expected: f64, count: u64) -> bool {
    const ROUND: f64 = 0.1;
    (count as f64 / expected - 1.0).abs() <= ROUND
}

/// Whose figures they are: measured ones where all are.
fn nature(told: &SizingReport<'_>) -> Nature {
    let mut all = told.campaigns.iter().map(Nature::of_campaign);
    all.find(|nature| *nature != Nature::Measured).unwrap_or(Nature::Measured)
}

fn basis(told: &SizingReport<'_>) -> String {
    let one = |of: &Campaign| {
        let date = words::date(of.started_unix_ns);
        format!("{} on {}, {date} (campaign {})", of.plan, of.host, of.id)
    };
    let from = told.campaigns.iter().map(one).collect::<Vec<_>>().join("; ");
    match told.sizing.basis {
        Basis::Reported => format!(
            "By {from}: figures of others, not measured here; from and to are the spread over \
             these, not intervals."
        ),
        Basis::Measured => format!(
            "By {from}. From and to are the ends of 95 % intervals between replicates, where there \
             are such; each cell is the best of those that read the same disks."
        ),
    }
}

/// For programs.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn json(told: &SizingReport<'_>) -> Result<String, serde_json::Error> {
    let mut document = serde_json::to_value(told.sizing)?;
    document["brickyard"] = json!(env!("CARGO_PKG_VERSION"));
    let one = |of: &Campaign| {
        json!({
            "id": of.id, "uid": of.uid, "plan": of.plan, "host": of.host,
            "kind": Nature::of_campaign(of).name(),
            "started_unix_ns": of.started_unix_ns,
        })
    };
    document["campaign"] = told.campaigns.first().map_or(Json::Null, one);
    document["campaigns"] = told.campaigns.iter().map(one).collect();
    serde_json::to_string_pretty(&document)
}

/// Lines of at most 100 columns, of which those after the first are indented by two more.
fn wrapped(text: &str, indent: &str) -> String {
    const WIDTH: usize = 98;
    let mut lines = String::new();
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        let begins = line.trim().is_empty();
        if !begins && line.chars().count() + word.chars().count() >= WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = format!("{indent}  ");
        } else if !begins {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::size::{Prices, SizingRequest, size};
    use crate::report::fixture;
    use crate::report::schema::check;
    use experiment::published::{self, Configuration};
    use host::inventory::recording::Recording;
    use host::inventory::server::server;

    /// Of trials on a simulated server nothing is known; what is known is looked at as typed.
    #[test]
    fn what_is_not_known_is_said_and_the_document_obeys_its_schema() {
        let fixture = fixture::evaluated();
        let prices = Prices { disk: Some(1.5), ..Prices::default() };
        let asked = SizingRequest {
            throughput_bytes_per_s: 5e9,
            capacity_bytes: Some(1 << 40),
            prices,
            ..SizingRequest::default()
        };
        let sizing = size(&fixture.records, &fixture.campaign.inventory, &asked);
        let campaigns = [fixture.campaign.clone()];
        let told = SizingReport { campaigns: &campaigns, sizing: &sizing };
        let text = text(&told);
        assert!(text.contains("not known") && text.contains("brickyard run"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        obeys(&told);
    }

    fn obeys(told: &SizingReport<'_>) {
        let schema = include_str!("../../../../docs/reference/size.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let document = serde_json::from_str(&json(told).unwrap()).unwrap();
        check("", &document, &schema, &schema).unwrap();
    }

    #[test]
    fn what_is_known_of_the_second_source_obeys_the_schema_and_fits_a_screen() {
        let set = published::find("sara-2010").unwrap();
        let machine = |it: &Configuration| {
            let recording = Recording::of_shipped(&it.name, &it.recording).unwrap();
            (it.name.clone(), json!({ "server": server(&recording.host()) }))
        };
        let machines: serde_json::Map<_, _> = set.configurations.iter().map(machine).collect();
        let inventory = json!({ "configurations": machines });
        let prices = Prices { disk: Some(1.5), nic: Some(2.0), ..Prices::default() };
        let asked =
            SizingRequest { throughput_bytes_per_s: 5e9, prices, ..SizingRequest::default() };
        let sizing = size(&set.records, &inventory, &asked);
        let campaigns = [fixture::evaluated().campaign];
        let told = SizingReport { campaigns: &campaigns, sizing: &sizing };
        obeys(&told);
        let text = text(&told);
        assert!(text.lines().count() <= 30, "{text}");
        let cost = "30 disks at 1.50, 5 nics at 2; no price or number: controllers";
        assert!(text.contains("55 to 57") && text.contains(cost), "{text}");
    }

    #[test]
    fn lines_of_any_words_stay_within_their_width() {
        let words = "word ".repeat(60);
        let lines = line("controllers", "5 to 6", &words);
        assert!(lines.lines().count() > 3 && lines.lines().all(|it| it.chars().count() <= 98));
        assert_eq!(line("slots", "", ""), "  slots\n");
        assert_eq!(range(&[Some(5), Some(5), None]), "5 or more");
        assert_eq!(range(&[None, None, Some(1)]), "not known");
    }
}
