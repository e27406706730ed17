//! What is printed of servers whose disks were exchanged.

use super::*;
use crate::analysis::compare::ComparisonRequest;
use crate::analysis::compare::exchange::exchange;
use crate::analysis::compare::exchange::tests::set_up;
use crate::report::fixture;
use crate::report::schema::check;

/// What is printed of these set-ups, of which the second set of disks is half as fast.
fn with<T>(cells: &[[usize; 2]], then: impl FnOnce(&Exchanged<'_>) -> T) -> T {
    let records: Vec<_> = cells
        .iter()
        .enumerate()
        .map(|(place, cell)| {
            let worth = 400.0 * [1.0, 0.5][cell[1]] * [1.0, 0.99][place % 2];
            set_up(*cell, worth, place as u64)
        })
        .collect();
    let campaigns: Vec<Campaign> = cells
        .iter()
        .map(|cell| {
            let mut campaign = fixture::campaign_of(Vec::new(), 0).campaign;
            let label = ["label=server-a", "label=server-b"][cell[0]];
            let disks = ["--label=disk-model=set-1", "--label=disk-model=set-2"][cell[1]];
            let typed = ["/usr/bin/brickyard", "run", "mine.toml", "--seed", "7", label, disks];
            campaign.argv = typed.map(str::to_owned).to_vec();
            campaign
        })
        .collect();
    let all: Vec<&[_]> = records.iter().map(Vec::as_slice).collect();
    let asked = ComparisonRequest { threshold: 0.05, figure: None };
    let found = exchange(&all, &["label", "disk-model"], &asked).unwrap();
    let numbers = ["1", "2", "3", "4"];
    let sides =
        campaigns.iter().zip(numbers).map(|(campaign, typed)| NamedCampaign { typed, campaign });
    then(&Exchanged { sides: sides.collect(), exchange: &found })
}

const FOUR: [[usize; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];

#[test]
fn the_answer_is_in_the_first_lines_and_fits_80_columns() {
    with(&FOUR, |of| {
        let text = text(of);
        assert!(text.lines().all(|line| line.chars().count() <= 80 && line.is_ascii()), "{text}");
        assert!(text.contains("disk-model makes a difference of more than 5.0 %"), "{text}");
        assert!(
            text.contains("disk-model set-2 / set-1") && text.contains("with server-b"),
            "{text}"
        );
        assert!(text.contains("1 degree of freedom") && text.contains("  4  server-b, set-2"));
        assert!(super::super::text::is_ours(text.as_bytes(), b""), "{text}");
    });
}

#[test]
fn what_would_tell_is_what_to_type() {
    let wanted = "brickyard run mine.toml label=server-a --label=disk-model=set-2";
    with(&[[0, 0], [1, 1]], |of| {
        let text = text(of);
        assert!(text.contains("cannot be told apart from label"), "{text}");
        assert!(text.contains("set up label=server-a with disk-model=set-2"), "{text}");
        assert!(text.contains(&format!("\n  {wanted}\n")), "{text}");
    });
    with(&FOUR[..3], |of| {
        let text = text(of);
        assert!(text.contains("by repeats, not tested"), "{text}");
        let wanted = "brickyard run mine.toml label=server-b --label=disk-model=set-2";
        assert!(text.contains(&format!("\n  {wanted}\n")), "{text}");
    });
    // A command that did not say them says them now.
    let bare = Campaign {
        argv: vec!["brickyard".into(), "run".into(), "x".into()],
        ..Campaign::default()
    };
    assert_eq!(retyped(&bare, &["label=b".to_owned()]), "brickyard run x label=b");
}

#[test]
fn the_document_obeys_the_schema_of_comparisons() {
    let schema = include_str!("../../../../../../docs/reference/compare.schema.json");
    let schema: Json = serde_json::from_str(schema).unwrap();
    for cells in [&FOUR[..], &FOUR[..3], &[[0, 0], [1, 1]]] {
        let document = with(cells, |of| json(of).unwrap());
        let document: Json = serde_json::from_str(&document).unwrap();
        check("", &document, &schema, &schema).unwrap();
        assert_eq!(document["by_label"]["set_ups"].as_array().map(Vec::len), Some(cells.len()));
    }
}
