//! The `memscape` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = memscape_cli::run(std::env::args_os(), &mut std::io::stdout(), &mut std::io::stderr());
    ExitCode::from(code)
}
