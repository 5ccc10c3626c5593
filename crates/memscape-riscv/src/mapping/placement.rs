//! Where the threads of a run are, and where its pages.

use std::iter;

use memscape_study::{OutOfRange, within};
use memscape_units::float;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::nodes::Nodes;
use crate::hardware::{Cache, CoreList, DistanceError, LOCAL_DISTANCE, MOST_NODES, Numa, Os, SlcScope};

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
    /// Threads of the cluster that has most of them.
    pub in_fullest_cluster: u32,
    /// Threads of all clusters that have as many.
    pub crowded_threads: u32,
    /// Clusters that have any.
    pub clusters: u32,
    /// Whether a thread stays where it is, near what it has read.
    pub stay: bool,
    /// Nodes that hold the weights.
    pub data_nodes: u32,
    /// Nodes whose memory the run may use.
    pub memory_nodes: u32,
    /// Mean SLIT distance from the threads to the weights.
    pub mean_distance: f64,
    /// Nodes whose part of the system-level cache may hold them.
    pub slc_nodes: u32,
    /// Nodes whose ports they are read through.
    pub port_nodes: u32,
    /// Mean SLIT distance from the threads to those.
    pub port_distance: f64,
    /// Mean SLIT distance between the threads.
    pub thread_distance: f64,
}

/// Why threads cannot be placed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NumaError {
    /// Threads that have no core of their own.
    #[error("{threads} threads do not fit {cores} cores on {nodes} node{}, one each; use fewer threads{more}",
        if *nodes == 1 { "" } else { "s" }
    )]
    TooManyThreads {
        /// Threads asked for.
        threads: u32,
        /// Cores they may use.
        cores: u32,
        /// Nodes they may use.
        nodes: u32,
        /// What else helps, if anything.
        more: &'static str,
    },
    /// Something to bind to under a policy that does not.
    #[error(
        "`{given}` is given, but `policy` does not bind; use \"bind-cores\" or \"bind-cores-memory\", or leave \
         `{given}` out"
    )]
    Unbound {
        /// The parameter.
        given: &'static str,
    },
    /// Lists of cores that are for another machine.
    #[error(
        "`numa.cores` lists {listed} cores of node {node}, but `numa.cores_per_node` is {cores_per_node}; make them \
         agree, or leave `bind_cores` out"
    )]
    CoresPerNode {
        /// The node.
        node: usize,
        /// Cores listed.
        listed: u32,
        /// Cores there are.
        cores_per_node: u32,
    },
    /// Cores that the machine has not got.
    #[error(
        "of the {given} cores of `bind_cores`, {found} are on the {nodes} nodes of `numa.cores`; list cores of these"
    )]
    Cores {
        /// Cores listed.
        given: u32,
        /// Those among them that are a node's.
        found: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// Cores and nodes to bind to at once.
    #[error("`bind_cores` and `bind_nodes` are both given; leave one of them out")]
    CoresAndNodes,
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

/// What threads are kept to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bind {
    /// Some nodes; as few as hold the threads if neither they nor cores are given.
    pub nodes: Option<Nodes>,
    /// Some cores.
    pub cores: Option<CoreList>,
}

impl Bind {
    /// The same for some of so many threads, which stay where all of them have them.
    #[must_use]
    pub fn of_some(self, policy: Policy, threads: u32, numa: &Numa) -> Self {
        let is_open = policy.binds() && self.nodes.is_none() && self.cores.is_none();
        Self { nodes: self.nodes.or_else(|| is_open.then(|| Nodes::for_threads(threads, numa))), ..self }
    }
}

/// Nodes that run threads, each with the cores that may run them.
#[derive(Clone, Copy)]
struct Runs {
    on: [(usize, u32); MOST_NODES],
    nodes: usize,
}

impl Runs {
    fn on(nodes: &[usize], cores_of_each: u32) -> Self {
        let mut on = [(0, 0); MOST_NODES];
        on.iter_mut().zip(nodes).for_each(|(slot, node)| *slot = (*node, cores_of_each));
        Self { on, nodes: nodes.len() }
    }

    /// Nodes that have some of these cores.
    fn of_cores(cores: &CoreList, numa: &Numa) -> Result<Self, NumaError> {
        let (nodes, cores_per_node) = (numa.nodes.get(), numa.cores_per_node.get());
        let mut all = Self { on: [(0, 0); MOST_NODES], nodes: 0 };
        for node in 0..nodes as usize {
            let there = numa.cores.of(node);
            // Nothing else asks which core is whose, so that other counts of cores go without a list.
            if there.count() != cores_per_node {
                return Err(NumaError::CoresPerNode { node, listed: there.count(), cores_per_node });
            }
            let own = there.and(cores).count();
            if own > 0 {
                all.on[all.nodes] = (node, own);
                all.nodes += 1;
            }
        }
        let (given, found) = (cores.count(), all.cores());
        if given == found { Ok(all) } else { Err(NumaError::Cores { given, found, nodes }) }
    }

    /// Those of them that so many threads run on: each node has one before any has two.
    fn first(&self, threads: u32) -> Self {
        Self { nodes: self.nodes.min(threads as usize), ..*self }
    }

    /// So many threads in place of cores, dealt round robin, a node at a time while it has cores.
    fn dealt(&self, threads: u32) -> Self {
        let rounds = fullest(threads, || self.each().iter().map(|it| it.1));
        let before = |cores: u32| cores.min(rounds - 1);
        let mut last = threads - self.each().iter().map(|it| before(it.1)).sum::<u32>();
        let mut dealt = *self;
        for (_, cores) in &mut dealt.on[..self.nodes] {
            let one_more = u32::from(last > 0 && *cores >= rounds);
            *cores = before(*cores) + one_more;
            last -= one_more;
        }
        dealt
    }

    fn each(&self) -> &[(usize, u32)] {
        &self.on[..self.nodes]
    }

    fn cores(&self) -> u32 {
        self.each().iter().map(|it| it.1).sum()
    }

    /// Mean distance from its threads, or cores, to those of other nodes.
    fn distance(&self, to: &[(usize, u32)], numa: &Numa) -> f64 {
        let pairs = self.each().iter().flat_map(|from| to.iter().map(move |to| (from, to)));
        let (sum, all) = pairs.fold((0, 0), |(sum, all), (from, to)| {
            let pairs = u64::from(from.1) * u64::from(to.1);
            (sum + pairs * u64::from(numa.distances.between(from.0, to.0)), all + pairs)
        });
        float(sum) / float(all)
    }
}

/// Where the threads of a policy may run: on the given nodes or cores if it binds, else
/// on as many nodes as there are threads, nearest first.
fn runs(policy: Policy, threads: u32, bind: Bind, numa: &Numa) -> Result<Runs, NumaError> {
    let (nodes, cores_per_node) = (numa.nodes.get(), numa.cores_per_node.get());
    let mut near: [usize; MOST_NODES] = std::array::from_fn(|node| node);
    near[..nodes as usize].sort_by_key(|to| numa.distances.between(*to, 0));
    match (bind.cores, bind.nodes) {
        (Some(_), Some(_)) => Err(NumaError::CoresAndNodes),
        // What is not bound to would go unheard.
        (Some(_), None) if !policy.binds() => Err(NumaError::Unbound { given: "bind_cores" }),
        (None, Some(_)) if !policy.binds() => Err(NumaError::Unbound { given: "bind_nodes" }),
        (None, None) if !policy.binds() => Ok(Runs::on(&near[..nodes.min(threads) as usize], cores_per_node)),
        (Some(cores), None) => Runs::of_cores(&cores, numa),
        (None, given) => {
            let given = given.unwrap_or(Nodes::for_threads(threads, numa));
            let (on, count) = given.choose(near, nodes).ok_or(NumaError::BindNodes { given, nodes })?;
            Ok(Runs::on(&on[..count as usize], cores_per_node))
        }
    }
}

/// Places threads and pages. What is touched first is touched on the first node that has
/// threads; `numactl` numbers nodes and cores as the machine does.
///
/// # Errors
/// [`NumaError`] says what does not fit.
pub fn place(
    policy: Policy,
    threads: u32,
    bind: Bind,
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
    let runs = runs(policy, threads, bind, numa)?;
    let run_nodes = u32::try_from(runs.nodes).unwrap_or(nodes);
    let (cores, on) = if policy.binds() { (runs.cores(), run_nodes) } else { (numa.all_cores(), nodes) };
    if threads > cores {
        let more = match bind.cores {
            _ if cores == numa.all_cores() => "",
            Some(_) => ", or list more `bind_cores`",
            None => ", or bind to more nodes",
        };
        return Err(NumaError::TooManyThreads { threads, cores, nodes: on, more });
    }
    let runs = runs.first(threads);
    let everywhere: [(usize, u32); MOST_NODES] = std::array::from_fn(|node| (node, 1));
    let everywhere = &everywhere[..nodes as usize];
    let data = if policy == Policy::Interleave { everywhere } else { &runs.each()[..1] };
    let (cached, ports) = match cache.slc_scope {
        SlcScope::Node => (data, data),
        SlcScope::Global => (everywhere, data),
        SlcScope::Spread => (everywhere, everywhere),
    };
    let count = |it: &[(usize, u32)]| u32::try_from(it.len()).unwrap_or(nodes);
    let Spread { in_fullest_cluster, crowded_threads, clusters } = if let Some(listed) = bind.cores {
        Spread::over(threads, || listed.per_cluster(cache.cores_per_cluster))
    } else {
        let (all, each) = (runs.cores(), cache.cores_per_cluster.get());
        Spread::over(threads, || {
            iter::repeat_n(each, (all / each) as usize).chain(Some(all % each).filter(|it| *it > 0))
        })
    };
    let dealt = runs.dealt(threads);
    Ok(Placed {
        threads,
        in_fullest_cluster,
        crowded_threads,
        clusters,
        // A single thread is where its pages are.
        stay: !policy.balances() || runs.nodes == 1,
        data_nodes: count(data),
        memory_nodes: if policy == Policy::BindCoresMemory { run_nodes } else { nodes },
        mean_distance: dealt.distance(data, numa),
        slc_nodes: count(cached),
        port_nodes: count(ports),
        port_distance: dealt.distance(ports, numa),
        // A single thread has no way to another.
        thread_distance: if threads == 1 {
            f64::from(LOCAL_DISTANCE)
        } else {
            dealt.distance(dealt.each(), numa)
        },
    })
}

/// Threads of the fullest cluster, where so many are spread over clusters with so many cores: each has one before
/// any that has room takes another.
fn fullest<I: Iterator<Item = u32>>(threads: u32, cores_of_each: impl Fn() -> I) -> u32 {
    let hold = |most: u32| cores_of_each().map(|it| it.min(most)).sum::<u32>();
    (1..=threads).find(|most| hold(*most) >= threads).unwrap_or(threads)
}

/// How threads are over clusters, spread as [`fullest`] says.
struct Spread {
    in_fullest_cluster: u32,
    crowded_threads: u32,
    clusters: u32,
}

impl Spread {
    fn over<I: Iterator<Item = u32>>(threads: u32, cores_of_each: impl Fn() -> I) -> Self {
        let in_fullest_cluster = fullest(threads, &cores_of_each);
        let hold = |most: u32| cores_of_each().map(|it| it.min(most)).sum::<u32>();
        Self {
            in_fullest_cluster,
            crowded_threads: (threads - hold(in_fullest_cluster - 1)) * in_fullest_cluster,
            clusters: hold(1).min(threads),
        }
    }
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

    /// How much longer the way to the weights in the system-level cache is than to what is in the own node's part.
    #[must_use]
    pub fn slc_stretch(&self, numa: &Numa) -> f64 {
        stretch(self.port_distance, numa)
    }

    /// How much longer the way from thread to thread is than within a node.
    #[must_use]
    pub fn thread_stretch(&self, numa: &Numa) -> f64 {
        stretch(self.thread_distance, numa)
    }

    /// System-level cache that may hold the weights.
    #[must_use]
    pub fn slc_bytes(&self, cache: &Cache) -> u64 {
        cache.slc_bytes_per_node.saturating_mul(self.slc_nodes.into())
    }

    /// What NUMA balancing adds, as a share of the time: hinting faults flush the
    /// TLBs of all cores that run the program, so it grows with their number.
    #[must_use]
    pub fn balancing_share(&self, policy: Policy, os: &Os, numa: &Numa) -> f64 {
        if policy.balances() && !self.stay {
            os.balancing_cost * f64::from(self.threads) / f64::from(numa.all_cores())
        } else {
            0.0
        }
    }
}
