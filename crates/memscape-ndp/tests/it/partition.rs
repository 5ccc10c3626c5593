//! Is a partition within its bounds, and as good as it says?

use std::num::NonZeroU32;

use memscape_ndp::PartitionStudy;
use memscape_ndp::activity::npz::Npz;
use memscape_ndp::hardware::MACHINES;
use memscape_ndp::partition::{Block, Devices, Partition, Sizes, solve};
use memscape_study::Study;
use memscape_units::{Nanoseconds, Tops};
use memscape_workload::Model;
use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOutcome, Variable};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::common::changed;

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
    /// How many sequences multiply each neuron, if it is more than one.
    multiplied: Option<Vec<Vec<f32>>>,
    fixed: f64,
    devices: Devices,
}

impl Instance {
    fn blocks(&self) -> Vec<Block<'_>> {
        self.bytes
            .iter()
            .zip(&self.frequency)
            .enumerate()
            .map(|(block, (bytes, frequency))| Block {
                bytes: Sizes::Each(bytes),
                frequency,
                multiplied: self.multiplied.as_ref().map(|it| it[block].as_slice()),
                gpu_fixed: seconds(self.fixed),
            })
            .collect()
    }

    /// Seconds of reading and of multiplying.
    fn times(&self, block: usize, neuron: usize, device: usize) -> [f64; 2] {
        let multiplied = self.multiplied.as_ref().unwrap_or(&self.frequency);
        let rate = if device == 0 { self.devices.gpu_multiplies } else { self.devices.dimm_multiplies };
        let multiplied = self.bytes[block][neuron] * f64::from(multiplied[block][neuron]) / rate;
        [self.time(block, neuron, device), multiplied]
    }

    fn time(&self, block: usize, neuron: usize, device: usize) -> f64 {
        let bandwidth =
            if device == 0 { self.devices.gpu_bandwidth } else { self.devices.dimm_bandwidth[device - 1] };
        self.bytes[block][neuron] * f64::from(self.frequency[block][neuron]) / bandwidth
    }

    /// What a GPU that has something to do takes beside it.
    fn fixed(&self, busy: bool) -> f64 {
        if busy { self.fixed } else { 0.0 }
    }

    /// Eq. 1 to 7, said plainly.
    fn objective(&self, device: &[Vec<u16>]) -> f64 {
        let dimms = self.devices.dimm_bandwidth.len();
        let slowest = |(block, device): (usize, &Vec<u16>)| {
            let mut time = vec![[0.0; 2]; dimms + 1];
            time[0] = [self.fixed(device.contains(&0)); 2];
            for (neuron, it) in device.iter().enumerate() {
                add(&mut time[usize::from(*it)], self.times(block, neuron, usize::from(*it)));
            }
            time.into_iter().flatten().fold(0.0, f64::max)
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
            let busy = problem.add_integer_var(0.0, (0, 1));
            work[0].push((busy, self.fixed * 1e6));
            for neuron in 0..self.bytes[block].len() {
                let places: Vec<Variable> =
                    (0..=dimms).map(|_| problem.add_integer_var(0.0, (0, 1))).collect();
                for (device, place) in places.iter().enumerate() {
                    work[device].push((*place, self.time(block, neuron, device) * 1e6));
                    held[device].push((*place, self.bytes[block][neuron] * 1e-6));
                }
                problem.add_constraint([(places[0], 1.0), (busy, -1.0)], ComparisonOp::Le, 0.0);
                let one: Vec<(Variable, f64)> = places.into_iter().map(|it| (it, 1.0)).collect();
                problem.add_constraint(one, ComparisonOp::Eq, 1.0);
            }
            for work in work {
                problem.add_constraint(work, ComparisonOp::Le, 0.0);
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

fn add(sum: &mut [f64; 2], more: [f64; 2]) {
    sum.iter_mut().zip(more).for_each(|(sum, it)| *sum += it);
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
        Instance { bytes, frequency, multiplied: None, fixed, devices: Devices {
            gpu_bandwidth: 748.8e9,
            gpu_multiplies: f64::INFINITY,
            gpu_capacity: total * gpu_share,
            dimm_bandwidth: vec![89.6e9; dimms],
            dimm_multiplies: f64::INFINITY,
            dimm_capacity: vec![dimm; dimms],
        } }
    }
}

prop_compose! {
    /// Of several sequences. A GPU that multiplies as slowly as it can here is bound by it.
    fn batches(blocks: usize, neurons: usize, dimms: u8)(
        instance in instances(blocks, neurons, dimms),
        batch in 2_i16..65,
        gpu_ratio in 1.0_f64..100.0,
        dimm_ratio in 1.0_f64..6.0,
    ) -> Instance {
        let each = |of: &dyn Fn(f32) -> f32| {
            instance.frequency.iter().map(|it| it.iter().map(|it| of(*it)).collect()).collect()
        };
        let multiplied = Some(each(&|it| it * f32::from(batch)));
        let frequency = each(&|it| 1.0 - (1.0 - it).powi(batch.into()));
        let devices = Devices {
            gpu_multiplies: gpu_ratio * instance.devices.gpu_bandwidth,
            dimm_multiplies: dimm_ratio * instance.devices.dimm_bandwidth[0],
            ..instance.devices.clone()
        };
        Instance { frequency, multiplied, devices, ..instance }
    }
}

/// Beside GPUs that some blocks had better not wait for: the DIMMs are done in about 80 us.
fn far(of: impl Strategy<Value = Instance>) -> impl Strategy<Value = Instance> {
    (of, 0.0_f64..2e-4).prop_map(|(instance, fixed)| Instance { fixed, ..instance })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_partition_beside_a_far_gpu_keeps_the_rules(instance in prop_oneof![far(instances(6, 40, 4)), far(batches(6, 40, 4))]) {
        let found = solve(&instance.blocks(), &instance.devices).unwrap();
        check_rules(&instance, &found);
        // What needs no GPU is feasible: level DIMMs, but for the longest of their neurons.
        let idle: Vec<Vec<u16>> = vec![vec![1; 40]; 6];
        prop_assert!(lower_bound_s(&found) <= instance.objective(&idle));
    }

    #[test]
    fn a_partition_for_a_batch_keeps_the_rules(instance in batches(6, 40, 4)) {
        let found = solve(&instance.blocks(), &instance.devices).unwrap();
        check_rules(&instance, &found);
    }

    /// Blocks of more neurons than are tried whole, so that the bound is that of prefixes.
    #[test]
    fn no_prefix_and_no_reading_of_few_is_below_the_bound_of_a_batch(
        instance in batches(2, 60, 1),
        shares in prop::collection::vec((0.0_f64..1.0, 0.0_f64..1.0), 40),
    ) {
        let bound = lower_bound_s(&solve(&instance.blocks(), &instance.devices).unwrap());
        let order = |block: usize| {
            let mut order: Vec<usize> = (0..60).collect();
            order.sort_by(|a, b| instance.frequency[block][*b].total_cmp(&instance.frequency[block][*a]));
            order
        };
        let orders = [order(0), order(1)];
        for (first, last) in shares {
            // What lies between two ranks, of either block, as far as it fits.
            let mut room = instance.devices.gpu_capacity;
            let device: Vec<Vec<u16>> = (0..2).map(|block| {
                let mut device = vec![1; 60];
                for (rank, neuron) in orders[block].iter().enumerate() {
                    let place = rank as f64 / 60.0;
                    let bytes = instance.bytes[block][*neuron];
                    if place >= first * last && place < last && bytes <= room {
                        room -= bytes;
                        device[*neuron] = 0;
                    }
                }
                device
            }).collect();
            let time = instance.objective(&device);
            prop_assert!(bound <= time * (1.0 + 1e-9), "{bound} {time}");
        }
    }

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
    fn agreement_with_an_integer_programme(
        instance in prop_oneof![instances(2, 6, 2), far(instances(2, 6, 2))]
    ) {
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
                let place = |neuron: usize| code / 3_usize.pow(u32::try_from(neuron).unwrap()) % 3;
                let fixed = instance.fixed((0..neurons).any(|it| place(it) == 0));
                let (mut bytes, mut time) = ([0.0; 3], [[fixed; 2], [0.0; 2], [0.0; 2]]);
                for neuron in 0..neurons {
                    let device = place(neuron);
                    bytes[device] += instance.bytes[block][neuron];
                    add(&mut time[device], instance.times(block, neuron, device));
                }
                (bytes, time.into_iter().flatten().fold(0.0, f64::max))
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

/// How far solutions of random instances are above the optimum, in order; no bound is.
fn above_optimum(of: impl Strategy<Value = Instance>, count: usize) -> Vec<f64> {
    let mut runner = TestRunner::deterministic();
    let mut above: Vec<f64> = (0..count)
        .map(|_| {
            let instance = of.new_tree(&mut runner).unwrap().current();
            let found = solve(&instance.blocks(), &instance.devices).unwrap();
            check_rules(&instance, &found);
            let optimum = exhaustive_optimum(&instance);
            assert!(lower_bound_s(&found) <= optimum * (1.0 + 1e-9), "{} {optimum}", lower_bound_s(&found));
            objective_s(&found) / optimum - 1.0
        })
        .collect();
    above.sort_by(f64::total_cmp);
    assert!(above[0] > -1e-9);
    above
}

/// Where single neurons matter there is no guarantee, so this is a sample of
/// fixed seed: of 20 000 such instances 1 % were more than 3 % above the optimum,
/// and the worst 41 %.
#[test]
fn nearly_all_tiny_instances_are_solved() {
    let above = above_optimum(instances(2, 6, 2), 1000);
    assert!(above[900] < 1e-9, "nine of ten are optimal: {}", above[900]);
    assert!(above[980] < 0.05, "{}", above[980]);
    assert!(above[999] < 0.5, "{}", above[999]);
}

/// One sequence multiplies what it reads: a GPU that multiplies slowly is one of one rate all the same, and the bound
/// is as near as where it reads.
#[test]
fn a_gpu_that_multiplies_slowly_has_a_bound_that_is_near() {
    for fp16_tops in [0.1, 1.0, 70.0] {
        let mut study =
            PartitionStudy { model: Some(Model::named("opt-6.7b").unwrap()), ..PartitionStudy::default() };
        study.gpu.fp16_tops = Tops::new(fp16_tops).unwrap();
        let found = study.answer().unwrap();
        assert!((0.0..1e-2).contains(&found.gap), "{fp16_tops}: {found:?}");
    }
}

/// The same for batches: what the smallest bound proves, every placement keeps.
#[test]
fn no_placement_of_a_batch_is_below_the_bound() {
    let above = above_optimum(batches(2, 6, 2), 300);
    assert!(above[270] < 0.05, "{}", above[270]);
}

/// And for GPUs that blocks had better not wait for.
#[test]
fn no_placement_beside_a_far_gpu_is_below_the_bound() {
    for above in [above_optimum(far(instances(2, 6, 2)), 300), above_optimum(far(batches(2, 6, 2)), 300)] {
        assert!(above[270] < 0.05, "{}", above[270]);
    }
}

/// A GPU that is asked later than the DIMMs are done is best left idle, and is not waited for then: what they take
/// without one, whatever it had room for.
#[test]
fn a_gpu_that_is_left_idle_takes_no_time() {
    let of = |sync_us: f64, hot_share: f64| {
        let overhead = ("overhead.sync_us", serde_json::json!(sync_us));
        let model = ("model", serde_json::to_value(Model::named("opt-1.3b").unwrap()).unwrap());
        changed::<PartitionStudy>(&[model, overhead, ("hot_share", serde_json::json!(hot_share))])
            .answer()
            .unwrap()
    };
    let (far, none) = (of(1e5, 0.5), of(5.0, 0.0));
    assert_eq!((far.gpu_neuron_share, none.gpu_neuron_share), (0.0, 0.0));
    assert!((far.objective_ms / none.objective_ms - 1.0).abs() < 1e-9, "{far:?} {none:?}");
    assert!(far.gap < 1e-3 && far.lower_bound_ms <= far.objective_ms, "{far:?}");
    // 24 layers of two blocks, each with 200 ms there and back, are no bound.
    assert!(far.lower_bound_ms < 1.0, "{far:?}");
}

/// Neurons that are large against the room of a DIMM have a place as long as they do anywhere.
#[test]
fn what_fits_somewhere_is_placed() {
    let instance = |sizes: &[f64], hottest: usize, capacity: &[f64]| Instance {
        bytes: vec![sizes.to_vec()],
        frequency: vec![(0..sizes.len()).map(|it| if it == hottest { 0.9 } else { 0.1 }).collect()],
        multiplied: None,
        fixed: 0.0,
        devices: Devices {
            gpu_bandwidth: 1e9,
            gpu_multiplies: f64::INFINITY,
            gpu_capacity: capacity[0],
            dimm_bandwidth: vec![1e8; capacity.len() - 1],
            dimm_multiplies: f64::INFINITY,
            dimm_capacity: capacity[1..].to_vec(),
        },
    };
    for it in [
        instance(&[14.0, 11.0], 0, &[25.0, 12.5, 12.5]),
        instance(&[10.0; 4], 0, &[20.0, 16.0, 16.0]),
        instance(&[7.0], 0, &[7.0, 3.0, 3.0, 3.0]),
        // What is hot must leave the GPU to what fits nowhere else.
        instance(&[11.0, 14.0], 0, &[14.0, 12.0, 12.0]),
    ] {
        check_rules(&it, &solve(&it.blocks(), &it.devices).unwrap());
    }
    let none = instance(&[14.0, 14.0], 0, &[15.0, 8.0, 8.0]);
    let error = solve(&none.blocks(), &none.devices).unwrap_err().to_string();
    assert!(error.starts_with("nothing has room left for a neuron of 14 bytes"), "{error}");
}

/// By hand: the hottest twentieth of either block's neurons on a GPU that is done long before level DIMMs,
/// which multiply the rest for each sequence or read it for any. That is feasible, so no bound is above it;
/// and all that a price could do better is to take more of one block than of the other.
#[test]
fn functional_hot_neurons_by_hand_are_not_below_the_bound_of_a_batch() {
    const HOT: f64 = 0.05;
    const STEP: f64 = 1e-3;
    let machine = MACHINES.get("hermes");
    let law = machine.activity.at(machine.activity.relufied_density.as_f64()).unwrap();
    for batch in [1_u32, 8, 16, 64] {
        let study = PartitionStudy {
            model: Some(Model::named("llama-2-13b").unwrap()),
            batch: NonZeroU32::new(batch).unwrap(),
            hot_share: Some(HOT.try_into().unwrap()),
            ..PartitionStudy::default()
        };
        let found = study.answer().unwrap();
        let sparse_bytes = found.gpu_capacity_gb / HOT * 1e9;
        // From hot to cold.
        let (mut mass, mut read, mut multiplied) = (0.0, 0.0, 0.0);
        for it in 0..12_000 {
            let latent = 6.0 - (f64::from(it) + 0.5) * STEP;
            let share = (-0.5 * latent * latent).exp() / (2.0 * std::f64::consts::PI).sqrt() * STEP;
            let active = law.profiled(latent);
            mass += share;
            if mass > HOT {
                read += share * (1.0 - (1.0 - active).powf(batch.into()));
                multiplied += share * active * f64::from(batch);
            }
        }
        let dimms = f64::from(machine.dimms.get());
        let reading = sparse_bytes * read / (machine.dimm.bandwidth_gb_s() * dimms);
        let multiplying = sparse_bytes / 2.0 * multiplied / (machine.dimm.macs_per_ns() * dimms);
        let by_hand = reading.max(multiplying) * 1e-6;
        // The drawn neurons of 80 blocks are not quite the law's.
        assert!(found.lower_bound_ms <= by_hand * 1.005, "{batch}: {} {by_hand}", found.lower_bound_ms);
        assert!(found.objective_ms >= found.lower_bound_ms && found.gap < 0.01, "{batch}: {}", found.gap);
        assert!(found.lower_bound_ms >= by_hand * 0.95, "{batch}: {} {by_hand}", found.lower_bound_ms);
    }
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
        multiplied: None,
        fixed: 0.0,
        devices: Devices {
            gpu_bandwidth: bandwidth[0],
            gpu_multiplies: f64::INFINITY,
            gpu_capacity: capacity[0],
            dimm_bandwidth: bandwidth[1..].to_vec(),
            dimm_multiplies: f64::INFINITY,
            dimm_capacity: capacity[1..].to_vec(),
        },
    };
    let found = solve(&instance.blocks(), &instance.devices).unwrap();
    check_rules(&instance, &found);
    assert!(objective_s(&found) <= 964.6e-6, "{}", objective_s(&found));
    assert!(lower_bound_s(&found) >= 962.5e-6, "{}", lower_bound_s(&found));
}
