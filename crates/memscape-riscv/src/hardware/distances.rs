//! How far apart NUMA nodes are.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Distance of a node to itself, by definition of ACPI's SLIT.
pub const LOCAL_DISTANCE: u8 = 10;
/// Nodes a distance matrix may have.
pub const MOST_NODES: usize = 8;

/// SLIT distances between nodes: a square matrix, or one number for every
/// remote node.
///
/// ```
/// use memscape_riscv::hardware::Distances;
/// let distances: Distances = serde_json::from_str("[[10, 15], [15, 10]]")?;
/// assert_eq!(distances.between(0, 1), 15);
/// let error = serde_json::from_str::<Distances>("[[10, 15]]").unwrap_err().to_string();
/// assert!(error.starts_with("a distance matrix must be square, but 1 row meets 2 columns"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distances(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Every remote node is this far.
    Uniform(u8),
    /// `nodes x nodes`, row by row.
    Matrix { nodes: u8, rows: [[u8; MOST_NODES]; MOST_NODES] },
}

/// Why numbers are no distances.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistanceError {
    /// Rows and columns differ in number.
    #[error("a distance matrix must be square, but {rows} row{} meets {columns} columns", if *rows == 1 { "" } else { "s" })]
    NotSquare {
        /// Rows given.
        rows: usize,
        /// Columns of the first row that differs.
        columns: usize,
    },
    /// No nodes, or more than the model holds.
    #[error("a distance matrix of {given} nodes is not supported; it may have 1 to {MOST_NODES}")]
    Nodes {
        /// Rows given.
        given: usize,
    },
    /// A node that is not at distance 10 of itself.
    #[error(
        "node {node} is at distance {given} of itself; the diagonal of a SLIT matrix is {LOCAL_DISTANCE}"
    )]
    Diagonal {
        /// The node.
        node: usize,
        /// What stands on the diagonal.
        given: u8,
    },
    /// A remote node nearer than the own one.
    #[error("node {to} is at distance {given} of node {from}; remote distances are {LOCAL_DISTANCE} or more")]
    Near {
        /// From this node.
        from: usize,
        /// To that one.
        to: usize,
        /// The distance given.
        given: u8,
    },
    /// A matrix for another number of nodes.
    #[error(
        "`numa.distances` is for {given} nodes, but `numa.nodes` is {nodes}; give a matrix of {nodes} x {nodes}, \
         or one number for every remote node"
    )]
    OtherNodes {
        /// Nodes of the matrix.
        given: usize,
        /// Nodes of the machine.
        nodes: u32,
    },
}

impl Distances {
    /// Every node as near as the own one, however many there are.
    pub const LOCAL: Self = Self(Kind::Uniform(LOCAL_DISTANCE));

    /// Every remote node at the same distance.
    ///
    /// # Errors
    /// [`DistanceError::Near`] below the local distance.
    pub fn uniform(remote: u8) -> Result<Self, DistanceError> {
        if remote < LOCAL_DISTANCE {
            return Err(DistanceError::Near { from: 0, to: 1, given: remote });
        }
        Ok(Self(Kind::Uniform(remote)))
    }

    /// A matrix, row by row: `rows[from][to]`.
    ///
    /// # Errors
    /// [`DistanceError`] says what is wrong with it.
    pub fn matrix(rows: &[Vec<u8>]) -> Result<Self, DistanceError> {
        let nodes = rows.len();
        if let Some(row) = rows.iter().find(|it| it.len() != nodes) {
            return Err(DistanceError::NotSquare { rows: nodes, columns: row.len() });
        }
        if nodes == 0 || nodes > MOST_NODES {
            return Err(DistanceError::Nodes { given: nodes });
        }
        let mut matrix = [[0; MOST_NODES]; MOST_NODES];
        for (from, row) in rows.iter().enumerate() {
            if row[from] != LOCAL_DISTANCE {
                return Err(DistanceError::Diagonal { node: from, given: row[from] });
            }
            if let Some(to) = row.iter().position(|it| *it < LOCAL_DISTANCE) {
                return Err(DistanceError::Near { from, to, given: row[to] });
            }
            matrix[from][..nodes].copy_from_slice(row);
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
        Ok(Self(Kind::Matrix { nodes: nodes as u8, rows: matrix }))
    }

    /// From one node to another.
    ///
    /// # Panics
    /// If the matrix has no such node: see [`Distances::check`].
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> u8 {
        match self.0 {
            _ if from == to => LOCAL_DISTANCE,
            Kind::Uniform(remote) => remote,
            Kind::Matrix { nodes, rows } => {
                assert!(from.max(to) < usize::from(nodes), "distances are checked against the nodes");
                rows[from][to]
            }
        }
    }

    /// Fewer nodes are the first of them.
    ///
    /// # Errors
    /// [`DistanceError::OtherNodes`] if they are for fewer nodes.
    pub fn check(&self, nodes: u32) -> Result<(), DistanceError> {
        match self.0 {
            Kind::Matrix { nodes: given, .. } if u32::from(given) < nodes => {
                Err(DistanceError::OtherNodes { given: given.into(), nodes })
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Distances {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Kind::Uniform(remote) => serializer.serialize_u8(*remote),
            Kind::Matrix { nodes, rows } => {
                let nodes = usize::from(*nodes);
                serializer.collect_seq(rows[..nodes].iter().map(|row| &row[..nodes]))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Distances {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Distances;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("rows of SLIT distances, or one number for every remote node")
            }
            fn visit_u64<E: de::Error>(self, remote: u64) -> Result<Distances, E> {
                let unfit = |_| E::invalid_value(de::Unexpected::Unsigned(remote), &self);
                Distances::uniform(u8::try_from(remote).map_err(unfit)?).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, remote: i64) -> Result<Distances, E> {
                match u64::try_from(remote) {
                    Ok(remote) => self.visit_u64(remote),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Signed(remote), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Distances, A::Error> {
                // No heap: a sweep reads this at every point.
                let mut count = 0;
                let mut all = [const { Vec::new() }; MOST_NODES];
                while let Some(row) = rows.next_element::<Vec<u8>>()? {
                    if let Some(slot) = all.get_mut(count) {
                        *slot = row;
                    }
                    count += 1;
                }
                if count > MOST_NODES {
                    return Err(de::Error::custom(DistanceError::Nodes { given: count }));
                }
                Distances::matrix(&all[..count]).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for Distances {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Distances".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "type": "array", "items": { "type": "array", "items": { "type": "integer", "minimum": 10, "maximum": 255 } } },
                { "type": "integer", "minimum": 10, "maximum": 255 },
            ]
        })
    }
}
