//! How many tokens a model's positions reach, by what its file says of scaling them.

/// From where rotary positions are stretched by their factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stretched {
    /// They are not, or the file counts the stretched ones.
    Not,
    /// From the context that the file says.
    FromWritten,
    /// From the context before they were stretched; the file may count either.
    FromOriginal,
}

/// The most that positions may be stretched by.
const MOST_FACTOR: u32 = 1 << 24;

impl Stretched {
    /// By the name of the scaling, of a model of this type or architecture: `linear` and `dynamic` are counted
    /// as they were before it (but of Gemma 3), `yarn` either way, `llama3` and `longrope` as they are after it.
    ///
    /// # Source
    /// Transformers, `modeling_rope_utils.py`. llama.cpp's converter writes `max_position_embeddings` as the
    /// context, and `rope_scaling` beside it.
    pub fn of(model_type: &str, scaling: Option<&str>) -> Self {
        match scaling {
            Some("linear" | "dynamic") if !model_type.starts_with("gemma3") => Self::FromWritten,
            Some("yarn") => Self::FromOriginal,
            _ => Self::Not,
        }
    }
}

/// A factor, if it stretches.
///
/// # Errors
/// What it may be.
pub(crate) fn factor(given: Option<f64>) -> Result<f64, String> {
    let within = given.filter(|it| (1.0..=f64::from(MOST_FACTOR)).contains(it));
    within.ok_or_else(|| format!("a number from 1 to {MOST_FACTOR}"))
}

/// What positions reach that are stretched from `from`, and at least what is written.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(crate) fn reached(written: u32, from: u32, factor: f64) -> u64 {
    let stretched = (f64::from(from) * factor) as u64;
    stretched.max(written.into())
}
