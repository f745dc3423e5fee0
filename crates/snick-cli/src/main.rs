//! The program `snick`.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    heap::keep_free_memory();
    ExitCode::from(snick_cli::run(std::env::args_os().collect()))
}
