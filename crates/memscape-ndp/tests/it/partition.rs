//! Is a partition within its bounds, and as good as it says?

use memscape_ndp::activity::npz::Npz;
use memscape_ndp::partition::{Block, Devices, Partition, Sizes, solve};
use memscape_units::Nanoseconds;
use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOutcome, Variable};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn seconds(it: f64) -> Nanoseconds {
    Nanoseconds::new(it * 1e9).unwrap()
}

fn objective_s(it: &Partition) -> f64 {
    it.objective.as_f64() * 1e-9
}

fn lower_bound_s(it: &Partition) -> f64 {
    it.lower_bound.as_f64() * 1e-9
}

/// An instance that can be given to both solvers.
#[derive(Debug, Clone)]
struct Instance {
    bytes: Vec<Vec<f64>>,
    frequency: Vec<Vec<f32>>,
    fixed: f64,
    devices: Devices,
}

impl Instance {
    fn blocks(&self) -> Vec<Block<'_>> {
        self.bytes
            .iter()
            .zip(&self.frequency)
            .map(|(bytes, frequency)| Block {
                bytes: Sizes::Each(bytes),
                frequency,
                gpu_fixed: seconds(self.fixed),
            })
            .collect()
    }

    fn time(&self, block: usize, neuron: usize, device: usize) -> f64 {
        let bandwidth =
            if device == 0 { self.devices.gpu_bandwidth } else { self.devices.dimm_bandwidth[device - 1] };
        self.bytes[block][neuron] * f64::from(self.frequency[block][neuron]) / bandwidth
    }

    /// Eq. 1 to 7, said plainly.
    fn objective(&self, device: &[Vec<u16>]) -> f64 {
        let dimms = self.devices.dimm_bandwidth.len();
        let slowest = |(block, device): (usize, &Vec<u16>)| {
            let mut time = vec![0.0; dimms + 1];
            time[0] = self.fixed;
            for (neuron, it) in device.iter().enumerate() {
                time[usize::from(*it)] += self.time(block, neuron, usize::from(*it));
            }
            time.into_iter().fold(0.0, f64::max)
        };
        device.iter().enumerate().map(slowest).sum()
    }

    /// The integer programme, by a solver that knows nothing of its structure.
    fn integer_optimum(&self) -> f64 {
        let dimms = self.devices.dimm_bandwidth.len();
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let mut held: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); dimms + 1];
        for block in 0..self.bytes.len() {
            // In microseconds, so that numbers are near 1.
            let slowest = problem.add_var(1.0, (0.0, f64::INFINITY));
            let mut work: Vec<Vec<(Variable, f64)>> = vec![vec![(slowest, -1.0)]; dimms + 1];
            for neuron in 0..self.bytes[block].len() {
                let places: Vec<Variable> =
                    (0..=dimms).map(|_| problem.add_integer_var(0.0, (0, 1))).collect();
                for (device, place) in places.iter().enumerate() {
                    work[device].push((*place, self.time(block, neuron, device) * 1e6));
                    held[device].push((*place, self.bytes[block][neuron] * 1e-6));
                }
                let one: Vec<(Variable, f64)> = places.into_iter().map(|it| (it, 1.0)).collect();
                problem.add_constraint(one, ComparisonOp::Eq, 1.0);
            }
            for (device, work) in work.into_iter().enumerate() {
                let fixed = if device == 0 { self.fixed * 1e6 } else { 0.0 };
                problem.add_constraint(work, ComparisonOp::Le, -fixed);
            }
        }
        let capacities = std::iter::once(&self.devices.gpu_capacity).chain(&self.devices.dimm_capacity);
        for (held, capacity) in held.into_iter().zip(capacities) {
            problem.add_constraint(held, ComparisonOp::Le, capacity * 1e-6);
        }
        match problem.solve().expect("it fits") {
            SolveOutcome::Solution(solution) => solution.objective() * 1e-6,
            SolveOutcome::Interrupted(_) => panic!("no limit was set"),
        }
    }
}

fn check_rules(instance: &Instance, found: &Partition) {
    let dimms = instance.devices.dimm_bandwidth.len();
    let mut bytes = vec![0.0; dimms + 1];
    for (block, device) in found.device.iter().enumerate() {
        assert_eq!(device.len(), instance.bytes[block].len(), "every neuron on one device");
        for (neuron, device) in device.iter().enumerate() {
            bytes[usize::from(*device)] += instance.bytes[block][neuron];
        }
    }
    let capacities = std::iter::once(&instance.devices.gpu_capacity).chain(&instance.devices.dimm_capacity);
    for ((bytes, reported), capacity) in bytes.iter().zip(&found.bytes).zip(capacities) {
        // Sums of up to some hundred sizes in another order.
        assert!((bytes - reported).abs() <= 1e-9 * bytes.max(1.0), "{bytes} {reported}");
        assert!(*bytes <= capacity * (1.0 + 1e-12), "{bytes} of {capacity}");
    }
    let objective = instance.objective(&found.device);
    assert!((objective / objective_s(found) - 1.0).abs() < 1e-9, "{objective} {}", objective_s(found));
    assert!(lower_bound_s(found) <= objective_s(found) * (1.0 + 1e-12));
}

prop_compose! {
    fn instances(blocks: usize, neurons: usize, dimms: u8)(
        // Frequencies as they are: few hot, many cold.
        uniform in prop::collection::vec(prop::collection::vec(0.0_f32..1.0, neurons), blocks),
        bytes in prop::collection::vec(prop::collection::vec(4e6_f64..9e6, neurons), blocks),
        gpu_share in 0.0_f64..0.6,
        slack in 1.3_f64..2.0,
        fixed in 0.0_f64..5e-6,
    ) -> Instance {
        let total: f64 = bytes.iter().flatten().sum();
        let frequency = uniform.iter().map(|it| it.iter().map(|u| u.powi(4)).collect()).collect();
        let dimm = total * slack / f64::from(dimms);
        let dimms = usize::from(dimms);
        Instance { bytes, frequency, fixed, devices: Devices {
            gpu_bandwidth: 748.8e9,
            gpu_capacity: total * gpu_share,
            dimm_bandwidth: vec![89.6e9; dimms],
            dimm_capacity: vec![dimm; dimms],
        } }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_partition_keeps_the_rules_and_its_bound_below(instance in instances(6, 40, 4)) {
        let found = solve(&instance.blocks(), &instance.devices).unwrap();
        check_rules(&instance, &found);
    }

    #[test]
    fn more_gpu_memory_never_raises_the_bound(instance in instances(4, 24, 3)) {
        let mut larger = instance.clone();
        larger.devices.gpu_capacity *= 1.5;
        let bound = |it: &Instance| lower_bound_s(&solve(&it.blocks(), &it.devices).unwrap());
        prop_assert!(bound(&larger) <= bound(&instance) * (1.0 + 1e-9));
    }
}

proptest! {
    // An integer programme takes up to a second.
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What may never happen is a bound above the optimum, or an objective below.
    /// How near the optimum a placement is: `nearly_all_tiny_instances_are_solved`.
    #[test]
    fn agreement_with_an_integer_programme(instance in instances(2, 6, 2)) {
        let found = solve(&instance.blocks(), &instance.devices).unwrap();
        let optimum = instance.integer_optimum();
        prop_assert!(lower_bound_s(&found) <= optimum * (1.0 + 1e-6), "{} {optimum}", lower_bound_s(&found));
        prop_assert!(objective_s(&found) >= optimum * (1.0 - 1e-6), "{} {optimum}", objective_s(&found));
    }
}

/// The optimum of two blocks and two DIMMs, by looking at every placement.
fn exhaustive_optimum(instance: &Instance) -> f64 {
    let placements = |block: usize| {
        let neurons = instance.bytes[block].len();
        let mut all: Vec<([f64; 3], f64)> = (0..3_usize.pow(u32::try_from(neurons).unwrap()))
            .map(|code| {
                let (mut bytes, mut time) = ([0.0; 3], [instance.fixed, 0.0, 0.0]);
                for neuron in 0..neurons {
                    let device = code / 3_usize.pow(u32::try_from(neuron).unwrap()) % 3;
                    bytes[device] += instance.bytes[block][neuron];
                    time[device] += instance.time(block, neuron, device);
                }
                (bytes, time.into_iter().fold(0.0, f64::max))
            })
            .collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    };
    let (first, second) = (placements(0), placements(1));
    let devices = &instance.devices;
    let capacity = [devices.gpu_capacity, devices.dimm_capacity[0], devices.dimm_capacity[1]];
    let mut best = f64::INFINITY;
    for (bytes, time) in &first {
        // The first that fits is the fastest that does.
        let fits = |other: &&([f64; 3], f64)| (0..3).all(|it| bytes[it] + other.0[it] <= capacity[it]);
        let rest = second.iter().take_while(|it| time + it.1 < best).find(fits);
        best = rest.map_or(best, |it| time + it.1);
    }
    best
}

/// Where single neurons matter there is no guarantee, so this is a sample of
/// fixed seed: of 20 000 such instances 1 % were more than 3 % above the optimum,
/// and the worst 41 %.
#[test]
fn nearly_all_tiny_instances_are_solved() {
    let mut runner = TestRunner::deterministic();
    let mut above: Vec<f64> = (0..1000)
        .map(|_| {
            let instance = instances(2, 6, 2).new_tree(&mut runner).unwrap().current();
            let found = solve(&instance.blocks(), &instance.devices).unwrap();
            check_rules(&instance, &found);
            let optimum = exhaustive_optimum(&instance);
            assert!(lower_bound_s(&found) <= optimum * (1.0 + 1e-9), "{} {optimum}", lower_bound_s(&found));
            objective_s(&found) / optimum - 1.0
        })
        .collect();
    above.sort_by(f64::total_cmp);
    assert!(above[0] > -1e-9);
    assert!(above[900] < 1e-9, "nine of ten are optimal: {}", above[900]);
    assert!(above[980] < 0.05, "{}", above[980]);
    assert!(above[999] < 0.5, "{}", above[999]);
}

/// `data/partition`: 40 layers of 64 groups, a GPU and eight DIMMs. A direct
/// integer programme stops at 1106 us with a gap of 13 % after 300 s; one over
/// groups of groups with exchanges finds 964.59 us in a minute.
#[test]
#[expect(clippy::cast_possible_truncation, reason = "shares")]
fn the_placement_instance_is_solved_to_half_a_per_mille() {
    let mut file = Npz::open(include_bytes!("../../../../data/partition/placement.npz")).unwrap();
    let mut read = |name: &str| file.array(name).unwrap().floats(name).unwrap();
    let (size, frequency, bandwidth, capacity) = (read("size"), read("freq"), read("bw"), read("cap"));
    let instance = Instance {
        bytes: size.chunks(64).map(<[_]>::to_vec).collect(),
        frequency: frequency.chunks(64).map(|it| it.iter().map(|it| *it as f32).collect()).collect(),
        fixed: 0.0,
        devices: Devices {
            gpu_bandwidth: bandwidth[0],
            gpu_capacity: capacity[0],
            dimm_bandwidth: bandwidth[1..].to_vec(),
            dimm_capacity: capacity[1..].to_vec(),
        },
    };
    let found = solve(&instance.blocks(), &instance.devices).unwrap();
    check_rules(&instance, &found);
    assert!(objective_s(&found) <= 964.6e-6, "{}", objective_s(&found));
    assert!(lower_bound_s(&found) >= 962.5e-6, "{}", lower_bound_s(&found));
}
