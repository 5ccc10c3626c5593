//! What can be said on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};

/// Design-space exploration of memory-centric LLM inference hardware.
#[derive(Debug, Parser)]
#[command(name = "memscape", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// No progress bars and no remarks, only results and errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One question per command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Redraw figures and tables of the papers, and write the data as CSV.
    ///
    /// With parameters, such as `memscape reproduce pimnast.fig10 memory.trcd_ns=36`, figures are
    /// redrawn with these changed. A parameter that a figure sets itself is refused.
    Reproduce {
        /// Papers or single figures, such as `pimnast` or `pimnast.fig10` (all if none is given), and
        /// parameters to change.
        #[arg(value_name = "PAPER[.FIGURE]|PARAMETER=VALUE")]
        selectors: Vec<String>,
        /// Folder to write to; `figures`, or `changed` if parameters are.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Formats to write: svg, png, pdf.
        #[arg(long = "format", value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
        formats: Vec<String>,
        /// Where they are shown: paper, slides or dark.
        #[arg(long, value_name = "STYLE", default_value = "paper")]
        style: String,
        /// Leave out what the papers print.
        #[arg(long)]
        no_published: bool,
        /// Then print the claims report, from the same tables: see `memscape claims`.
        #[arg(long)]
        claims: bool,
    },
    /// Hold published numbers against the models' own.
    ///
    /// Exits with 1 if fewer predictions of performance are right than a paper's model is held to.
    Claims {
        /// A paper, or a claims file of yours; all papers if not given.
        #[arg(value_name = "PAPER|FILE")]
        source: Option<String>,
        /// Print what version 0.1 said before it was known, and what the model says now.
        #[arg(long)]
        blind: bool,
        /// Print a paper's predictions with what they may be, from so many draws of all that the
        /// model does not know for sure.
        #[arg(long, value_name = "DRAWS", requires = "source", conflicts_with = "blind", allow_negative_numbers = true, value_parser = whole::<u64>)]
        uncertainty: Option<u64>,
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Print what the models say of machines that anyone can measure, or hold measurements against it.
    Predictions {
        /// A TOML file of measurements.
        #[arg(long, value_name = "FILE", conflicts_with = "say")]
        measured: Option<PathBuf>,
        /// Write what was said, and what the models say now of all that nobody said yet, as a record of this version, as .csv.
        #[arg(long, value_name = "FILE", requires = "date")]
        say: Option<PathBuf>,
        /// The day of that record, such as 2026-11-22.
        #[arg(long, value_name = "DAY", requires = "say", value_parser = day)]
        date: Option<String>,
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Refit a paper's free parameters from its `calibrate` claims.
    Calibrate {
        /// The paper, such as `pimnast`.
        paper: String,
        /// Predict each of these claims from a fit to the others.
        #[arg(long)]
        leave_one_out: bool,
        /// With it, go by slopes from the stored values on: minutes instead of hours where claims take seconds, for
        /// models without jumps.
        #[arg(long, requires = "leave_one_out")]
        near: bool,
        /// Print how far the stored values may be off together, as data/calibration holds it.
        #[arg(long, conflicts_with = "leave_one_out")]
        covariance: bool,
        /// Table to write what `--leave-one-out` finds to, as .csv; the terminal if not given.
        #[arg(short, long, value_name = "FILE", requires = "leave_one_out", conflicts_with = "covariance")]
        out: Option<PathBuf>,
    },
    /// List the studies: the questions that can be asked.
    Studies,
    /// Explain a study's parameters and answer, or show a preset and its sources.
    Describe {
        /// A study such as `pim.gemv`, or a preset such as `lpddr5-6400`.
        #[arg(value_name = "STUDY|PRESET")]
        name: String,
        /// Show only where this other preset differs.
        #[arg(long, value_name = "OTHER")]
        diff: Option<String>,
    },
    /// Answer one study.
    Run {
        /// A study, a TOML study file, or a row of a .parquet table.
        #[arg(value_name = "STUDY|FILE")]
        study: String,
        #[command(flatten)]
        overrides: Overrides,
        /// The row of the table, from 0.
        #[arg(long)]
        row: Option<usize>,
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Print which question a table on disk answers: study, base, axes, version.
    Show {
        /// A .parquet or .csv table that a sweep wrote.
        table: PathBuf,
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Answer a study at every point of a design space.
    Sweep {
        /// A TOML study file with axes.
        file: PathBuf,
        /// The table to write, if not the study file's `output`; the name's ending, .parquet or
        /// .csv, chooses the format.
        #[arg(short, long, value_name = "TABLE")]
        out: Option<PathBuf>,
        /// Go on where an interrupted sweep stopped; with a store, every sweep does.
        #[arg(long)]
        resume: bool,
        /// Replace what the table holds, whatever it is; the answer to the same question, and what the store has as
        /// well, is replaced in any case.
        #[arg(long)]
        overwrite: bool,
        /// Folder in which answers are kept: what is there, from whatever sweep, is not computed again, and
        /// a table of any length takes little memory.
        #[arg(long, value_name = "DIR")]
        store: Option<PathBuf>,
    },
    /// List, check, tidy or read the answers that sweeps have kept.
    Store {
        /// What of it.
        #[command(subcommand)]
        what: Store,
    },
    /// Look for the best points of a design space, without looking at all of it.
    ///
    /// Prints the best; the table holds every point that was evaluated. Ctrl-C keeps what is done.
    Search {
        /// A TOML study file with axes; its `[search]` says what is not given here.
        file: PathBuf,
        #[command(flatten)]
        sought: Sought,
        /// How points are chosen: exhaustive, random, latin, sobol, descent, nelder-mead, swarm, annealing
        /// or nsga2; descent for one objective and nsga2 for several if not given.
        #[arg(long)]
        method: Option<String>,
        /// Points evaluated at most.
        #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = whole::<u64>)]
        budget: Option<u64>,
        /// Other points for each seed.
        #[arg(long, allow_negative_numbers = true, value_parser = whole::<u64>)]
        seed: Option<u64>,
        #[command(flatten)]
        kept: Kept,
    },
    /// Print what nothing is better than in every objective: of a whole design space, or of a table.
    ///
    /// Of a space, every point is looked at and none but the front is kept.
    Front {
        /// A TOML study file with axes, or a .parquet or .csv table.
        #[arg(value_name = "FILE|TABLE")]
        source: PathBuf,
        #[command(flatten)]
        sought: Sought,
        #[command(flatten)]
        kept: Kept,
    },
    /// Tell which axes of a design space matter to a column, and how much.
    ///
    /// `tornado` changes one at a time from the base, `morris` takes random paths, `sobol` gives shares of the
    /// variance with intervals.
    Sensitivity {
        /// A TOML study file with axes; its `[sensitivity]` says what is not given here.
        file: PathBuf,
        /// A column, or a formula over parameters and columns, to which they matter; several times for several.
        #[arg(long, value_name = "FORMULA")]
        of: Vec<String>,
        /// tornado, morris or sobol.
        #[arg(long)]
        method: Option<String>,
        /// Paths of morris, base points of sobol.
        #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = whole::<u64>)]
        samples: Option<u64>,
        /// Others for each seed.
        #[arg(long, allow_negative_numbers = true, value_parser = whole::<u64>)]
        seed: Option<u64>,
        /// Table to write, .parquet or .csv.
        #[arg(short, long, value_name = "TABLE")]
        out: Option<PathBuf>,
    },
    /// Print what answers may be, given how well the numbers behind them are known.
    Uncertainty {
        /// A study, or a TOML study file, with or without axes.
        #[arg(value_name = "STUDY|FILE")]
        source: String,
        #[command(flatten)]
        overrides: Overrides,
        /// A column, or a formula; the study's aim if not given, or of a single point all numbers.
        #[arg(long, value_name = "COLUMN")]
        of: Vec<String>,
        /// How often everything that is not known for sure is drawn.
        #[arg(long, default_value_t = 200, allow_negative_numbers = true, value_parser = whole::<u64>)]
        draws: u64,
        /// Another seed draws others.
        #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
        seed: u64,
        /// Table to write, .parquet or .csv.
        #[arg(short, long, value_name = "TABLE")]
        out: Option<PathBuf>,
    },
    /// Ask all platforms for the same prompt and reply: times, memory and what binds them, or why a
    /// platform cannot run it.
    Compare {
        /// Platforms by name, or files of yours; all that are built in if none is given.
        #[arg(value_name = "PLATFORM|FILE")]
        platforms: Vec<String>,
        #[command(flatten)]
        workload: Workload,
        /// Take each platform apart: a row for each part of each operator of prompt and token.
        #[arg(long)]
        operators: bool,
        /// Table to write, .parquet or .csv.
        #[arg(short, long, value_name = "TABLE")]
        out: Option<PathBuf>,
    },
    /// Draw a table in the papers' look.
    Plot(Plot),
    /// Change a study's parameters, or look through a table, on a page in the browser.
    ///
    /// The page is answered for this machine alone, until Ctrl-C.
    Explore(Explore),
    /// Measure how good the program itself is.
    Bench {
        /// What of it.
        #[command(subcommand)]
        what: Bench,
    },
    /// Print how sparse, alike and uneven neurons' activity is in recorded traces.
    TraceStats {
        /// Sequences of one model, as .npz files or one folder of them; the built-in recording if none is given.
        #[arg(value_name = "TRACE")]
        traces: Vec<PathBuf>,
        /// What was profiled offline, as an .npz file; the traces' own prompts if not given.
        #[arg(long, value_name = "FILE")]
        profile: Option<PathBuf>,
        /// DIMMs that cold neurons are cut over.
        #[arg(long, value_name = "COUNT", default_value = "8", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
        dimms: u32,
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Hold studies to their laws at random points: more of a resource is never slower, no
    /// parameter is dead, what does not fit is refused, parts sum to the whole.
    ///
    /// Exits with 1 if a law is broken; each comes with the smallest commands that show it.
    Laws {
        /// The study; all of them if none is given.
        study: Option<String>,
        /// What stays as it is; the machine around it is drawn.
        #[command(flatten)]
        overrides: Overrides,
        /// A machine of yours, by name or path, for every study that takes one.
        #[arg(long, value_name = "NAME|FILE")]
        hardware: Option<String>,
        /// Random points for each study.
        #[arg(long, value_name = "COUNT", default_value_t = 1000, allow_negative_numbers = true, value_parser = whole::<u64>)]
        points: u64,
        /// Other points for each seed.
        #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<u64>)]
        seed: u64,
        /// Table of all counts to write, .parquet or .csv.
        #[arg(short, long, value_name = "TABLE")]
        out: Option<PathBuf>,
    },
    /// Offer the studies as tools to a program that explores, by the Model Context Protocol on standard
    /// input and output.
    Mcp {
        /// The only folder that files are read from and written to.
        #[arg(value_name = "DIR", default_value = ".")]
        folder: PathBuf,
        /// The most points that one call may ask for.
        #[arg(long, value_name = "COUNT", default_value_t = 100_000, allow_negative_numbers = true, value_parser = whole::<u64>)]
        most_points: u64,
    },
    /// Run a system's software on this machine, and fit its model to it.
    Measure {
        /// Which system's.
        #[command(subcommand)]
        what: Measure,
    },
    /// List the presets: descriptions of models, memories and machines that can be named.
    Presets {
        /// Only those of one kind, such as `memory`.
        kind: Option<String>,
    },
    /// Print the form in which a description is written, as JSON Schema for editors.
    Schema {
        /// What is described, such as `memory` or `model`.
        kind: String,
    },
    /// Write what happens when: memory commands, or who is busy with what.
    Trace {
        /// A study, or a TOML study file.
        #[arg(value_name = "STUDY|FILE")]
        study: String,
        #[command(flatten)]
        overrides: Overrides,
        /// What is to read it: `perfetto` and `csv` for every study that has a timeline, and what else the study has;
        /// perfetto for a file that ends in .json, else csv, or what else there is, if not given.
        #[arg(long)]
        format: Option<String>,
        /// File to write to; the terminal if not given.
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// What can be measured, one system each.
#[derive(Debug, Subcommand)]
pub enum Measure {
    /// Quantised kernels of llama.cpp, an f32 GEMV and a plain read, over threads.
    RiscvKernels(RiscvKernels),
    /// PIM-SHERPA's prefill: duplicated weights, online rearrangement, double buffering.
    Ondevice(Ondevice),
}

/// A count, which may be none.
fn whole<T: FromStr>(given: &str) -> Result<T, &'static str> {
    given.parse().map_err(|_| "give a whole number from 0 to 2^64 - 1, such as 1000")
}

/// How many there are of what there must be.
fn at_least_1(given: &str) -> Result<u64, &'static str> {
    given.parse().ok().filter(|it| *it > 0).ok_or("give a whole number, at least 1")
}

/// A prompt and a reply.
#[derive(Debug, Args)]
pub struct Workload {
    /// Language model: a name, a .toml, a config.json or a GGUF file.
    #[arg(long, default_value = "llama-3.2-3b")]
    pub model: String,
    /// Tokens of each prompt.
    #[arg(long, value_name = "COUNT", default_value_t = 1920, allow_negative_numbers = true, value_parser = at_least_1)]
    pub prompt_tokens: u64,
    /// Tokens generated after it.
    #[arg(long, value_name = "COUNT", default_value_t = 128, allow_negative_numbers = true, value_parser = at_least_1)]
    pub generated_tokens: u64,
    /// Sequences at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_1)]
    pub batch: u64,
    /// How weights are stored, several for a row each; each platform's own if not given.
    #[arg(long = "format", value_name = "FORMAT", value_delimiter = ',')]
    pub formats: Vec<String>,
}

/// What of a table is drawn, and how.
#[derive(Debug, Args)]
pub struct Plot {
    /// A .parquet or .csv table.
    pub table: PathBuf,
    /// The column across.
    #[arg(long, value_name = "COLUMN")]
    pub x: String,
    /// The column up; several times for parts of a stack, or a series each.
    #[arg(long, value_name = "COLUMN", required = true)]
    pub y: Vec<String>,
    /// The column whose values are told apart by colour; of a heat map, its rows.
    #[arg(long, value_name = "COLUMN")]
    pub series: Option<String>,
    /// The column whose values have a panel each.
    #[arg(long, value_name = "COLUMN")]
    pub facet: Option<String>,
    /// Give each panel axes of its own; else a length or a colour means the same in all.
    #[arg(long)]
    pub own_axes: bool,
    /// bars, lines, points, heatmap, front, stacked or tornado; lines over numbers and bars over names if
    /// not given.
    #[arg(long)]
    pub kind: Option<String>,
    /// Logarithmic axes: x, y or xy.
    #[arg(long, value_name = "AXES", default_value = "")]
    pub log: String,
    /// A dashed line across, such as `peak=51.2`, or a band, such as `phones=8..12`; several times for several.
    #[arg(long, value_name = "NAME=VALUE")]
    pub reference: Vec<String>,
    /// Columns of the least and the greatest each point may be, drawn around it.
    #[arg(long, value_name = "LEAST,GREATEST")]
    pub band: Option<String>,
    /// For a front: a column of which more is better.
    #[arg(long, value_name = "COLUMN")]
    pub maximize: Vec<String>,
    /// What a column is called, such as `token_ns=Time per token (ns)`; several times for several.
    #[arg(long, value_name = "COLUMN=TEXT")]
    pub label: Vec<String>,
    /// Stands above.
    #[arg(long, default_value = "")]
    pub title: String,
    /// Stands below.
    #[arg(long, default_value = "")]
    pub caption: String,
    /// As wide as two columns of a page.
    #[arg(long)]
    pub wide: bool,
    /// Where it is shown: paper, slides or dark.
    #[arg(long, value_name = "STYLE", default_value = "paper")]
    pub style: String,
    /// The figure to write; its ending, .svg, .png or .pdf, chooses the format.
    #[arg(short, long, value_name = "FIGURE")]
    pub out: PathBuf,
}

/// What is explored, and where.
#[derive(Debug, Args)]
pub struct Explore {
    /// A study, a TOML study file, or a .parquet or .csv table.
    #[arg(value_name = "STUDY|FILE|TABLE")]
    pub what: String,
    #[command(flatten)]
    pub overrides: Overrides,
    /// The port on 127.0.0.1; a free one if it is 0.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Write an HTML page by itself instead: a table, or a study file's axes with every answer.
    #[arg(long = "static", value_name = "FILE", conflicts_with = "port")]
    pub page: Option<PathBuf>,
}

/// What is better, and what must hold.
#[derive(Debug, Args)]
pub struct Sought {
    /// A column, or a formula over parameters and columns, of which less is better; several times for several.
    #[arg(long, value_name = "FORMULA")]
    pub minimize: Vec<String>,
    /// The same of which more is better.
    #[arg(long, value_name = "FORMULA")]
    pub maximize: Vec<String>,
    /// What must hold besides, such as `memory_bytes <= 16e9`; several times for several.
    #[arg(long = "constraint", value_name = "FORMULA")]
    pub constraints: Vec<String>,
}

/// What of the program is measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// How near each search comes to the true front of a space of each system.
    ///
    /// Regret is how far the best value of the first objective found is from the best there is, the
    /// hypervolume its share of the true front's: medians over seeds.
    Front {
        /// Systems, such as `pim`; all if none is given.
        systems: Vec<String>,
        /// Evaluations of each search.
        #[arg(long, value_delimiter = ',', default_value = "20,100,1000,10000", allow_negative_numbers = true, value_parser = whole::<u64>)]
        budgets: Vec<u64>,
        /// Searches of each kind.
        #[arg(long, value_name = "COUNT", default_value_t = 10, allow_negative_numbers = true, value_parser = whole::<u64>)]
        seeds: u64,
        /// Table of all searches to write, .parquet or .csv.
        #[arg(short, long, value_name = "TABLE")]
        out: Option<PathBuf>,
    },
}

/// What is kept of a search or a front.
#[derive(Debug, Args)]
pub struct Kept {
    /// Folder in which answers are kept: what is there, from whatever question, is not computed again.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Table of what is found, .parquet or .csv.
    #[arg(short, long, value_name = "TABLE")]
    pub out: Option<PathBuf>,
}

/// What of the RISC-V kernels to measure.
#[derive(Debug, Args)]
pub struct RiscvKernels {
    /// Rows of the matrix.
    #[arg(long)]
    pub rows: Option<usize>,
    /// Its columns, a multiple of 32.
    #[arg(long)]
    pub columns: Option<usize>,
    /// Bytes of the plain read, best more than all caches.
    #[arg(long)]
    pub stream_bytes: Option<usize>,
    /// Numbers of threads, such as `1,2,4`; doubled up to all cores if not given.
    #[arg(long, value_delimiter = ',')]
    pub threads: Vec<usize>,
    /// Runs of each, the fastest of which counts.
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub repeats: usize,
    /// Print JSON for programs.
    #[arg(long)]
    pub json: bool,
}

/// Parameters, each as `path=value`.
#[derive(Debug, Args)]
pub struct Overrides {
    /// Parameters, such as `model=opt-6.7b memory.banks_per_channel=8`.
    #[arg(value_name = "PARAMETER=VALUE")]
    pub parameters: Vec<String>,
}

/// How PIM-SHERPA's prefill is run.
#[derive(Debug, Args)]
pub struct Ondevice {
    /// Language model.
    #[arg(long, default_value = "llama-3.2-1b")]
    pub model: String,
    /// Decoder layers of it.
    #[arg(long, default_value_t = 2, allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub layers: u64,
    /// How weights are stored: bf16, fp16, fp32 or int8.
    #[arg(long, default_value = "bf16")]
    pub format: String,
    /// Prompts, in tokens.
    #[arg(long, value_delimiter = ',', default_value = "8,32,128")]
    pub tokens: Vec<usize>,
    /// Threads for GEMM; all cores but those for copies if not given.
    #[arg(long)]
    pub gemm_threads: Option<usize>,
    /// Threads for copies beside GEMM.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub copy_threads: usize,
    /// Threads for copies before GEMM; all cores if not given.
    #[arg(long)]
    pub owr_threads: Option<usize>,
    /// Runs of each point, the fastest of which counts.
    #[arg(long, default_value_t = 3, allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub repeats: usize,
    /// Study file to write: `ondevice.prefill` with this machine's parameters.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Timeline of the longest double-buffered prompt to write, for Perfetto.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

/// What to do with kept answers.
#[derive(Debug, Subcommand)]
pub enum Store {
    /// List the questions, when and where they were asked, and how much of each is there.
    Ls {
        /// The store's folder.
        store: PathBuf,
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Print a question: study, versions, base, axes, seed.
    Show {
        /// The store's folder.
        store: PathBuf,
        /// The beginning of its name, unless it is the only one.
        #[arg(default_value = "")]
        question: String,
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Read every file and hold it against its checksum; damaged ones are set aside.
    ///
    /// Exits with 1 if there is a damaged one, or an answer is another now.
    Verify {
        /// The store's folder.
        store: PathBuf,
        /// Ask about so many points of each question again, too, and hold their answers against what is kept.
        #[arg(long, value_name = "POINTS", default_value_t = 0, allow_negative_numbers = true, value_parser = whole::<usize>)]
        ask: usize,
    },
    /// Remove what nobody wants: damaged and left-behind files, second copies.
    Gc {
        /// The store's folder.
        store: PathBuf,
        /// Remove answers of other versions of the program, the model or the data, too.
        #[arg(long)]
        stale: bool,
        /// Remove this question's answers, too: the beginning of its name.
        #[arg(long, value_name = "QUESTION")]
        question: Vec<String>,
    },
    /// Write a question's rows as one table.
    Export {
        /// The store's folder.
        store: PathBuf,
        /// The beginning of its name, unless it is the only one.
        #[arg(default_value = "")]
        question: String,
        /// Table to write, .parquet or .csv.
        #[arg(short, long, value_name = "TABLE")]
        out: PathBuf,
    },
}

/// A day of the calendar.
fn day(text: &str) -> Result<String, String> {
    match text.parse::<toml::value::Datetime>() {
        Ok(toml::value::Datetime { date: Some(_), time: None, offset: None }) => Ok(text.to_owned()),
        _ => Err("expected a day such as 2026-11-22".to_owned()),
    }
}
