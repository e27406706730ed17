//! Arguments in, exit status out, one file a command.

/// The program.
pub fn main() -> std::process::ExitCode {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return match crate::engine::file::worker() {
            Ok(()) => std::process::ExitCode::SUCCESS,
            Err(_) => std::process::ExitCode::from(2),
        };
    }
    std::process::ExitCode::SUCCESS
}
