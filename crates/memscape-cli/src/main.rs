//! The `memscape` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A file that may not grow any more is an error of its write, not the end of the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let code = memscape_cli::run(std::env::args_os(), &mut std::io::stdout(), &mut std::io::stderr());
    ExitCode::from(code)
}
