//! What a pass over a model takes, operator by operator.

use std::fmt;
use std::io::{self, Write};

use memscape_units::Nanoseconds;

/// A pass over a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The prompts of all sequences.
    Prompt,
    /// A token of each sequence, at the mean context of the reply.
    Token,
}

impl Pass {
    /// Both, in the order in which they come.
    pub const ALL: [Self; 2] = [Self::Prompt, Self::Token];

    /// What a column of it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Token => "token",
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an operator takes in a pass, all its instances and sequences together.
///
/// Those of a pass sum to its time: what is no operator's, such as handing work over, has a name of
/// its own.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorCost {
    /// The pass.
    pub pass: Pass,
    /// Its name in the list of the model's operators, such as `qkv`; where a study times several as
    /// one, all of them with `+` between.
    pub operator: String,
    /// What the description alone leaves of its time: operations at the peak of what computes it, or
    /// bytes at the peak of where they are. 0 where it says nothing.
    pub least_ns: f64,
    /// Its time by cause.
    pub parts: Vec<(String, f64)>,
}

impl OperatorCost {
    /// An operator of a pass.
    #[must_use]
    pub fn new<'a>(
        pass: Pass,
        operator: &str,
        least: Nanoseconds,
        parts: impl IntoIterator<Item = (&'a str, Nanoseconds)>,
    ) -> Self {
        let parts = parts.into_iter().map(|(cause, time)| (cause.to_owned(), time.as_f64())).collect();
        Self { pass, operator: operator.to_owned(), least_ns: least.as_f64(), parts }
    }

    /// More of the same operator, such as experts that are read apart from others.
    fn add(&mut self, other: &Self) {
        self.least_ns += other.least_ns;
        for (cause, time_ns) in &other.parts {
            match self.parts.iter_mut().find(|it| it.0 == *cause) {
                Some(part) => part.1 += time_ns,
                None => self.parts.push((cause.clone(), *time_ns)),
            }
        }
    }

    /// All of its time.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.parts.iter().map(|it| it.1).sum()
    }
}

/// These operators, of which those that are listed several times in a pass are one.
#[must_use]
pub fn merged(costs: Vec<OperatorCost>) -> Vec<OperatorCost> {
    let mut all: Vec<OperatorCost> = Vec::with_capacity(costs.len());
    for cost in costs {
        match all.iter_mut().find(|it| it.pass == cost.pass && it.operator == cost.operator) {
            Some(known) => known.add(&cost),
            None => all.push(cost),
        }
    }
    all
}

/// Writes a line for each part of each operator, as CSV.
///
/// # Errors
/// As of the writer.
pub fn write_operators(costs: &[OperatorCost], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "pass,operator,least_ns,part,part_ns")?;
    for OperatorCost { pass, operator, least_ns, parts } in costs {
        for (part, time_ns) in parts {
            writeln!(out, "{pass},{operator},{least_ns},{part},{time_ns}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_is_listed_twice_is_one() {
        let ns = |it: f64| Nanoseconds::new(it).unwrap();
        let cost = |pass, least: f64, parts: &[(&'static str, f64)]| {
            OperatorCost::new(pass, "down", ns(least), parts.iter().map(|it| (it.0, ns(it.1))))
        };
        let all = [
            cost(Pass::Prompt, 1.0, &[("near", 2.0)]),
            cost(Pass::Token, 1.0, &[("near", 2.0)]),
            cost(Pass::Prompt, 1.0, &[("near", 3.0), ("far", 4.0)]),
        ];
        assert_eq!(
            merged(all.to_vec()),
            [cost(Pass::Prompt, 2.0, &[("near", 5.0), ("far", 4.0)]), all[1].clone()]
        );
    }
}
