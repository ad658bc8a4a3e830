//! The `oncehook` binary: all of it is in the library, under `cli`.

fn main() -> std::process::ExitCode {
    oncehook::cli::main()
}
