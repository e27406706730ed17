//! (pure) What a page offers to show to others: a block of text and a picture, both made here.

use maud::{Markup, html};

use super::fold::folded;
use crate::report::nature::Nature;
use crate::report::{Input, screen, share};

/// The block, with what copies it and what draws it.
pub fn section(input: &Input<'_>) -> Markup {
    let shown = share::shown(input);
    let nature = Nature::of_campaign(input.campaign).line();
    let trust = shown.confidence.as_ref();
    let trust = trust.map(|it| format!("Confidence {}: {}", it.level.name(), it.reason));
    // What the picture is drawn of.
    let card = serde_json::json!({
        "nature": nature.trim(),
        "subject": shown.subject,
        "when": shown.when,
        "trust": trust,
        "said": shown.said,
        "figures": shown.figures.iter().map(|figure| [
            figure.label.clone(),
            screen::told(figure),
            figure.load.clone(),
            screen::known(figure),
            figure.caveat.clone(),
        ]).collect::<Vec<_>>(),
        "limit": shown.limit.map(|limit| limit.text),
        "made": share::made_by(input),
    });
    let body = html! {
        p.quiet {
            "Neither the machine's name nor a directory's stands in it. The picture is drawn by "
            "this page; nothing is sent anywhere."
        }
        pre #share-block tabindex="0" data-card=(card.to_string()) { (share::block(input)) }
        div.controls.scripted hidden {
            button #share-copy type="button" { "Copy the text" }
            button #share-card type="button" { "Save as a picture" }
            span #share-said.quiet role="status" {}
        }
    };
    folded("share", "Share", "a block for a forum, and a picture", &body)
}
