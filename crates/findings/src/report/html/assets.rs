//! (pure) The fixed parts of the page, and the policy that lets only them run.

use std::io::Read;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;

/// Draws figures: built from npm by `plotly/build.mjs`, committed, and packed by this crate's
/// `build.rs`.
static PLOTLY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.zlib"));
/// Puts figures on the page; sorts and filters its tables.
pub const SCRIPT: &str = include_str!("page.js");
/// The scripts that draw and brush all trials at once, in the order in which they must run.
pub const EXPLORER: [&str; 3] =
    [include_str!("explorer.js"), include_str!("scatter.js"), include_str!("grid.js")];
/// How the page looks.
pub static STYLE: &str = include_str!("page.css");
/// SHA-256 of all scripts, as `sha256sum` prints them.
const CHECKSUMS: &str = include_str!("assets.sha256");

/// The policy, but for the hashes.
const POLICY: &str = include_str!("policy.txt");

/// The page's Content-Security-Policy: nothing is fetched from anywhere, and of scripts only the
/// those that are named by their hash run. Plotly sets `style` attributes, which no hash can name.
pub fn policy() -> String {
    let hashes: String = CHECKSUMS.lines().filter_map(hash).collect();
    POLICY.trim().replace("{hashes}", &hashes)
}

/// A line of `sha256sum` as a source expression (Content Security Policy Level 3, section 2.3.1).
fn hash(line: &str) -> Option<String> {
    let hex = line.split_whitespace().next()?;
    let byte = |place: usize| u8::from_str_radix(hex.get(place..place + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    Some(format!(" 'sha256-{}'", STANDARD.encode(bytes?)))
}

/// The library that draws figures, unpacked.
pub fn plotly() -> &'static str {
    static PLAIN: OnceLock<String> = OnceLock::new();
    PLAIN.get_or_init(|| {
        let mut text = String::new();
        let read = ZlibDecoder::new(PLOTLY).read_to_string(&mut text);
        read.expect("it was packed when this was built, and a test unpacks it");
        text
    })
}

/// JSON that cannot end the `<script>` it stands in, nor open a comment.
pub fn inert(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 5] =
        ["plotly/plotly-custom.min.js", "page.js", "explorer.js", "scatter.js", "grid.js"];

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test asks coreutils")]
    fn the_committed_checksums_are_those_of_the_scripts() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/html");
        let output = std::process::Command::new("sha256sum")
            .args(FILES)
            .current_dir(folder)
            .output()
            .unwrap();
        let fresh = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            CHECKSUMS,
            fresh,
            "in src/report/html: sha256sum {} > assets.sha256",
            FILES.join(" ")
        );
    }

    /// What its hash allows is what the page has.
    #[test]
    fn the_library_that_draws_comes_out_as_it_was_committed() {
        assert_eq!(plotly(), include_str!("plotly/plotly-custom.min.js"));
    }

    #[test]
    fn the_policy_names_every_script_and_allows_no_evaluation() {
        let policy = policy();
        assert_eq!(policy.matches("'sha256-").count(), FILES.len());
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("eval"));
        assert!(policy.contains("script-src 'sha256-"));
        // The SHA-256 of nothing, as FIPS 180-4 test vectors have it.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  -";
        let encoded = " 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='";
        assert_eq!(hash(empty).as_deref(), Some(encoded));
    }

    #[test]
    fn the_scripts_cannot_end_their_own_elements() {
        for text in [plotly(), SCRIPT].into_iter().chain(EXPLORER) {
            let lower = text.to_ascii_lowercase();
            assert!(!lower.contains("</script"));
            assert!(!lower.contains("<!--"));
        }
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
    }

    #[test]
    fn no_markup_survives_in_the_data() {
        let json = serde_json::to_string("</script><img src=x onerror=alert(1)>&<!--").unwrap();
        let inert = inert(&json);
        assert!(!inert.contains(['<', '>', '&']));
        let back: String = serde_json::from_str(&inert).unwrap();
        assert_eq!(back, "</script><img src=x onerror=alert(1)>&<!--");
    }
}
