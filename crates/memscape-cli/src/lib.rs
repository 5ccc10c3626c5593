//! The `memscape` command line, callable: the binary and the Python package's
//! `memscape` command are the same program.

mod args;
mod bench;
mod calibrate;
mod claims;
mod commands;
mod compare;
mod create;
mod describe;
mod explore;
mod failure;
mod front;
mod keep;
mod laws;
mod mcp;
mod measure;
mod origin;
mod parameters;
mod plot;
mod predictions;
mod progress;
mod read;
mod reproduce;
mod search;
mod sensitivity;
mod show;
mod store;
mod sweep;
mod trace_stats;
mod uncertainty;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;
use clap::error::ErrorKind;

use args::Cli;
use failure::Failure;
pub use failure::{BAD_INPUT, DONE, INTERRUPTED, SHORT};

/// Does what the arguments say, the first being the program's name.
///
/// Results go to `out`; errors, one line each, and remarks to `err`. Returns
/// the exit code: [`DONE`], [`SHORT`], [`BAD_INPUT`] or [`INTERRUPTED`].
///
/// ```
/// let (mut out, mut err) = (Vec::new(), Vec::new());
/// let code = memscape_cli::run(["memscape", "describe", "pim.gmev"], &mut out, &mut err);
/// assert_eq!(code, memscape_cli::BAD_INPUT);
/// assert!(String::from_utf8_lossy(&err).contains("did you mean `pim.gemv`?"));
/// ```
pub fn run<I>(args: I, out: &mut dyn Write, err: &mut dyn Write) -> u8
where
    I: IntoIterator<Item: Into<OsString> + Clone>,
{
    let outcome = match Cli::try_parse_from(args) {
        Ok(cli) => commands::dispatch(cli, out, err),
        Err(error) => match error.kind() {
            ErrorKind::DisplayVersion => write!(out, "{}", memscape::versions()).map_err(Failure::from),
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                write!(out, "{}", error.render()).map_err(Failure::from)
            }
            _ => Err(Failure::BadInput(one_line(&error))),
        },
    };
    match outcome.and_then(|()| out.flush().map_err(Failure::from)) {
        Ok(()) => DONE,
        Err(Failure::Short) => SHORT,
        Err(Failure::Interrupted) => INTERRUPTED,
        // Who reads us has seen enough, as `head` does.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => DONE,
        Err(failure) => {
            // There is nowhere left to say that this failed.
            let _ = writeln!(err, "error: {failure}");
            BAD_INPUT
        }
    }
}

/// Clap's error without its usage lines.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
    let said: Vec<&str> =
        lines.take_while(|it| !it.starts_with("Usage:") && !it.starts_with("For more")).collect();
    let said = said.join("; ").replace(":; ", ": ");
    format!("{}; see `memscape --help`", said.trim_start_matches("error: "))
}
