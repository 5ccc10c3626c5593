//! Which parameters an experiment sets itself, noted while it runs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

thread_local! {
    /// What is noted, if anybody listens. Experiments make their sweeps on the thread that
    /// asks them.
    static NOTED: RefCell<Option<BTreeSet<String>>> = const { RefCell::new(None) };
}

/// Parameters that an experiment sets itself.
#[derive(Debug, Default)]
pub struct Sets(BTreeSet<String>);

impl Sets {
    /// Whether it sets this parameter, or one that holds it.
    pub fn holds(&self, path: &str) -> bool {
        self.0
            .iter()
            .any(|it| it == path || path.strip_prefix(it.as_str()).is_some_and(|it| it.starts_with('.')))
    }
}

impl fmt::Display for Sets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(|it| format!("`{it}`")).collect();
        f.write_str(&all.join(", "))
    }
}

/// What is done, and which parameters it set meanwhile.
pub fn recorded<T>(work: impl FnOnce() -> T) -> (T, Sets) {
    let before = NOTED.replace(Some(BTreeSet::new()));
    let done = work();
    let sets = NOTED.replace(before).unwrap_or_default();
    (done, Sets(sets))
}

/// Notes parameters that an experiment sets.
pub fn note<'a>(paths: impl IntoIterator<Item = &'a str>) {
    NOTED.with_borrow_mut(|it| {
        if let Some(noted) = it {
            noted.extend(paths.into_iter().map(str::to_owned));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_holds_what_lies_in_it() {
        let ((), sets) = recorded(|| note(["memory.banks_per_channel", "gpu"]));
        assert!(sets.holds("memory.banks_per_channel") && sets.holds("gpu.bandwidth_gb_s"));
        assert!(!sets.holds("memory") && !sets.holds("memory.banks") && !sets.holds("gpus"));
        note(["nobody listens"]);
    }
}
