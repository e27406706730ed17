//! (pure) The places of the explorer's figures, with their controls; a script fills them.

use maud::{Markup, html};

use super::Explorer;
use crate::report::html::fold::folded;
use crate::report::html::saving::saving;

/// The section, hidden figures and all.
pub fn section(explorer: &Explorer) -> Markup {
    let said = explorer.said();
    let body = html! {
            p.quiet {
                "Every trial in every figure. What is brushed in one, by dragging over it, is "
                "brushed in all: the figures below, those above, and the table of trials."
            }
            @if !said.is_empty() { p.missing { (said) } }
            noscript { p.missing {
                "The explorer needs a script, which is off. Its data is in the table of trials."
            } }
            div #explorer hidden {
                (bar())
                (lines())
                (pair())
                (matrix())
                (grid())
            }
    };
    folded("explore", "Explore", "every trial in every figure", &body)
}

/// What is brushed, and how it is coloured: stays in view.
fn bar() -> Markup {
    html! {
        div.explore-bar {
            div.controls {
                strong #explore-count role="status" {}
                button #explore-clear type="button" disabled { "Clear" }
                label for="explore-colour" { "Colour by " }
                select #explore-colour {}
            }
            ul #explore-brushes aria-label="What is brushed" {}
            ul #explore-legend aria-label="Colours and dashes" {}
        }
    }
}

fn lines() -> Markup {
    html! {
        figure #parallel aria-labelledby="parallel-caption" {
            figcaption #parallel-caption {
                h3 { "Parallel coordinates" }
                p.quiet {
                    "A line is a trial, an axis a knob or a figure. Drag along one to brush it, "
                    "drag its name to move it, press \u{d7} to take it away. With the keyboard: "
                    kbd { "Up" } " and " kbd { "Down" } " move the upper end of a brush, with "
                    kbd { "Shift" } " the lower one; " kbd { "Left" } " and " kbd { "Right" }
                    " move the axis, " kbd { "Delete" } " takes it away, " kbd { "Esc" }
                    " clears its brush, " kbd { "l" } " makes the axis logarithmic and back."
                }
            }
            div.controls {
                label for="explore-add" { "Add an axis " }
                select #explore-add {}
            }
            div.canvas #parallel-place {}
            (saving(&[("parallel-place", "parallel coordinates")]))
        }
    }
}

/// Whether the column that the list before it has stands on a logarithmic axis.
fn by_ratios(id: &str) -> Markup {
    html! { label.log { input id=(id) type="checkbox"; " log" } }
}

fn pair() -> Markup {
    html! {
        figure #scatter aria-labelledby="scatter-caption" {
            figcaption #scatter-caption {
                h3 { "Any two" }
                p.quiet {
                    "A point is a trial; open points are not the device\u{2019}s. Drag to brush "
                    "both axes. Over words and levels, boxes show median and quartiles of what is "
                    "brushed and the device\u{2019}s, whiskers its range within 1.5 times the box."
                }
            }
            div.controls {
                label for="scatter-y" { "Up " } select #scatter-y {}
                (by_ratios("scatter-y-log"))
                label for="scatter-x" { "across " } select #scatter-x {}
                (by_ratios("scatter-x-log"))
            }
            div.canvas #scatter-place {}
            (saving(&[("scatter-place", "the two columns")]))
        }
    }
}

fn matrix() -> Markup {
    html! {
        figure #matrix aria-labelledby="matrix-caption" {
            figcaption #matrix-caption {
                h3 { "Scatter matrix" }
                p.quiet { "Up to five columns, each against each. Drag in a square to brush it." }
            }
            details #matrix-choice { summary { "Columns" } div.choices #matrix-columns {} }
            div.canvas #matrix-place {}
            (saving(&[("matrix-place", "the scatter matrix")]))
        }
    }
}

fn grid() -> Markup {
    html! {
        figure #grid aria-labelledby="grid-caption" {
            figcaption #grid-caption {
                h3 { "Two knobs and a figure" }
                p.quiet {
                    "Means of what is brushed, as a map and as a surface. A letter marks what is "
                    "not the device\u{2019}s. Drag the surface to turn it; with the keyboard, \
                     arrows turn it and " kbd { "+" } " and " kbd { "-" } " bring it nearer."
                }
            }
            p.missing #grid-missing hidden {
                "No two knobs of numbers were varied together, so there is no grid to draw."
            }
            div #grid-drawn {
                div.controls {
                    label for="grid-z" { "Figure " } select #grid-z {}
                    (by_ratios("grid-z-log"))
                    label for="grid-x" { "across " } select #grid-x {}
                    label for="grid-y" { "up " } select #grid-y {}
                    label for="grid-group" { "of " } select #grid-group {}
                }
                p.quiet #grid-says role="status" {}
                div.panels {
                    div.plot #grid-map role="img" aria-label="Map of a figure over two knobs" {}
                    div.canvas #surface-place {}
                }
                (saving(&[("grid-map", "map"), ("surface-place", "surface")]))
            }
        }
    }
}
