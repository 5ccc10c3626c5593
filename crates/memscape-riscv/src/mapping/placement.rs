//! Where the threads of a run are, and where its pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::nodes::Nodes;use crate::hardware::{
    Cache, DistanceError, LOCAL_DISTANCE, MOST_NODES, Numa, Os, OutOfRange, SlcScope, within,
};

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

    /// Whether NUMA balancing is on, which moves threads that run.
    #[must_use]
    pub const fn balances(self) -> bool {
        matches!(self, Self::Base)
    }
}

/// Where the threads of a run are and where its weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// Threads, each on a core of its own.
    pub threads: u32,
    /// Clusters they are spread over.
    pub clusters: u32,
    /// Whether a thread stays where it is, near what it has read.
    pub stay: bool,
    /// Nodes that hold the weights.
    pub data_nodes: u32,
    /// Nodes whose memory the run may use.
    pub memory_nodes: u32,
    /// Mean SLIT distance from the threads to the weights.
    pub mean_distance: f64,
    /// Mean SLIT distance between the threads.
    pub thread_distance: f64,
}

/// Why threads cannot be placed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NumaError {
    /// Threads that have no core of their own.
    #[error(
        "{threads} threads do not fit {cores} cores ({nodes} nodes of {cores_per_node}), one each; use fewer threads{}",
        if *nodes < *all_nodes { ", or bind to more nodes" } else { "" }
    )]
    TooManyThreads {
        /// Threads asked for.
        threads: u32,
        /// Cores they may use.
        cores: u32,
        /// Nodes they may use.
        nodes: u32,
        /// Nodes there are.
        all_nodes: u32,
        /// Cores of each.
        cores_per_node: u32,
    },
    /// More nodes to bind to than there are.
    #[error("`bind_nodes` is {given}, but the machine has {nodes} nodes")]
    BindNodes {
        /// Nodes asked for.
        given: Nodes,
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
/// nodes as hold them; a machine's nodes are taken nearest first. What is touched first
/// is touched on the first node that has threads.
///
/// # Errors
/// [`NumaError`] says what does not fit.
pub fn place(
    policy: Policy,
    threads: u32,
    bind_nodes: Option<Nodes>,
    numa: &Numa,
    cache: &Cache,
) -> Result<Placed, NumaError> {
    let (nodes, cores_per_node) = (numa.nodes.get(), numa.cores_per_node.get());
    within([
        ("numa.nodes", f64::from(nodes), 1.0, 8.0),
        ("numa.cores_per_node", f64::from(cores_per_node), 1.0, 4096.0),
        ("numa.distance_penalty", numa.distance_penalty, 0.0, 100.0),
        ("threads", f64::from(threads), 1.0, 32768.0),
    ])?;
    numa.distances.check(nodes)?;
    // The first node holds what is touched first; it and the nearest run the threads.
    let mut near: [usize; MOST_NODES] = std::array::from_fn(|node| node);
    near[..nodes as usize].sort_by_key(|to| numa.distances.between(*to, 0));
    let (mut on, mut thread_nodes) = (near, nodes.min(threads));
    if policy.binds() {
        let fewest = Nodes::Count(threads.div_ceil(cores_per_node).min(nodes));
        let given = bind_nodes.unwrap_or(fewest);
        (on, thread_nodes) = given.choose(near, nodes).ok_or(NumaError::BindNodes { given, nodes })?;
    }
    let room = if policy.binds() { thread_nodes } else { nodes };
    if threads > room * cores_per_node {
        let cores = room * cores_per_node;
        return Err(NumaError::TooManyThreads {
            threads,
            cores,
            nodes: room,
            all_nodes: nodes,
            cores_per_node,
        });
    }
    let on = &on[..thread_nodes as usize];
    let data = if policy == Policy::Interleave { &near[..nodes as usize] } else { &on[..1] };
    let mean = |to: &[usize]| {
        let pairs = on.iter().flat_map(|from| to.iter().map(move |to| (*from, *to)));
        let sum: u32 = pairs.map(|(from, to)| u32::from(numa.distances.between(from, to))).sum();
        f64::from(sum) / (f64::from(thread_nodes) * f64::from(u32::try_from(to.len()).unwrap_or(1)))
    };
    let cores = thread_nodes * cores_per_node;
    Ok(Placed {
        threads,
        clusters: cores.div_ceil(cache.cores_per_cluster.get()).min(threads),
        // A single thread is where its pages are.
        stay: !policy.balances() || thread_nodes == 1,
        data_nodes: u32::try_from(data.len()).unwrap_or(nodes),
        memory_nodes: if policy == Policy::BindCoresMemory { thread_nodes } else { nodes },
        mean_distance: mean(data),
        thread_distance: mean(on),
    })
}

/// How much longer a way of this distance takes than a local one.
fn stretch(distance: f64, numa: &Numa) -> f64 {
    1.0 + numa.distance_penalty * (distance / f64::from(LOCAL_DISTANCE) - 1.0)
}

impl Placed {
    /// How much longer the way to the weights is than to local memory.
    #[must_use]
    pub fn stretch(&self, numa: &Numa) -> f64 {
        stretch(self.mean_distance, numa)
    }

    /// How much longer the way from thread to thread is than within a node.
    #[must_use]
    pub fn thread_stretch(&self, numa: &Numa) -> f64 {
        stretch(self.thread_distance, numa)
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

    /// What NUMA balancing adds, as a share of the time: hinting faults flush the
    /// TLBs of all cores that run the program, so it grows with their number.
    #[must_use]
    pub fn balancing_share(&self, policy: Policy, os: &Os, numa: &Numa) -> f64 {
        if policy.balances() && !self.stay {
            os.balancing_cost * f64::from(self.threads) / f64::from(numa.cores())
        } else {
            0.0
        }
    }
}
