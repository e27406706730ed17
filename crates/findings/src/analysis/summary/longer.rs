//! What narrows the intervals of a campaign: more runs of a load, or of an evaluation more time.

use crate::analysis::Finding;
use base::value::parse_duration_ns;
use experiment::campaign::Campaign;

/// What is typed to run a load more often.
const REPLICATES: &str = "--replicates";

/// The budget of an evaluation where nobody says one, ns.
const BUDGET_NS: u64 = 180_000_000_000;

/// So many times the budget is worth another evaluation: intervals become about half as wide.
const LONGER: u64 = 5;

const MINUTE_NS: u64 = 60_000_000_000;

/// A sentence of what to type.
pub fn advice(campaign: &Campaign) -> String {
    match longer(campaign) {
        Some(budget) => format!("Give it more time: --budget {budget}."),
        None => format!("Repeat each load more often: {REPLICATES} {}.", more(campaign)),
    }
}

/// How often each load is worth running: three times as often as it was, and ten times at least.
fn more(campaign: &Campaign) -> u64 {
    let before = typed(campaign, REPLICATES).and_then(|word| word.parse::<u64>().ok());
    before.unwrap_or(0).saturating_mul(3).max(10)
}

/// What was typed behind an option, after a blank or `=`.
fn typed(campaign: &Campaign, option: &str) -> Option<String> {
    let mut words = campaign.argv.iter();
    let found = words.find_map(|word| match word.strip_prefix(option) {
        Some("") => Some(None),
        Some(rest) => Some(Some(rest.strip_prefix('=')?.to_owned())),
        None => None,
    });
    found.and_then(|it| it.or_else(|| words.next().cloned()))
}

/// Of an evaluation `--replicates` is no word: its findings advise more time.
pub fn readvise(campaign: &Campaign, findings: &mut [Finding]) {
    let Some(budget) = longer(campaign) else { return };
    for finding in findings {
        let is_command = |advice: &str| advice.contains("brickyard ");
        let advice = finding.advice.as_mut();
        if let Some(advice) = advice.filter(|it| it.contains(REPLICATES) && !is_command(it)) {
            *advice = format!("more time may tell: --budget {budget}");
        }
    }
}

/// The budget that would be worth it, as typed; `None` of what is no evaluation.
fn longer(campaign: &Campaign) -> Option<String> {
    if campaign.plan != "evaluate" {
        return None;
    }
    let typed = typed(campaign, "--budget");
    let budget_ns = typed.and_then(|it| parse_duration_ns(&it).ok()).unwrap_or(BUDGET_NS);
    let minutes = budget_ns.saturating_mul(LONGER).div_ceil(MINUTE_NS).max(1);
    Some(match minutes {
        few if few < 120 => format!("{few}m"),
        many => format!("{}h", many.div_ceil(60)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(words: &str) -> Campaign {
        let mut campaign = crate::report::fixture::campaign_of(Vec::new(), 0).campaign;
        campaign.plan = "evaluate".into();
        campaign.argv = words.split(' ').map(str::to_owned).collect();
        campaign
    }

    /// "Repeat each load more often: --replicates 10" was said of one that had run eleven times.
    #[test]
    fn more_replicates_are_more_than_there_were() {
        let of = |words: &str| {
            let mut campaign = campaign(words);
            campaign.plan = "random-read".into();
            advice(&campaign)
        };
        for (words, many) in [
            ("brickyard run random-read", 10),
            ("brickyard run random-read --replicates 3", 10),
            ("brickyard run random-read --replicates 11 --dir /x", 33),
            ("brickyard run random-read --replicates=40", 120),
            ("brickyard run random-read --replicates", 10),
        ] {
            assert!(of(words).ends_with(&format!("--replicates {many}.")), "{}", of(words));
        }
    }

    /// "some 27 replicates would tell: --replicates 27", of a command that has no such word.
    #[test]
    fn an_evaluation_is_advised_more_time_and_a_run_more_replicates() {
        let of = |words: &str| advice(&campaign(words));
        assert_eq!(of("brickyard evaluate /srv"), "Give it more time: --budget 15m.");
        assert_eq!(of("brickyard evaluate --budget 2m /srv"), "Give it more time: --budget 10m.");
        assert_eq!(of("brickyard evaluate --budget=1h /srv"), "Give it more time: --budget 5h.");
        assert_eq!(of("brickyard evaluate --budget"), "Give it more time: --budget 15m.");
        let mut run = campaign("brickyard run read");
        run.plan = "read".into();
        assert!(advice(&run).contains("--replicates 10"));
        let finding =
            |advice: &str| Finding::info("scaling", String::new(), Vec::new()).advise(advice);
        let kept = "brickyard run read --replicates 5";
        let mut findings = [finding("some 27 would: --replicates 27"), finding(kept)];
        readvise(&campaign("brickyard evaluate /srv"), &mut findings);
        assert_eq!(findings[0].advice.as_deref(), Some("more time may tell: --budget 15m"));
        assert_eq!(findings[1].advice.as_deref(), Some(kept));
        readvise(&run, &mut findings);
    }
}
