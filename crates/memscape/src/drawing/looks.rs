//! Which series a figure has, and which of them look alike: one has one colour and marker in all panels.

use std::collections::{HashMap, HashSet};

use super::values::distinct;

/// More lines cannot be followed, more bars not be seen.
pub const MOST_SERIES: usize = 12;

/// A series where it is drawn.
pub struct Seen {
    pub series: String,
    /// The number that it is; not one if it is none.
    pub rank: f64,
    pub facet: String,
}

/// The series of a figure, each with the number of its look.
#[derive(Default)]
pub struct Looks {
    /// In the order of legends.
    all: Vec<(String, usize)>,
    panels: HashMap<String, HashSet<String>>,
}

impl Looks {
    /// * `unlike`: how many looks there are; of more series, some look alike.
    /// * `most`: how many series a panel may have.
    ///
    /// # Errors
    /// How many series a panel has, if they are too many.
    pub fn of(seen: &[Seen], unlike: usize, most: usize) -> Result<Self, usize> {
        let mut by_rank: Vec<&Seen> = seen.iter().collect();
        // A legend of numbers counts up.
        by_rank.sort_by(|one, other| one.rank.total_cmp(&other.rank));
        let names = distinct(by_rank.iter().map(|it| it.series.clone()));
        let mut panels: HashMap<String, HashSet<String>> = HashMap::new();
        for it in seen {
            panels.entry(it.facet.clone()).or_default().insert(it.series.clone());
        }
        if let Some(too_many) = panels.values().map(HashSet::len).max().filter(|it| *it > most) {
            return Err(too_many);
        }
        let mut all: Vec<(String, usize)> = (0..).zip(names).map(|(look, name)| (name, look)).collect();
        if all.len() > unlike {
            share(&mut all, &panels);
        }
        Ok(Self { all, panels })
    }

    /// The series of a panel, in the order of legends, and what they look like.
    pub fn of_panel(&self, facet: &str) -> Vec<(&str, usize)> {
        let Some(here) = self.panels.get(facet) else { return Vec::new() };
        self.all.iter().filter(|it| here.contains(&it.0)).map(|it| (it.0.as_str(), it.1)).collect()
    }
}

/// More series than looks: those that no panel shows together may look alike.
fn share(all: &mut [(String, usize)], panels: &HashMap<String, HashSet<String>>) {
    for index in 0..all.len() {
        let (before, rest) = all.split_at_mut(index);
        let (name, look) = &mut rest[0];
        let together =
            |other: &str| panels.values().any(|it| it.contains(name.as_str()) && it.contains(other));
        let taken: HashSet<usize> = before.iter().filter(|it| together(&it.0)).map(|it| it.1).collect();
        *look = (0..=index).find(|it| !taken.contains(it)).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(panels: &[&[&str]]) -> Vec<Vec<usize>> {
        let facets: Vec<String> = (0..panels.len()).map(|it| it.to_string()).collect();
        let seen: Vec<Seen> = panels
            .iter()
            .zip(&facets)
            .flat_map(|(names, facet)| {
                names.iter().map(|series| Seen {
                    series: (*series).to_owned(),
                    rank: f64::NAN,
                    facet: facet.clone(),
                })
            })
            .collect();
        let found = Looks::of(&seen, 12, MOST_SERIES).unwrap();
        facets.iter().map(|it| found.of_panel(it).into_iter().map(|it| it.1).collect()).collect()
    }

    #[test]
    fn a_series_looks_alike_in_all_panels_and_unlike_the_others_of_each() {
        assert_eq!(looks(&[&["a", "b", "c"], &["c", "a"], &["d"]]), [vec![0, 1, 2], vec![0, 2], vec![3]]);
        let names: Vec<String> = (0..20).map(|it| format!("s{it}")).collect();
        let of = |from: usize, to: usize| names[from..to].iter().map(String::as_str).collect::<Vec<_>>();
        // More than there are looks, none of them in two panels.
        assert_eq!(looks(&[&of(0, 10), &of(10, 20)]), [(0..10).collect::<Vec<_>>(), (0..10).collect()]);
        // One is in both.
        let found = looks(&[&of(0, 10), &of(9, 20)]);
        assert_eq!(found[0][9], found[1][0]);
        for panel in found {
            assert_eq!(panel.iter().collect::<HashSet<_>>().len(), panel.len());
        }
    }
}
