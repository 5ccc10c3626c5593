//! The statistics of Hermes' Fig. 4, of recorded traces.

use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use memscape::explore::read_bytes;
use memscape::ndp::activity::{BlockKind, RECORDINGS, Recording, RecordingName, SAMPLE, keep, parse};
use memscape::ndp::{ActivityAnswer, ActivityStudy};
use memscape::study::{AnyCatalog, CostEngine, File, Study};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// What the files are called while they are looked at.
const GIVEN: &str = "given";
const DISTANCES: [u32; 6] = [1, 2, 5, 10, 25, 50];

/// One line: what is measured, and its value for QKV inputs and feed-forward neurons.
type Line = (String, [f64; 2]);

/// Prints the statistics, as means over sequences.
pub fn report(
    traces: &[PathBuf],
    profile: Option<&Path>,
    dimms: u32,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (name, recording) = recorded(traces, profile)?;
    let lines = lines(&recording, dimms)?;
    if json {
        let pair = |(what, [qkv, mlp]): Line| (what, serde_json::json!({ "qkv": qkv, "mlp": mlp }));
        return Ok(writeln!(out, "{}", Value::Object(lines.into_iter().map(pair).collect::<Map<_, _>>()))?);
    }
    writeln!(out, "{name}: {}", recording.summary())?;
    writeln!(out, "{:<48}{:>10}{:>14}", "", "QKV", "feed-forward")?;
    for (what, [qkv, mlp]) in lines {
        writeln!(out, "{what:<48}{qkv:>10.3}{mlp:>14.3}")?;
    }
    Ok(())
}

/// What is looked at, and what it is called: files, all of a folder, or what is
/// built in.
fn recorded(traces: &[PathBuf], profile: Option<&Path>) -> Result<(String, RecordingName), Failure> {
    match (traces, profile) {
        ([], Some(_)) => {
            let problem = "--profile goes with traces; name at least one .npz file";
            Err(Failure::BadInput(problem.to_owned()))
        }
        ([], None) => Ok((SAMPLE.to_owned(), RecordingName::named(SAMPLE).map_err(Failure::of)?)),
        ([folder], None) if folder.is_dir() => {
            let unreadable = |it| Failure::of(format!("{}: {it}", folder.display()));
            let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let paths = entries.map_err(unreadable)?.into_iter().map(|it| it.path());
            let recordings = paths.filter(|it| it.extension().is_some_and(|it| it == "npz"));
            let files = recordings.map(|it| read(&it)).collect::<Result<Vec<_>, _>>()?;
            let name = folder.display().to_string();
            let recording = parse(&files).map_err(|it| Failure::of(format!("{name}: {it}")))?;
            Ok((name, keep(recording)))
        }
        _ => {
            let files = traces.iter().map(|it| read(it)).collect::<Result<Vec<_>, _>>()?;
            let profile = profile.map(read).transpose()?;
            let files: Vec<&File> = files.iter().collect();
            let recording = Recording::from_files(GIVEN, &files, profile.as_ref()).map_err(Failure::of)?;
            Ok((GIVEN.to_owned(), keep(recording)))
        }
    }
}

fn read(path: &Path) -> Result<File, Failure> {
    let bad = |problem: String| Failure::of(format!("cannot read `{}`: {problem}", path.display()));
    let bytes = read_bytes(path, RECORDINGS.takes().max_bytes).map_err(bad)?;
    Ok(File { name: path.display().to_string(), bytes })
}

/// What a line is called, and where its number stands.
type Picked = (&'static str, fn(&ActivityAnswer) -> Option<f64>);

fn lines(recording: &RecordingName, dimms: u32) -> Result<Vec<Line>, Failure> {
    let shortest = recording.sequences.iter().map(|it| it.tokens() - it.prefill).min().unwrap_or_default();
    let shortest = u32::try_from(shortest).unwrap_or(u32::MAX);
    let sequences = u32::try_from(recording.sequences.len()).unwrap_or(u32::MAX);
    // None where the recording does not tell.
    let known =
        |distance: u32, pick: fn(&ActivityAnswer) -> Option<f64>| -> Result<Option<[f64; 2]>, Failure> {
            let mut means = [0.0; 2];
            for (mean, block) in means.iter_mut().zip(BlockKind::ALL) {
                for sequence in 0..sequences {
                    let study = ActivityStudy {
                        model: None,
                        trace: Some(recording.clone()),
                        engine: CostEngine::Events,
                        block,
                        distance: NonZeroU32::new(distance).unwrap_or(NonZeroU32::MIN),
                        shards: NonZeroU32::new(dimms).unwrap_or(NonZeroU32::MIN),
                        generated_tokens: NonZeroU32::new(shortest).unwrap_or(NonZeroU32::MIN),
                        sequence,
                        ..ActivityStudy::default()
                    };
                    let Some(value) = pick(&study.answer().map_err(Failure::of)?) else { return Ok(None) };
                    *mean += value / f64::from(sequences);
                }
            }
            Ok(Some(means))
        };
    let first: [Picked; 4] = [
        ("share of active neurons", |it| Some(it.density)),
        ("share of activations in the hottest 20 %", |it| Some(it.top_share)),
        ("share of these no longer hottest", |it| Some(it.hot_varied)),
        ("P(active | both parents active)", |it| it.child_given_parents),
    ];
    let last: [Picked; 3] = [
        ("fullest DIMM / mean, per token", |it| Some(it.token_imbalance)),
        ("fullest DIMM / mean, per window of 5", |it| Some(it.window_imbalance)),
        ("fullest DIMM / mean, whole reply, worst layer", |it| Some(it.most_imbalance)),
    ];
    let near = |it: Picked| (it.0.to_owned(), 1, it.1);
    let overlap: fn(&ActivityAnswer) -> Option<f64> = |it| Some(it.overlap);
    let overlaps = DISTANCES.into_iter().filter(|it| *it < shortest);
    let overlaps = overlaps.map(|it| (format!("overlap at distance {it}"), it, overlap));
    let mut lines = Vec::new();
    for (what, distance, pick) in first.map(near).into_iter().chain(overlaps).chain(last.map(near)) {
        lines.extend(known(distance, pick)?.map(|it| (what, it)));
    }
    Ok(lines)
}
