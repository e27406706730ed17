//! (pure) Links that save what is drawn, as a picture and as a table: the toolbar of a figure comes
//! with a mouse alone.

use maud::{Markup, html};

/// Links of several drawings that stand together: each the name of its element, and its name for
/// people, which is not told of one alone.
pub fn saving(drawn: &[(&str, &str)]) -> Markup {
    let alone = drawn.len() == 1;
    html! {
        p.save.quiet.scripted hidden {
            "Save "
            @for (place, (element, name)) in drawn.iter().enumerate() {
                @if place > 0 { "; " }
                @if !alone { (name) " " }
                "as "
                (link(element, name, "svg", "SVG")) " or " (link(element, name, "csv", "CSV"))
            }
            "."
        }
    }
}

fn link(element: &str, name: &str, kind: &str, told: &str) -> Markup {
    html! {
        button.link type="button" data-save=(kind) data-of=(element)
            aria-label=(format!("Save {name} as {told}")) { (told) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_drawing_has_both_links_and_one_alone_is_not_named() {
        let one = saving(&[("latency", "the latency")]).into_string();
        assert_eq!(one.matches("data-of=\"latency\"").count(), 2, "{one}");
        assert!(
            one.contains("Save as <button") && one.contains("Save the latency as CSV"),
            "{one}"
        );
        let two = saving(&[("a", "IOPS"), ("b", "latency")]).into_string();
        assert_eq!(two.matches("<button").count(), 4, "{two}");
        assert!(two.contains("Save IOPS as <") && two.contains("; latency as <"), "{two}");
    }
}
