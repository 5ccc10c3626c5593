//! Claims files: what a paper prints, and how well its model is to do.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::claim::{Claim, Role};
use crate::error::Error;
use crate::paper::Paper;
use crate::papers::{PAPERS, paper};

/// What one paper prints, or one claims file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The paper's id, or the file's path.
    #[serde(skip)]
    pub source: String,
    /// What its model is held to.
    #[serde(default = "Bar::unless_said", rename = "bar")]
    pub bars: Vec<Bar>,
    /// What it prints.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// How well a model is to do: a share of its predictions of performance is within a
/// tolerance. Facts do not count, since they would make any share look good.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// The largest relative error.
    pub within: f64,
    /// The least share of the predictions, from 0 to 1.
    pub share: f64,
}

impl Bar {
    /// Of a file that sets none.
    fn unless_said() -> Vec<Self> {
        vec![Self { within: 0.10, share: 1.0 }]
    }

    /// Whether so many of so many are enough.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "some hundred claims")]
    pub fn is_met(&self, met: usize, of: usize) -> bool {
        self.share * of as f64 <= met as f64
    }
}

impl Published {
    /// What a paper prints.
    ///
    /// # Panics
    /// Never: the built-in files are checked by tests.
    #[must_use]
    pub fn of(paper: &Paper) -> Self {
        Self::parse(paper.published, paper.id).expect("built-in claims are checked by tests")
    }

    /// What a claims file says; `source` is what it is called.
    ///
    /// # Errors
    /// [`Error::BadClaims`] with line and column.
    pub fn parse(text: &str, source: &str) -> Result<Self, Error> {
        let published: Self = toml::from_str(text).map_err(|it| Error::BadClaims(it.to_string()))?;
        published.check().map_err(Error::BadClaims)?;
        Ok(Self { source: source.to_owned(), ..published })
    }

    /// That bars can be met and missed, and that no claim counts twice.
    fn check(&self) -> Result<(), String> {
        for Bar { within, share } in &self.bars {
            if !(within.is_finite() && *within >= 0.0) {
                return Err(format!("`within` = {within} of a bar: expected a relative error, such as 0.1"));
            }
            if !(0.0..=1.0).contains(share) {
                return Err(format!("`share` = {share} of a bar: expected a share from 0 to 1, such as 0.9"));
            }
        }
        let again = |at: usize| self.claims[..at].iter().any(|it| it.id == self.claims[at].id);
        if let Some(twice) = (0..self.claims.len()).find(|it| again(*it)) {
            return Err(format!(
                "two claims are called `{}`; each needs an id of its own",
                self.claims[twice].id
            ));
        }
        self.claims.iter().try_for_each(|it| self.check_follows(it))
    }

    /// That a claim which follows from others would count, and those are no such claims themselves.
    fn check_follows(&self, claim: &Claim) -> Result<(), String> {
        let Claim { id, role, follows_from, .. } = claim;
        if !follows_from.is_empty() && *role != Role::Predict {
            let role = role.name();
            return Err(format!(
                "`{id}` has `follows_from` and the role `{role}`, which is not counted anyway"
            ));
        }
        for from in follows_from {
            match self.claims.iter().find(|it| it.id == *from) {
                None => {
                    return Err(format!(
                        "`{id}` follows from `{from}`, but no claim of this file has that id"
                    ));
                }
                Some(it) if it.id == *id => {
                    return Err(format!("`{id}` follows from itself; name what gives it"));
                }
                Some(it) if !it.follows_from.is_empty() => {
                    let first = it.follows_from.join("`, `");
                    return Err(format!(
                        "`{id}` follows from `{from}`, which follows from others: name `{first}` instead"
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// What a paper prints, or what a claims file says; of all papers if none is named.
///
/// # Errors
/// [`Error::Unknown`] if there is no such paper, [`Error::File`] if the file cannot be
/// read or is no claims file.
pub fn published(source: Option<&str>) -> Result<Vec<Published>, Error> {
    let is_file = |it: &&Path| it.is_file() || it.extension().is_some_and(|it| it == "toml");
    match (source, source.map(Path::new).filter(is_file)) {
        (_, Some(path)) => Ok(vec![read(path)?]),
        (Some(id), None) => Ok(vec![Published::of(paper(id)?)]),
        (None, None) => Ok(PAPERS.iter().map(Published::of).collect()),
    }
}

fn read(path: &Path) -> Result<Published, Error> {
    let text = memscape_explore::read_text(path).map_err(|it| Error::file(path, &it))?;
    Published::parse(&text, &path.display().to_string()).map_err(|it| Error::file(path, &it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Sort;

    #[test]
    fn ids_are_unique_and_begin_with_their_paper() {
        for of in published(None).unwrap() {
            let mut ids: Vec<_> = of.claims.iter().map(|it| &it.id).collect();
            assert!(ids.iter().all(|it| it.starts_with(&format!("{}.", of.source))), "{}", of.source);
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), of.claims.len(), "{}", of.source);
        }
    }

    /// No parameter is fitted to what was said blind, now or later.
    #[test]
    fn what_was_said_blind_stays_a_prediction() {
        let all = published(None).unwrap();
        let blind: Vec<_> = all.iter().flat_map(|it| &it.claims).filter(|it| it.blind.is_some()).collect();
        assert_eq!(blind.len(), 88);
        assert!(blind.iter().all(|it| it.role == Role::Predict && it.query.is_some()));
        let systems = memscape_systems::registry().systems().iter();
        for it in systems.filter_map(|it| it.calibration).flat_map(memscape_study::Calibration::parameters) {
            let fixed = blind.iter().find(|claim| it.fixed_by.contains(&claim.id));
            assert!(fixed.is_none(), "{} is fixed by {fixed:?}", it.key());
        }
    }

    #[test]
    fn papers_with_predictions_of_performance_set_bars() {
        let all = published(None).unwrap();
        let held = |it: &&Published| {
            it.claims.iter().any(|it| it.role == Role::Predict && it.sort == Sort::Performance)
        };
        let held: Vec<_> = all.iter().filter(held).collect();
        assert!(held.len() >= 5);
        for it in held {
            let own = it.bars != Bar::unless_said() && !it.bars.is_empty();
            assert!(own, "{} predicts performance: data/published says in `[[bar]]` how well", it.source);
        }
    }

    #[test]
    fn what_follows_names_what_it_follows_from() {
        let parse = |time: &str, rate: &str| {
            let claim = |id: &str, more: &str| {
                format!("[[claim]]\nid = '{id}'\nwhere = ''\nsays = ''\nunit = ''\nvalue = '1'\n{more}\n")
            };
            let text = claim("a.time", time) + &claim("a.rate", rate);
            Published::parse(&text, "ours").map(|it| it.claims.len()).map_err(|it| it.to_string())
        };
        let (predict, follows) = ("role = 'predict'", "role = 'predict'\nfollows_from = ['a.time']");
        assert_eq!(parse(predict, follows), Ok(2));
        let refused = |time, rate| parse(time, rate).unwrap_err();
        let unknown = "role = 'predict'\nfollows_from = ['a.tmie']";
        assert!(refused(predict, unknown).contains("from `a.tmie`, but no claim of this file has that id"));
        let input = "role = 'input'\nfollows_from = ['a.time']";
        assert!(refused(predict, input).contains("the role `input`, which is not counted anyway"));
        let itself = "role = 'predict'\nfollows_from = ['a.rate']";
        assert!(refused(predict, itself).contains("`a.rate` follows from itself; name what gives it"));
        let second = refused(itself, follows);
        assert!(second.contains("`a.rate`, which follows from others: name `a.time` instead"), "{second}");
    }

    #[test]
    fn a_share_is_met_to_the_claim() {
        let bar = Bar { within: 0.05, share: 0.9 };
        assert!(bar.is_met(9, 10) && !bar.is_met(8, 10) && bar.is_met(0, 0));
    }
}
