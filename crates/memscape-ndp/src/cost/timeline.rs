//! A prompt and a reply whose tokens all take the same: a timeline of the parts.

use memscape_study::{Part, Recorder, Span};
use memscape_units::{Nanoseconds, float};

use super::account::{Account, StepPart};

/// Tokens whose parts are recorded one by one.
pub const IN_DETAIL: usize = 8;
/// Tokens that have a span of their own; those after them share one.
pub const ONE_BY_ONE: usize = 4096;

/// Records a prompt and a reply of mean steps, part after part.
pub fn record(account: &Account, generated: u32, to: &mut dyn Recorder) {
    let tokens = to.track("reply", "tokens");
    let (gpu, transfers) = (to.track("GPU", "kernels"), to.track("GPU", "transfers"));
    let dimms = (account.cold > Nanoseconds::ZERO).then(|| to.track("DIMMs", "all DIMMs"));
    let mut now = Nanoseconds::ZERO;
    let mut span = |track, name: &str, category, start: Nanoseconds, end: Nanoseconds| {
        let (start, end) = (start.to_picoseconds(), end.to_picoseconds());
        if end > start {
            to.span(track, Span { name, category, start, end, details: &[] });
        }
    };
    let prompt = &account.prompt;
    let computes = if prompt.overlapped { now } else { prompt.transfer };
    span(transfers, "weights", "prompt", now, prompt.transfer);
    span(gpu, "prompt", "prompt", computes, computes + prompt.compute);
    span(transfers, "weights that stay", "prompt", prompt.time() - prompt.load, prompt.time());
    span(tokens, "prompt", "prompt", now, prompt.time());
    now = prompt.time();

    let generated = generated as usize;
    let step = Nanoseconds::saturating(account.step.total().as_ns());
    for token in 0..generated.min(ONE_BY_ONE) {
        let start = now;
        if token < IN_DETAIL {
            for part in [StepPart::Communication, StepPart::Predictor, StepPart::Fc, StepPart::Attention] {
                let end = now + Nanoseconds::saturating(account.step.ns(part));
                // What the DIMMs compute follows what the GPU does.
                let middle = if dimms.is_some() { now + account.gpu } else { end };
                match (part, dimms) {
                    (StepPart::Communication, _) => span(transfers, part.name(), "part", now, end),
                    (StepPart::Fc, Some(dimms)) => {
                        span(gpu, part.name(), "part", now, middle);
                        span(dimms, part.name(), "part", middle, end);
                    }
                    (StepPart::Attention, Some(dimms)) => span(dimms, part.name(), "part", now, end),
                    _ => span(gpu, part.name(), "part", now, end),
                }
                now = end;
            }
        }
        now = start + step;
        span(tokens, &format!("token {}", token + 1), "token", start, now);
    }
    if generated > ONE_BY_ONE {
        let end = now + step * float((generated - ONE_BY_ONE) as u64);
        span(tokens, &format!("tokens {} to {generated}", ONE_BY_ONE + 1), "token", now, end);
    }
}
