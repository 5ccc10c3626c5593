//! Lists of cores, as `numactl` writes them.

use std::fmt;
use std::iter;
use std::num::NonZeroU32;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::distances::MOST_NODES;

/// Cores that a list may name.
pub const MOST_LISTED: u32 = 256;

/// Physical cores by number, for example `0-7,16-23`.
///
/// ```
/// use memscape_riscv::hardware::CoreList;
/// let list: CoreList = "0-7,16-23".parse()?;
/// assert_eq!((list.count(), list.to_string()), (16, "0-7,16-23".to_owned()));
/// assert!("7-0".parse::<CoreList>().is_err());
/// assert!("+0-3".parse::<CoreList>().is_err());
/// assert_eq!(serde_json::from_str::<CoreList>("5")?, "5".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreList([u64; MOST_LISTED as usize / 64]);

/// Why a text lists no cores.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` lists no cores; write numbers below {MOST_LISTED} and ranges of them, as in 0-7,16-23")]
pub struct CoreListError(String);

impl CoreList {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|it| it.count_ones()).sum()
    }

    /// Those that both lists name.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|it| self.0[it] & other.0[it]))
    }

    /// Their numbers, from the lowest.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let has = |core: &u32| self.0[*core as usize / 64] >> (core % 64) & 1 == 1;
        (0..MOST_LISTED).filter(has)
    }

    /// How many of these each cluster of so many consecutive cores has, of those that have some.
    pub fn per_cluster(&self, cores_per_cluster: NonZeroU32) -> impl Iterator<Item = u32> {
        let mut cores = self.numbers().map(move |it| it / cores_per_cluster).peekable();
        iter::from_fn(move || {
            let cluster = cores.next()?;
            Some(1 + iter::from_fn(|| cores.next_if_eq(&cluster)).map(|_| 1).sum::<u32>())
        })
    }

    fn insert(&mut self, core: u32) {
        self.0[core as usize / 64] |= 1 << (core % 64);
    }
}

impl FromStr for CoreList {
    type Err = CoreListError;

    fn from_str(text: &str) -> Result<Self, CoreListError> {
        let wrong = || CoreListError(text.to_owned());
        let mut cores = Self::default();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            // `numactl` reads `+1` as the second of the cores that the process may use.
            let digits = |it: &&str| it.bytes().all(|it| it.is_ascii_digit());
            let number =
                |it: &str| Some(it.trim()).filter(digits)?.parse::<u32>().ok().filter(|it| *it < MOST_LISTED);
            let (from, to) = number(from).zip(number(to)).ok_or_else(wrong)?;
            if from > to {
                return Err(wrong());
            }
            (from..=to).for_each(|it| cores.insert(it));
        }
        Ok(cores)
    }
}

impl fmt::Display for CoreList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.numbers().peekable();
        let mut comma = "";
        while let Some(first) = numbers.next() {
            let mut last = first;
            while numbers.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

impl Serialize for CoreList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CoreList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A list of one core looks like a number.
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a list of cores, as in \"0-7,16-23\"")]
        enum Given {
            Core(u32),
            List(String),
        }
        let text = match Given::deserialize(deserializer)? {
            Given::Core(core) => core.to_string(),
            Given::List(text) => text,
        };
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for CoreList {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CoreList".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] })
    }
}

/// The cores of each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCores {
    nodes: [CoreList; MOST_NODES],
    count: usize,
}

impl NodeCores {
    /// Those of a node; none of one that is not listed.
    #[must_use]
    pub fn of(&self, node: usize) -> CoreList {
        self.nodes[..self.count].get(node).copied().unwrap_or_default()
    }
}

impl Serialize for NodeCores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.nodes[..self.count])
    }
}

impl<'de> Deserialize<'de> for NodeCores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<CoreList>::deserialize(deserializer)?;
        let mut nodes = [CoreList::default(); MOST_NODES];
        if given.len() > MOST_NODES {
            let problem =
                format!("cores of {} nodes are listed; a machine has at most {MOST_NODES}", given.len());
            return Err(D::Error::custom(problem));
        }
        nodes[..given.len()].copy_from_slice(&given);
        Ok(Self { nodes, count: given.len() })
    }
}

impl JsonSchema for NodeCores {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NodeCores".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "string" } })
    }
}
