//! The program `snick`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(snick_cli::run(std::env::args_os().collect()))
}
