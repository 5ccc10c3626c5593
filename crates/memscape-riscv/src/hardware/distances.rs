//! Where threads and pages are, how far apart, and the bandwidth that leaves.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::platform::{Cache, Core, Dram, Numa, OutOfRange, SlcScope, within};

/// Distance of a node to itself, by definition of ACPI's SLIT.
pub const LOCAL_DISTANCE: u8 = 10;
/// Nodes a distance matrix may have.
pub const MOST_NODES: usize = 8;

/// SLIT distances between nodes: a square matrix, or one number for every
/// remote node.
///
/// ```
/// use memscape_riscv::numa::Distances;
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

    /// # Errors
    /// [`DistanceError::OtherNodes`] if they are not for this many nodes.
    pub fn check(&self, nodes: u32) -> Result<(), DistanceError> {
        match self.0 {
            Kind::Matrix { nodes: given, .. } if u32::from(given) != nodes => {
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

/// How threads and pages are kept to nodes.
///
/// # Source
/// Thesis, Sec. 5.3.2. `numactl --interleave` places pages, not threads (the
/// thesis has it the other way round); pages that a process only maps go to
/// the node that touches them first, so all policies but interleaving read the
/// weights from one node, and binding memory too changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Linux' default: threads anywhere, NUMA balancing on.
    Base,
    /// Threads anywhere, balancing off.
    NoBalancing,
    /// Cores and memory of some nodes, balancing off.
    BindCoresMemory,
    /// Cores of some nodes, balancing off.
    BindCores,
    /// Pages round robin over all nodes, balancing off.
    Interleave,
}

impl Policy {
    /// All of them, as Table 5.4 lists them.
    pub const ALL: [Self; 5] =
        [Self::Base, Self::NoBalancing, Self::BindCoresMemory, Self::BindCores, Self::Interleave];

    /// Whether threads are kept to cores.
    #[must_use]
    pub const fn binds(self) -> bool {
        matches!(self, Self::BindCores | Self::BindCoresMemory)
    }
}

/// Where the threads of a run are and where its weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// Threads, however many cores there are.
    pub threads: u32,
    /// Cores that run them.
    pub active_cores: u32,
    /// Clusters they are spread over.
    pub clusters: u32,
    /// Nodes that hold the weights.
    pub data_nodes: u32,
    /// Mean SLIT distance from the threads to the weights.
    pub mean_distance: f64,
}

/// Why threads cannot be placed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NumaError {
    /// Bound threads that have no core.
    #[error(
        "{threads} threads are bound to {cores} cores ({nodes} nodes of {cores_per_node}); bind to more nodes, or \
         use a policy that does not bind"
    )]
    TooManyThreads {
        /// Threads asked for.
        threads: u32,
        /// Cores they are bound to.
        cores: u32,
        /// Nodes they are bound to.
        nodes: u32,
        /// Cores of each.
        cores_per_node: u32,
    },
    /// More nodes to bind to than there are.
    #[error("`bind_nodes` is {given}, but the machine has {nodes} nodes")]
    BindNodes {
        /// Nodes asked for.
        given: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// Distances that are for another machine.
    #[error(transparent)]
    Distances(#[from] DistanceError),
    /// A number the model is not for.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

/// Places threads and pages. Without `bind_nodes`, threads are bound to as few
/// nodes as hold them; a machine's nodes are taken nearest first.
///
/// # Errors
/// [`NumaError`] says what does not fit.
pub fn place(
    policy: Policy,
    threads: u32,
    bind_nodes: Option<u32>,
    numa: &Numa,
    cache: &Cache,
) -> Result<Placed, NumaError> {
    let (nodes, cores_per_node) = (numa.nodes.get(), numa.cores_per_node.get());
    within([
        ("numa.nodes", f64::from(nodes), 1.0, 8.0),
        ("numa.cores_per_node", f64::from(cores_per_node), 1.0, 4096.0),
        ("numa.distance_penalty", numa.distance_penalty, 0.0, 100.0),
        ("threads", f64::from(threads), 1.0, 1e6),
    ])?;
    numa.distances.check(nodes)?;
    let mut thread_nodes = nodes.min(threads);
    if policy.binds() {
        thread_nodes = bind_nodes.unwrap_or_else(|| threads.div_ceil(cores_per_node).min(nodes));
        if !(1..=nodes).contains(&thread_nodes) {
            return Err(NumaError::BindNodes { given: thread_nodes, nodes });
        }
        let cores = thread_nodes * cores_per_node;
        if threads > cores {
            return Err(NumaError::TooManyThreads { threads, cores, nodes: thread_nodes, cores_per_node });
        }
    }
    // The first node holds what is touched first; it and the nearest run the threads.
    let mut near: [usize; MOST_NODES] = std::array::from_fn(|node| node);
    let near = &mut near[..nodes as usize];
    near.sort_by_key(|to| numa.distances.between(*to, 0));
    let data_nodes = if policy == Policy::Interleave { nodes } else { 1 };
    let mut sum = 0_u32;
    for from in &near[..thread_nodes as usize] {
        sum += (0..data_nodes as usize).map(|to| u32::from(numa.distances.between(*from, to))).sum::<u32>();
    }
    let cores = thread_nodes * cores_per_node;
    let active_cores = threads.min(cores);
    Ok(Placed {
        threads,
        active_cores,
        clusters: cores.div_ceil(cache.cores_per_cluster.get()).min(active_cores),
        data_nodes,
        mean_distance: f64::from(sum) / f64::from(thread_nodes * data_nodes),
    })
}

impl Placed {
    /// How much longer an access takes than a local one.
    #[must_use]
    pub fn stretch(&self, numa: &Numa) -> f64 {
        1.0 + numa.distance_penalty * (self.mean_distance / f64::from(LOCAL_DISTANCE) - 1.0)
    }

    /// Controllers behind the nodes that hold the weights.
    #[must_use]
    pub fn controllers(&self, numa: &Numa, dram: &Dram) -> f64 {
        let (all, nodes) = (f64::from(dram.controllers.get()), f64::from(numa.nodes.get()));
        (f64::from(self.data_nodes) * (all / nodes).max(1.0)).min(all)
    }

    /// What all threads together read from DRAM, in GB/s.
    ///
    /// A core reads as it does alone, and waits at the controllers for the lines
    /// of all the others; distance stretches both. A controller works at its peak as
    /// long as each stream has a bank of its own; of `n` threads per controller
    /// beyond its banks, a share of `1 - banks / n` finds its row closed.
    #[must_use]
    pub fn dram_gb_s(&self, core: &Core, numa: &Numa, dram: &Dram) -> f64 {
        let controllers = self.controllers(numa, dram);
        let streams = f64::from(self.active_cores) / controllers;
        let closed = (1.0 - f64::from(dram.banks.get()) / streams).max(0.0);
        let controller_rate =
            controllers * dram.controller_gb_s().as_f64() / (1.0 + dram.row_conflict * closed);
        self.series(core.rate_gb_s(core.dram_bytes_per_cycle), controller_rate, numa)
    }

    /// What all threads together read from the system-level cache, in GB/s: its
    /// lines come through the same ports as DRAM's, at the same peak.
    #[must_use]
    pub fn slc_gb_s(&self, core: &Core, numa: &Numa, dram: &Dram) -> f64 {
        let ports = self.controllers(numa, dram) * dram.controller_gb_s().as_f64();
        self.series(core.rate_gb_s(core.slc_bytes_per_cycle), ports, numa)
    }

    /// System-level cache that may hold the weights.
    #[must_use]
    pub fn slc_bytes(&self, cache: &Cache, numa: &Numa) -> u64 {
        let nodes = match cache.slc_scope {
            SlcScope::Node => self.data_nodes,
            SlcScope::Global => numa.nodes.get(),
        };
        cache.slc_bytes_per_node.saturating_mul(nodes.into())
    }

    fn series(&self, core_gb_s: f64, shared_gb_s: f64, numa: &Numa) -> f64 {
        let cores = f64::from(self.active_cores);
        cores / (self.stretch(numa) * (1.0 / core_gb_s + (cores - 1.0) / shared_gb_s))
    }
}
