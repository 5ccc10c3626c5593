//! Which NUMA nodes threads are kept to.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hardware::{MOST_NODES, Numa};

/// NUMA nodes to bind to: so many, nearest first, or these, as `numactl` numbers them.
///
/// ```
/// use memscape_riscv::placement::Nodes;
/// assert_eq!(serde_json::from_str::<Nodes>("2")?, Nodes::Count(2));
/// let these: Nodes = serde_json::from_str("[2, 3]")?;
/// assert_eq!(serde_json::to_string(&these)?, "[2,3]");
/// assert!(serde_json::from_str::<Nodes>("[]").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nodes {
    /// So many.
    Count(u32),
    /// These: bit `k` stands for node `k`.
    These(u8),
}

impl Nodes {
    /// As few as hold so many threads.
    #[must_use]
    pub fn for_threads(threads: u32, numa: &Numa) -> Self {
        Self::Count(threads.div_ceil(numa.cores_per_node.get()).min(numa.nodes.get()))
    }

    /// The nodes, and how many they are, of a machine whose nodes stand in `near`, nearest
    /// first; `None` if it has not got them.
    #[must_use]
    pub fn choose(self, near: [usize; MOST_NODES], nodes: u32) -> Option<([usize; MOST_NODES], u32)> {
        match self {
            Self::Count(count) => (1..=nodes).contains(&count).then_some((near, count)),
            Self::These(bits) => {
                let mut chosen = [0; MOST_NODES];
                for (slot, node) in chosen.iter_mut().zip(Self::listed(bits)) {
                    *slot = node;
                }
                let within = u32::from(bits) >> nodes == 0;
                (bits != 0 && within).then_some((chosen, bits.count_ones()))
            }
        }
    }

    fn listed(bits: u8) -> impl Iterator<Item = usize> {
        (0..MOST_NODES).filter(move |node| bits >> node & 1 == 1)
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::These(bits) => f.debug_list().entries(Self::listed(*bits)).finish(),
        }
    }
}

impl Serialize for Nodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            Self::These(bits) => serializer.collect_seq(Self::listed(*bits)),
        }
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number of NUMA nodes, or a list of them")]
        enum Given {
            Count(u32),
            These(Vec<usize>),
        }
        match Given::deserialize(deserializer)? {
            Given::Count(count) => Ok(Self::Count(count)),
            Given::These(nodes) => {
                let bit = |node: &usize| (*node < MOST_NODES).then(|| 1_u8 << node);
                let bits = nodes.iter().try_fold(0, |all, node| Some(all | bit(node)?));
                match bits {
                    Some(bits) if bits != 0 => Ok(Self::These(bits)),
                    Some(_) => Err(D::Error::custom("no node is listed; give one at least")),
                    None => Err(D::Error::custom(format!("nodes are numbered from 0 to {}", MOST_NODES - 1))),
                }
            }
        }
    }
}

impl JsonSchema for Nodes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Nodes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "type": "integer", "minimum": 1, "maximum": 8 },
                { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 7 } },
            ]
        })
    }
}
