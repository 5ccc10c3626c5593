//! Where threads and pages are, and how far from one another.

use memscape_riscv::hardware::{Distances, MACHINES};
use memscape_riscv::placement::{Bind, Nodes, Placed, Policy, place};
use memscape_riscv::{GemmStudy, InferenceStudy};
use memscape_study::Study;
use proptest::prelude::*;

use crate::common::{ask, count, error, study};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn farther_is_never_faster(study in study(), remote in 10..=254_u8) {
        let with = |remote| {
            let mut it = study;
            it.numa.distances = Distances::uniform(remote).unwrap();
            ask(it).headline
        };
        prop_assert!(with(remote).token_ns <= with(remote + 1).token_ns);
        prop_assert!(with(remote).ttft_s <= with(remote + 1).ttft_s);
    }
}

#[test]
fn binding_follows_the_threads_and_interleaving_the_pages() {
    let study = InferenceStudy::default();
    let at = |policy, threads, nodes| {
        place(policy, threads, Bind { nodes, cores: None }, &study.numa, &study.cache).unwrap()
    };
    let bound = at(Policy::BindCores, 32, None);
    assert_eq!((bound.mean_distance, bound.data_nodes, bound.in_fullest_cluster), (12.5, 1, 4));
    let with_memory = at(Policy::BindCoresMemory, 32, None);
    assert_eq!(with_memory.memory_nodes, 2, "of four");
    assert_eq!(Placed { memory_nodes: 4, ..with_memory }, bound, "the first touch decides");
    let these = at(Policy::BindCores, 32, Some(Nodes::These(0b1100)));
    assert_eq!((these.mean_distance, these.thread_distance), (12.5, 12.5), "nodes 2 and 3");
    let apart = at(Policy::BindCores, 32, Some(Nodes::These(0b1001)));
    assert_eq!(apart.mean_distance, 20.0, "nodes 0 and 3");
    let listed = |cores: &str| {
        let bind = Bind { nodes: None, cores: Some(cores.parse().unwrap()) };
        place(Policy::BindCores, 16, bind, &study.numa, &study.cache)
    };
    assert_eq!(listed("0-7,16-23").unwrap(), at(Policy::BindCores, 16, Some(Nodes::Count(1))), "Fig. 4.4");
    let apart = "0,4,8,12,16,20,24,28,32,36,40,44,48,52,56,60";
    assert_eq!(listed(apart).unwrap().in_fullest_cluster, 1, "each core has its cluster's cache");
    assert_eq!(listed("2-17").unwrap().in_fullest_cluster, 4, "all but the first and the last are full");
    assert_eq!(listed("0-63").unwrap().in_fullest_cluster, 1, "sixteen threads, each in its own");
    assert_eq!(listed("0-3,4,8,12-23").unwrap().in_fullest_cluster, 4, "where others have one core");
    assert_eq!(listed("0-15").unwrap().thread_distance, 12.5, "eight of node 0, eight of node 1");
    assert_eq!(
        listed("60-75").unwrap_err().to_string(),
        "of the 16 cores of `bind_cores`, 4 are on the 4 nodes of `numa.cores`; list cores of these"
    );
    let anywhere = at(Policy::Base, 32, None);
    assert_eq!((anywhere.mean_distance, anywhere.data_nodes, anywhere.stay), (20.0, 1, false));
    assert!(at(Policy::Base, 1, None).stay && at(Policy::NoBalancing, 64, None).stay);
    let interleaved = at(Policy::Interleave, 32, None);
    assert_eq!(
        (interleaved.mean_distance, interleaved.data_nodes, interleaved.in_fullest_cluster),
        (20.0, 4, 2)
    );
    let one_of_four = at(Policy::BindCores, 1, Some(Nodes::Count(4)));
    assert_eq!(one_of_four.thread_stretch(&study.numa), 1.0, "a thread is where it is");
    let alone = at(Policy::NoBalancing, 1, None);
    assert_eq!((alone.mean_distance, alone.in_fullest_cluster), (10.0, 1), "a thread touches its own node");
    for nodes in [Nodes::Count(4), Nodes::These(0b1100)] {
        assert_eq!(at(Policy::BindCores, 1, Some(nodes)).mean_distance, 10.0, "whatever it is bound to");
    }
    let spread = at(Policy::NoBalancing, 24, None);
    assert_eq!((spread.in_fullest_cluster, spread.clusters), (2, 16), "eight of sixteen have two");
    assert_eq!([1, 15, 33, 64].map(|it| at(Policy::NoBalancing, it, None).clusters), [1, 15, 16, 16]);
    assert_eq!(
        (bound.clusters, listed(apart).unwrap().clusters, listed("2-17").unwrap().clusters),
        (8, 16, 5)
    );
}

/// What a policy does not bind to is refused under it, rather than left unheard.
#[test]
fn bindings_are_heard_or_refused() {
    let base = InferenceStudy::default();
    let bound = |policy, nodes: Option<&str>, cores: Option<&str>| InferenceStudy {
        policy,
        bind_nodes: nodes.map(|it| serde_json::from_str(it).unwrap()),
        bind_cores: cores.map(|it| serde_json::from_value(it.into()).unwrap()),
        ..base
    };
    for policy in Policy::ALL {
        assert!(error(bound(policy, Some("[1]"), Some("60-70"))).contains("are both given"));
        let (nodes, cores) = (bound(policy, Some("[7]"), None), bound(policy, None, Some("60-70")));
        if policy.binds() {
            assert_eq!(error(nodes), "`bind_nodes` is [7], but the machine has 4 nodes");
            assert!(error(cores).starts_with("of the 11 cores of `bind_cores`, 4 are on the 4 nodes"));
        } else {
            let text = |it| {
                format!(
                    "`{it}` is given, but `policy` does not bind; use \"bind-cores\" or \"bind-cores-memory\", or \
                     leave `{it}` out"
                )
            };
            assert_eq!([error(nodes), error(cores)], ["bind_nodes", "bind_cores"].map(text));
            let product = GemmStudy { policy, bind_cores: "0-7".parse().ok(), ..GemmStudy::default() };
            assert_eq!(product.answer().unwrap_err().to_string(), text("bind_cores"));
        }
    }
    // Who lists cores is not sent to nodes.
    let listed = InferenceStudy { threads: count(9), ..bound(Policy::BindCoresMemory, None, Some("0-7")) };
    assert_eq!(
        error(listed),
        "9 threads do not fit 8 cores on 1 node, one each; use fewer threads, or list more `bind_cores`"
    );
    let listed = InferenceStudy { threads: count(8), model: "llama-3.1-70b".parse().unwrap(), ..listed };
    assert!(
        error(listed).ends_with(
            "`policy` = \"bind-cores\" or `bind_cores` on more nodes, or more `memory.rows`, \
             `memory.banks_per_channel` or `memory.channels`"
        ),
        "{}",
        error(listed)
    );
}

/// `numa.cores` says which of the cores are whose, for lists of them alone.
#[test]
fn lists_of_cores_are_of_as_many_as_there_are() {
    let of = |cores_per_node, threads, bind_cores: Option<&str>| {
        let mut study = InferenceStudy {
            policy: Policy::BindCores,
            threads: count(threads),
            bind_cores: bind_cores.map(|it| it.parse().unwrap()),
            ..InferenceStudy::default()
        };
        study.numa.cores_per_node = count(cores_per_node);
        study
    };
    for cores in [8, 64] {
        assert_eq!(
            error(of(cores, 64, Some("0-63"))),
            format!(
                "`numa.cores` lists 16 cores of node 0, but `numa.cores_per_node` is {cores}; make them agree, or leave \
                 `bind_cores` out"
            )
        );
        ask(of(cores, 4 * cores, None));
    }
    ask(of(16, 64, Some("0-63")));
    // Lists of nodes that are left out are nobody's.
    let mut two = of(16, 32, Some("0-31"));
    two.numa.nodes = count(2);
    two.numa.distances = serde_json::from_str("20").unwrap();
    ask(two);
}

/// Distances are those between threads, not between cores that they may run on.
#[test]
fn cores_without_a_thread_are_no_ones_way() {
    let machine = MACHINES.get("sg2042");
    let at = |cores: &str, threads| {
        let bind = Bind { cores: cores.parse().ok(), ..Bind::default() };
        let it = place(Policy::BindCores, threads, bind, &machine.numa, &machine.cache).unwrap();
        (it.mean_distance, it.thread_distance)
    };
    assert_eq!(at("0,8", 2), at("0,8-15,24-31", 2));
    // One core of the first node, as many as needed of the second: 1 thread at 10, 3 at 15.
    assert_eq!(at("0,8-15,24-31", 4).0, 13.75);
}
