//! Where the threads of a run are, and where its pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::{
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
        match policy {
            // A single thread is where its pages are.
            Policy::Base if self.active_cores > 1 => {
                os.balancing_cost * f64::from(self.active_cores) / f64::from(numa.cores())
            }
            _ => 0.0,
        }
    }
}
