//! Does the scheduler do what the paper says, neuron by neuron?

use std::cmp::Reverse;

use memscape_ndp::InferenceStudy;
use memscape_ndp::activity::Bits;
use memscape_ndp::hardware::{Pairing, Remap, Stop};
use memscape_ndp::partition::Device;
use memscape_ndp::scheduler::{
    BlockCost, Exchange, Missed, Remapping, Rules, Strategy, Token, Walk, Walked, words,
};
use memscape_units::Nanoseconds;
use proptest::prelude::*;

/// Ten times as long on a DIMM.
fn cost() -> BlockCost {
    let (none, one) = (Nanoseconds::ZERO, Nanoseconds::new(1.0).unwrap());
    BlockCost {
        neuron_bytes: 1.0,
        gpu_fixed: none,
        gpu_neuron: one,
        gpu_activation: none,
        carried: none,
        cold_neuron: one * 10.0,
        cold_activation: none,
    }
}

/// The predictor and the exchange as one would write them down: a state and a
/// place per neuron. Returns neurons read by the GPU, exchanged, and predicted
/// rightly.
fn plainly(
    study: &InferenceStudy,
    bits: &Bits,
    before: &Bits,
    parents: &[[u32; 2]],
    device: &[Device],
    halves: usize,
    prefill: usize,
) -> (u64, u64, u64) {
    let predictor = &study.predictor;
    let mut on_gpu: Vec<bool> = device.iter().map(|it| *it == 0).collect();
    let stride = bits.neurons.div_ceil(64);
    let share = |neuron: usize| {
        let active: f64 = (0..prefill).map(|it| f64::from(u8::from(bits.get(it, neuron)))).sum();
        active / f64::from(u32::try_from(prefill).unwrap())
    };
    let mut state: Vec<u32> = (0..bits.neurons).map(|it| predictor.start(share(it))).collect();
    let (mut read, mut swapped, mut right) = (0, 0, 0);
    for token in prefill..bits.tokens() {
        let score: Vec<u32> = (0..bits.neurons)
            .map(|it| {
                let active = parents[it].iter().filter(|parent| before.get(token, **parent as usize)).count();
                state[it] + predictor.lambda.get() * u32::try_from(active).unwrap()
            })
            .collect();
        right += (0..bits.neurons)
            .filter(|it| (score[*it] >= predictor.threshold) == bits.get(token, *it))
            .count() as u64;
        // Equal ones in an order of words that is the token's own.
        let order: Vec<usize> = words(token - prefill, stride).collect();
        assert!((0..stride).all(|it| order.contains(&it)));
        let turned = |it: usize| (order.iter().position(|word| *word == it / 64), it % 64);
        let mut hot: Vec<usize> =
            (0..bits.neurons).filter(|it| !on_gpu[*it] && score[*it] > predictor.hot_threshold).collect();
        hot.sort_by_key(|it| (std::cmp::Reverse(score[*it]), turned(*it)));
        let mut cold: Vec<usize> = (0..bits.neurons).filter(|it| on_gpu[*it]).collect();
        cold.sort_by_key(|it| (score[*it], turned(*it)));
        // Half a neuron comes with the next token's.
        let until = |token: usize| token * halves / 2;
        let room = until(token - prefill + 1) - until(token - prefill);
        for (into, out) in hot.into_iter().zip(cold).take(room) {
            if score[into] <= score[out] {
                break;
            }
            (on_gpu[into], on_gpu[out]) = (true, false);
            swapped += 1;
        }
        read +=
            (0..bits.neurons).filter(|it| on_gpu[*it] && score[*it] >= predictor.threshold).count() as u64;
        for (neuron, state) in state.iter_mut().enumerate() {
            *state = if bits.get(token, neuron) {
                (*state + predictor.increment.get()).min(15)
            } else {
                state.saturating_sub(1)
            };
        }
    }
    (read, swapped, right)
}

fn bits(rows: &[Vec<bool>]) -> Bits {
    let mut bits = Bits::zeros(rows.len(), rows[0].len());
    for (token, row) in rows.iter().enumerate() {
        for (neuron, _) in row.iter().enumerate().filter(|it| *it.1) {
            bits.row_mut(token)[neuron / 64] |= 1 << (neuron % 64);
        }
    }
    bits
}

fn walk(
    study: &InferenceStudy,
    bits: &Bits,
    before: &Bits,
    parents: &[[u32; 2]],
    device: &[Device],
    halves: usize,
    prefill: usize,
) -> Walked {
    walk_watched(study, bits, before, parents, device, [halves, prefill], |_| ())
}

fn walk_watched(
    study: &InferenceStudy,
    bits: &Bits,
    before: &Bits,
    parents: &[[u32; 2]],
    device: &[Device],
    [halves, prefill]: [usize; 2],
    watch: impl FnMut(Token<'_>),
) -> Walked {
    let rules = Rules {
        predictor: &study.predictor,
        remap: &study.remap,
        strategy: Strategy::Adjustment,
        exchange: study.exchange,
        missed: study.missed,
        dimms: 3,
        remaps: false,
        fetches: halves as f64 / 2.0,
        prefill,
        decode: bits.tokens() - prefill,
    };
    let (activity, before) = ([bits.clone()], [before.clone()]);
    let on_gpu: Vec<bool> = device.iter().map(|it| *it == 0).collect();
    let homes: Vec<Device> = device.iter().map(|it| (*it).max(1)).collect();
    Walk::new(rules, &activity, &before, Some(parents.to_vec()), &on_gpu, &homes).watched(&cost(), watch)
}

proptest! {
    /// 64 neurons at a time do what one at a time would.
    #[test]
    fn functional_a_walk_does_what_the_plain_words_say(
        rows in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.4), 100), 24),
        previous in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.3), 100), 24),
        parents in prop::collection::vec([0_u32..100, 0_u32..100], 100),
        device in prop::collection::vec(0_u16..4, 100),
        halves in 0_usize..24,
        late: bool,
    ) {
        let missed = if late { Missed::Late } else { Missed::Dropped };
        // As printed, so that the GPU reads all that it holds.
        let study = InferenceStudy { exchange: Exchange::Unchecked, missed, ..InferenceStudy::default() };
        let (bits, before) = (bits(&rows), bits(&previous));
        let walked = walk(&study, &bits, &before, &parents, &device, halves, 8);
        let (read, swapped, right) = plainly(&study, &bits, &before, &parents, &device, halves, 8);
        prop_assert_eq!(walked.swapped, swapped);
        prop_assert_eq!(walked.hits + walked.correct_rejections, right);
        let active: u64 = (8..24).map(|it| u64::from(bits.count(it))).sum();
        prop_assert_eq!(walked.hits + walked.misses, active);
        // Everything predicted is read once, and what was missed, if it is computed at all.
        let all = walked.hits + walked.false_alarms + if late { walked.misses } else { 0 };
        prop_assert_eq!(walked.gpu_neurons + walked.cold_neurons, all as f64);
        if !late {
            prop_assert_eq!(walked.gpu_neurons, read as f64);
        }
        // Until level, less is left to the GPU, and the block takes no longer.
        let level = InferenceStudy { exchange: Exchange::UntilLevel, ..study.clone() };
        let level = walk(&level, &bits, &before, &parents, &device, halves, 8);
        prop_assert!((level.gpu_neurons + level.cold_neurons - all as f64).abs() < 1e-6);
        prop_assert!(level.gpu_neurons <= walked.gpu_neurons + 1e-6);
        prop_assert!(level.time.0 <= walked.time.0 + 16, "{} {}", level.time.0, walked.time.0);
    }

    /// Who watches a walk sees each neuron's state, score, prediction and place.
    #[test]
    fn functional_a_watched_token_tells_of_each_neuron(
        rows in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.4), 70), 20),
        previous in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.3), 70), 20),
        parents in prop::collection::vec([0_u32..70, 0_u32..70], 70),
        device in prop::collection::vec(0_u16..4, 70),
    ) {
        let study = InferenceStudy::default();
        let (bits, before) = (bits(&rows), bits(&previous));
        let (mut states, mut hits, mut held) = (Vec::<u32>::new(), 0, Vec::new());
        let walked = walk_watched(&study, &bits, &before, &parents, &device, [8, 8], |it| {
            let all = it.neurons;
            held.push((0..70).filter(|neuron| all.is_on_gpu(*neuron)).count());
            for (neuron, parents) in parents.iter().enumerate() {
                let active = parents.iter().filter(|parent| before.get(8 + it.step, **parent as usize)).count();
                assert_eq!(all.score(neuron), all.state(neuron) + study.predictor.lambda.get() * u32::try_from(active).unwrap());
                assert_eq!(all.is_active(neuron), bits.get(8 + it.step, neuron));
                assert_eq!(all.is_predicted(neuron), all.score(neuron) >= study.predictor.threshold);
                assert_eq!(all.dimm(neuron), usize::from(device[neuron].max(1)));
                hits += u64::from(all.is_active(neuron) && all.is_predicted(neuron));
                if let Some(state) = states.get(neuron) {
                    assert_eq!(all.state(neuron), *state);
                }
            }
            let next = |neuron| if all.is_active(neuron) { (all.state(neuron) + study.predictor.increment.get()).min(15) } else { all.state(neuron).saturating_sub(1) };
            states = (0..70).map(next).collect();
        });
        prop_assert_eq!(hits, walked.hits);
        // What comes to the GPU drives another out.
        prop_assert!(held.iter().all(|it| *it == device.iter().filter(|it| **it == 0).count()));
    }

    /// Remapping moves work from full to empty DIMMs and loses no neuron.
    #[test]
    fn functional_remapping_levels_a_window_and_loses_nothing(
        rows in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.3), 128), 5),
        device in prop::collection::vec(0_u16..5, 128),
        greedy: bool,
        exact: bool,
    ) {
        let bits = bits(&rows);
        let mut gpu = vec![0_u64; 2];
        for (neuron, _) in device.iter().enumerate().filter(|it| *it.1 == 0) {
            gpu[neuron / 64] |= 1 << (neuron % 64);
        }
        let mut homes = Remapping::new(&device, 4, 2);
        let loads = |homes: &Remapping| -> Vec<u32> {
            (0..5).map(|it| homes.loads(bits.row(it), &gpu)).fold(vec![0; 4], |sum, it| sum.iter().zip(it).map(|(a, b)| a + b).collect())
        };
        let before = loads(&homes);
        for token in 0..5 {
            let loads = homes.loads(bits.row(token), &gpu);
            homes.see(bits.row(token), loads.into_iter().map(f64::from));
        }
        let rules = Remap {
            window: 5.try_into().unwrap(),
            pairing: if greedy { Pairing::Greedy } else { Pairing::Extremes },
            stop: if exact { Stop::Level } else { Stop::FivePercent },
        };
        let moves = homes.remap(&rules, &gpu);
        let after = loads(&homes);
        // Between the fullest and the emptiest nothing is left whose move would make them more alike.
        if exact && !greedy {
            let full = (0..4).min_by_key(|it| (Reverse(before[*it]), *it)).unwrap();
            let empty = (0..4).max_by_key(|it| (Reverse(before[*it]), *it)).unwrap();
            let gap = usize::try_from(after[full].saturating_sub(after[empty])).unwrap();
            let lies = |it: usize| device[it] != 0 && homes.homes()[full][it / 64] >> (it % 64) & 1 == 1;
            for neuron in (0..128).filter(|it| lies(*it)) {
                let active = rows.iter().filter(|it| it[neuron]).count();
                prop_assert!(active == 0 || active >= gap, "{active} of {neuron}, where {gap} are too many");
            }
        }
        prop_assert!((moves.total == 0) == (before == after), "{moves:?}: {before:?} {after:?}");
        prop_assert_eq!(before.iter().sum::<u32>(), after.iter().sum::<u32>());
        prop_assert!(after.iter().max() <= before.iter().max());
        prop_assert!(after.iter().min() >= before.iter().min());
    }
}

/// Sec. IV-C1's own example: neuron 6 goes from 7 to 11, neuron 5 from 10 to 9.
#[test]
fn published_states_of_fig_7() {
    use memscape_ndp::scheduler::planes::{add, get, saturate};
    let mut state = [0_u64; 4];
    add(&mut state, 1 << 6, 7);
    add(&mut state, 1 << 5, 10);
    saturate(&mut state, 1 << 6, 4);
    assert_eq!((get(&state, 6), get(&state, 5)), (11, 9));
}
