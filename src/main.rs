//! The program: hands its arguments to [`brickyard::cli`].

fn main() -> std::process::ExitCode {
    brickyard::cli::main()
}
