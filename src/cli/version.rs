//! What `brickyard --version` says: which program this is, to whoever has to ask about it.

/// The version, the commit, how it was built and what it was built with.
///
/// A build for work on the program (`debug`) may hold changes that no commit has.
pub fn long() -> String {
    let commit = match env!("BRICKYARD_COMMIT") {
        "" => "unknown, as it was built outside of a repository",
        known => known,
    };
    let profile = env!("BRICKYARD_PROFILE");
    let since = if profile == "debug" { ", and what was changed since" } else { "" };
    // The package has no feature that can be chosen.
    format!(
        "{}\ncommit: {commit}{since}\nprofile: {profile}, for {}\n\
         features: all; none can be left out",
        env!("CARGO_PKG_VERSION"),
        env!("BRICKYARD_TARGET"),
    )
}
