//! Arguments in, exit status out, one file a command.

/// The program.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
