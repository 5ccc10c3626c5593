//! "Did you mean": one rule for every name that a user can mistype.

use std::fmt;

/// The candidate that `name` was probably meant to be, if one is near.
///
/// A dotted candidate is also found by its last part alone, or by the beginning or the last word
/// of it, or by another word for how many or per what (`dimm_count`, `tokens_s`). A name that lacks its last letter comes before these. Of equally near ones wins the one that has more of the
/// name's words and numbers, then that of the same length, then the one that begins alike.
///
/// ```
/// use memscape_study::nearest;
/// assert_eq!(nearest("opt-6.6b", ["opt-66b", "opt-6.7b"]), Some("opt-6.7b"));
/// assert_eq!(nearest("banks_per_chanel", ["memory.banks_per_channel"]), Some("memory.banks_per_channel"));
/// assert_eq!(nearest("colour", ["pim.registers"]), None);
/// assert_eq!(nearest("llama-3-8b", ["llama-2-7b", "llama-3.1-8b"]), Some("llama-3.1-8b"));
/// assert_eq!(nearest("pimnast.fig1", ["hermes.fig10", "pimnast.fig10"]), Some("pimnast.fig10"));
/// assert_eq!(nearest("dimm_count", ["dimm", "dimms", "host"]), Some("dimms"));
/// assert_eq!(nearest("tokens_s", ["token_ns", "tokens_per_s"]), Some("tokens_per_s"));
/// ```
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let wanted_end = last(&wanted);
    let group = wanted.strip_suffix(wanted_end).unwrap_or_default();
    // Numbers, such as of `opt-6.6b`, are no words for how many.
    let wanted_words =
        if wanted_end.starts_with(char::is_alphabetic) { words(wanted_end) } else { Vec::new() };
    let distance = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let end = last(&candidate);
        let is_word = wanted_end.len() > 2 && candidate.starts_with(group);
        let begun = is_word && end.starts_with(wanted_end);
        let ended = is_word && end.strip_suffix(wanted_end).is_some_and(|it| it.ends_with(['-', '_']));
        let whole = strsim::damerau_levenshtein(&wanted, &candidate);
        // One more, so that a whole match wins.
        let part = match (begun, ended) {
            (true, _) => 0,
            _ if !wanted_words.is_empty() && words(end) == wanted_words => 0,
            (_, true) => 1,
            _ => strsim::damerau_levenshtein(wanted_end, end) + 1,
        };
        let slip = whole == 1 && candidate.starts_with(&wanted);
        (!slip, whole.min(part))
    };
    let ranked = candidates.into_iter().map(|it| {
        let unlike = 1.0 - strsim::jaro_winkler(&wanted, &it.to_lowercase());
        (distance(it), missing(&wanted, it), it.len().abs_diff(name.len()), unlike, it)
    });
    let best = ranked.min_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)).then(a.3.total_cmp(&b.3)))?;
    (best.0.1 <= 1 + wanted_end.chars().count() / 4).then_some(best.4)
}

/// The words of a part of a name, sorted, without `per`, and with a plural for what is counted: `dimm_count` and
/// `num_dimms` are `dimms`.
fn words(part: &str) -> Vec<String> {
    let all = part.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty());
    let (counting, named): (Vec<_>, Vec<_>) = all.partition(|it| ["count", "num", "number"].contains(it));
    let named = named.into_iter().filter(|it| !["of", "per"].contains(it));
    let plural =
        |it: &str| if counting.is_empty() || it.ends_with('s') { it.to_owned() } else { format!("{it}s") };
    let mut words = named.map(plural).collect::<Vec<_>>();
    words.sort_unstable();
    words
}

/// How many words and numbers of a name a candidate lacks.
fn missing(name: &str, candidate: &str) -> usize {
    let parts = |it: &str| {
        let parts = it.split(|it: char| !it.is_alphanumeric()).map(str::to_lowercase);
        parts.collect::<Vec<_>>()
    };
    let has = parts(candidate);
    parts(name).iter().filter(|it| !has.contains(it)).count()
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// A name that nothing has.
///
/// ```
/// use memscape_study::Unknown;
/// let error = Unknown::new("model", "opt-6.6b", ["opt-66b", "opt-6.7b"]);
/// assert_eq!(error.to_string(), "there is no model `opt-6.6b`; did you mean `opt-6.7b`?");
/// let error = Unknown::new("model", "t5", ["opt-66b", "opt-6.7b"]);
/// assert_eq!(error.to_string(), "there is no model `t5`; there are `opt-66b`, `opt-6.7b`");
/// let error = Unknown::new("study", "npu.token", ["pim.gemv", "npu.gemm", "npu.workload"]);
/// assert_eq!(error.to_string(), "there is no study `npu.token`; there are `npu.gemm`, `npu.workload`");
/// let error = Unknown::new("figure", "fig10", ["pimnast.fig10", "hermes.fig10", "hermes.fig1"]);
/// assert_eq!(error.to_string(), "there is no figure `fig10`; did you mean `pimnast.fig10`, `hermes.fig10`?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What was looked for, for example `model`.
    pub what: String,
    /// The name as given.
    pub name: String,
    /// What was probably meant.
    pub nearest: Option<String>,
    /// All there are.
    pub known: Vec<String>,
}

/// Names in a message; more are counted.
const LISTED: usize = 12;

impl Unknown {
    /// Looks for the nearest of the known names.
    pub fn new<'a>(
        what: impl Into<String>,
        name: impl Into<String>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let (name, known) = (name.into(), known.into_iter().collect::<Vec<_>>());
        let nearest = nearest(&name, known.iter().copied()).map(str::to_owned);
        Self { what: what.into(), name, nearest, known: known.into_iter().map(str::to_owned).collect() }
    }

    /// The one of these that has this name.
    ///
    /// ```
    /// # use memscape_study::Unknown;
    /// let models = [("opt-66b", 64), ("opt-6.7b", 32)];
    /// assert_eq!(Unknown::find("model", "opt-66b", models, |it| it.0).map(|it| it.1), Ok(64));
    /// let error = Unknown::find("model", "opt-6.6b", models, |it| it.0).unwrap_err();
    /// assert_eq!(error.to_string(), "there is no model `opt-6.6b`; did you mean `opt-6.7b`?");
    /// ```
    ///
    /// # Errors
    /// [`Unknown`] suggests the nearest.
    pub fn find<'a, T: Copy>(
        what: &str,
        name: &str,
        all: impl IntoIterator<Item = T>,
        name_of: impl Fn(T) -> &'a str,
    ) -> Result<T, Self> {
        let all: Vec<T> = all.into_iter().collect();
        let found = all.iter().copied().find(|it| name_of(*it) == name);
        found.ok_or_else(|| Self::new(what, name, all.into_iter().map(name_of)))
    }

    /// The end of the message: `; did you mean ...?`, or what there is.
    #[must_use]
    pub fn hint(&self) -> String {
        // What several have as their last part is as near to one as to the other.
        let same_end = |it: &&String| it.rsplit_once('.').is_some_and(|it| it.1 == self.name);
        let all: Vec<&String> = self.known.iter().filter(same_end).collect();
        if (2..=LISTED).contains(&all.len()) {
            return format!("; did you mean {}?", list(&all));
        }
        if let Some(nearest) = &self.nearest {
            return format!("; did you mean `{nearest}`?");
        }
        // Of what has its first part, all.
        let group = self.name.split('.').next().unwrap_or_default();
        let of_group = |it: &&String| it.split_once('.').is_some_and(|it| it.0 == group);
        let all: Vec<&String> = self.known.iter().filter(of_group).collect();
        match all.len() {
            1 => return format!("; there is {}", list(&all)),
            2..=LISTED => return format!("; there are {}", list(&all)),
            _ => {}
        }
        match self.known.len() {
            0 => String::new(),
            all if all <= LISTED => format!("; there are {}", list(&self.known)),
            all => format!("; there are {} and {} more", list(&self.known[..LISTED]), all - LISTED),
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} `{}`{}", self.what, self.name, self.hint())
    }
}

impl std::error::Error for Unknown {}

/// "`a`, `b`, `c`".
#[must_use]
pub fn list<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(|it| format!("`{}`", it.as_ref())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Unknown, nearest};

    #[test]
    fn the_nearest_name_is_suggested_or_all_are_listed() {
        let names = ["memory.banks_per_channel", "memory.trcd_ns", "pim.registers"];
        assert_eq!(nearest("memory.trdc_ns", names), Some("memory.trcd_ns"));
        assert_eq!(nearest("banks_per_chanel", names), Some("memory.banks_per_channel"));
        assert_eq!(nearest("memory.trcd", names), Some("memory.trcd_ns"));
        assert_eq!(nearest("pim.register", ["pim.register_bits", "pim.registers"]), Some("pim.registers"));
        assert_eq!(nearest("banks", ["ranks", "banks_per_channel"]), Some("banks_per_channel"));
        assert_eq!(nearest("dimm", ["memory", "ndp-dimm", "model"]), Some("ndp-dimm"));
        assert_eq!(nearest("x", []), None);
        let hint = Unknown::new("parameter", "colour", names).hint();
        assert_eq!(hint, "; there are `memory.banks_per_channel`, `memory.trcd_ns`, `pim.registers`");
    }

    #[test]
    fn a_tie_goes_to_the_name_of_the_same_length() {
        assert_eq!(nearest("opt-6.6b", ["opt-66b", "opt-6.7b"]), Some("opt-6.7b"));
        assert_eq!(nearest("opt-6.6b", ["opt-6.7b", "opt-66b"]), Some("opt-6.7b"));
    }
}
