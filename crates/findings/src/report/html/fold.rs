//! (pure) Sections that are folded until somebody opens them.

use maud::{Markup, html};

/// A section that is folded until somebody opens it, or comes by a link to its heading or to what
/// is in it. `gist` stands beside the heading.
pub fn folded(id: &str, title: &str, gist: &str, body: &Markup) -> Markup {
    html! {
        section aria-labelledby=(id) {
            details.fold {
                summary {
                    h2 id=(id) { (title) }
                    @if !gist.is_empty() { " " span.quiet { (gist) } }
                }
                (body)
            }
        }
    }
}
