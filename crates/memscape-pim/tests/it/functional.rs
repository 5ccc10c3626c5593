//! Does a placed matrix compute? The command stream runs on real numbers and
//! must give the reference product; a wrong placement must not.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, MEMORIES};
use memscape_pim::Plan;
use memscape_pim::hardware::{CrossLane, DEFAULT_MACHINE, MACHINES, Machine, PimUnit};
use memscape_pim::mapping::execute::{Memory, Operands, Sums, execute, execute_with};
use memscape_pim::mapping::layout::{BankByte, Interleaving};
use memscape_pim::mapping::placement::{
    CrDegree, Placement, Policy, RegisterRule, TileOrder, TilePolicy, preferred_page_bytes, tile_order,
};
use memscape_pim::mapping::schedule::{Op, for_each};
use memscape_workload::{Format, Gemv};
use proptest::prelude::*;

fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

/// Small whole numbers: every sum is exact in any order.
struct Numbers {
    weights: Vec<f32>,
    inputs: Vec<f32>,
    weight_scales: Vec<i8>,
    input_scales: Vec<i8>,
}

impl Numbers {
    fn new(gemv: Gemv, format: Format, seed: u64) -> Self {
        let mut state = seed | 1;
        let mut next = |range: i8| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i8::try_from((state >> 33) % (2 * u64::from(range.unsigned_abs()) + 1)).unwrap() - range
        };
        let blocks = format.scale().map_or(0, |it| gemv.k() / it.elements());
        Self {
            weights: (0..gemv.m() * gemv.k()).map(|_| f32::from(next(7))).collect(),
            inputs: (0..gemv.k()).map(|_| f32::from(next(7))).collect(),
            weight_scales: (0..gemv.m() * blocks).map(|_| next(3)).collect(),
            input_scales: (0..blocks).map(|_| next(3)).collect(),
        }
    }

    fn operands(&self) -> Operands<'_> {
        Operands {
            weights: &self.weights,
            inputs: &self.inputs,
            weight_scales: &self.weight_scales,
            input_scales: &self.input_scales,
        }
    }

    fn reference(&self, gemv: Gemv, format: Format) -> Vec<f64> {
        let k = usize::try_from(gemv.k()).unwrap();
        let block = format.scale().map_or(k, |it| usize::try_from(it.elements()).unwrap());
        let scale = |scales: &[i8], index: usize| scales.get(index).map_or(1.0, |it| f64::from(*it).exp2());
        self.weights
            .chunks(k)
            .enumerate()
            .map(|(row, weights)| {
                (0..k)
                    .map(|j| {
                        let product = f64::from(weights[j]) * f64::from(self.inputs[j]);
                        let weight_scale = scale(&self.weight_scales, row * (k / block) + j / block);
                        product * weight_scale * scale(&self.input_scales, j / block)
                    })
                    .sum()
            })
            .collect()
    }
}

fn small_memory(channel_bits: u32, bank_bits: u32, row_bytes: u32) -> Dram {
    Dram {
        channels: count(1 << channel_bits),
        bank_groups: count(1),
        banks_per_channel: count(1 << bank_bits),
        row_bytes: count(row_bytes),
        ..*MEMORIES.get("lpddr5x-7500")
    }
}

fn pim(registers: u32, input_registers: u32, swap_commands: u32, cross_lane: CrossLane) -> PimUnit {
    PimUnit {
        registers: count(registers),
        input_registers: count(input_registers),
        swap_commands,
        cross_lane,
        ..MACHINES.get(DEFAULT_MACHINE).pim
    }
}

fn machine(memory: &Dram, pim: PimUnit, interleave_bytes: u64) -> Machine {
    let interleave_bytes = NonZeroU64::new(interleave_bytes).unwrap();
    Machine { memory: *memory, interleave_bytes, pim, ..*MACHINES.get(DEFAULT_MACHINE) }
}

const FORMATS: [&str; 10] = [
    "int4",
    "int8",
    "fp16",
    "bf16",
    "fp32",
    "mx-int8-b32",
    "mx-int4-b32",
    "mx-fp16-b64",
    "mx-int8-b256",
    "mx-int4-b16",
];
const PLACEMENTS: [Placement; 4] =
    [Placement::Pimnast, Placement::Pimnast, Placement::ColumnMajor, Placement::FixedTile];
const LANES: [CrossLane; 4] =
    [CrossLane::LaneShift, CrossLane::LaneShiftLast, CrossLane::AnyShift, CrossLane::Tree];

prop_compose! {
    fn any_plan()(
        memory in (0u32..2, 0u32..3, prop::sample::select(vec![512u32, 1024, 2048])),
        unit in (8u32..40, 1u32..16, 0u32..3, prop::sample::select(LANES.to_vec())),
        widths in (7u32..11, 4u32..6),
        placement in prop::sample::select(PLACEMENTS.to_vec()),
        format in prop::sample::select(FORMATS.to_vec()),
        policy in (0u32..2, 0u32..4, 1u32..3, prop::option::of(0u32..8)),
        shape in (1u64..150, 1u64..6),
        interleave in 6u32..9,
    ) -> Option<Plan> {
        let memory = small_memory(memory.0, memory.1, memory.2);
        let pim = PimUnit {
            register_bits: count(1 << widths.0),
            sum_bits: count(1 << widths.1),
            ..pim(unit.0, unit.1, unit.2, unit.3)
        };
        let format: Format = format.parse().unwrap();
        let ragged = format.scale().is_none() && placement != Placement::FixedTile;
        let gemv = Gemv::new(shape.0, shape.1 * if ragged { 26 } else { 256 }).unwrap();
        let (split, degree, fixed, height) = policy;
        let policy = Policy {
            placement,
            tile: height.map_or(TilePolicy::Auto, |it| TilePolicy::Fixed(count(1 << it))),
            cr_degree: match degree {
                0 => CrDegree::Fixed(count(fixed)),
                _ => CrDegree::Auto,
            },
            split_k: count(1 << split),
            register_rule: RegisterRule::Accumulators,
        };
        Plan::new(gemv, format, &machine(&memory, pim, 1 << interleave), &policy).ok()
    }
}

proptest! {
    // Many of the plans that are drawn cannot exist.
    #![proptest_config(ProptestConfig { cases: 150, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn the_stream_computes_the_reference(plan in any_plan(), seed in any::<u64>()) {
        prop_assume!(plan.is_some());
        let plan = plan.unwrap();
        let numbers = Numbers::new(plan.gemv, plan.format, seed);
        let memory = Memory::place(&plan, &numbers.operands()).unwrap();
        let sums = execute(&plan, &memory, &numbers.operands()).unwrap();
        prop_assert_eq!(sums, numbers.reference(plan.gemv, plan.format), "{:?}", plan);
    }

    #[test]
    fn placement_is_injective_and_inverts(plan in any_plan()) {
        prop_assume!(plan.is_some());
        let plan = plan.unwrap();
        let mut seen = std::collections::HashSet::new();
        let row_bytes = (plan.row_words + plan.scale_words) * plan.lanes * plan.format.element_bits() / 8;
        let map = Interleaving { unit_bytes: 256, banks: plan.banks * plan.split_k, row_bytes };
        for (i, j) in (0..plan.gemv.m()).flat_map(|i| (0..plan.gemv.k()).map(move |j| (i, j))) {
            let place = plan.place(i, j);
            prop_assert!(seen.insert(place));
            prop_assert_eq!(plan.element_at(place), Some((i, j)));
            // Through the virtual addresses of the rearranged buffer and back.
            let bit = plan.buffer_bit(i, j, &map);
            prop_assert_eq!(map.place(bit / 8).bank, place.bank);
            prop_assert_eq!(plan.element_at_bit(bit, &map), Some((i, j)));
            // A matrix row lies in one bank of each split-K part.
            prop_assert_eq!(place.bank, plan.place(i, j / plan.k() * plan.k()).bank);
        }
    }

    #[test]
    fn virtual_addresses_invert(
        unit_bits in 5u32..12, bank_bits in 0u32..9, units_per_row in 1u64..9, address in 0u64..1 << 40,
    ) {
        let unit_bytes = 1 << unit_bits;
        let map = Interleaving { unit_bytes, banks: 1 << bank_bits, row_bytes: unit_bytes * units_per_row };
        let place = map.place(address);
        prop_assert!(place.bank < map.banks && place.byte < map.row_bytes);
        prop_assert_eq!(map.address(place), address);
    }
}

/// What the paper does, and chooses by itself.
fn pimnast() -> Policy {
    Policy {
        placement: Placement::Pimnast,
        tile: TilePolicy::Auto,
        cr_degree: CrDegree::Auto,
        split_k: count(1),
        register_rule: RegisterRule::Accumulators,
    }
}

/// A DRAM row holds the scales of the weights that end in it, and no more: with a word less of them, they
/// would have no room.
#[test]
fn a_row_holds_the_scales_of_its_weights() {
    let mut machine = *MACHINES.get(DEFAULT_MACHINE);
    machine.pim.registers = count(64);
    let gemv = Gemv::new(4096, 4096).unwrap();
    let policy = pimnast();
    for format in ["mx-int8-b32", "mx-int4-b32", "mx-int4-b16-s16", "mx-fp16-b64"] {
        let plan = Plan::new(gemv, format.parse().unwrap(), &machine, &policy).unwrap();
        let word_bits = 8 * u64::from(machine.memory.column_bytes());
        let event = plan.words(plan.event_inputs.min(plan.burst_inputs));
        let takes = |words: u64| words.div_ceil(event) * plan.event_scale_bits();
        assert_eq!(plan.row_words + plan.scale_words, u64::from(machine.memory.columns_per_row()));
        assert!(takes(plan.row_words) <= plan.scale_words * word_bits, "{format}");
        assert!(takes(plan.row_words + 1) > (plan.scale_words - 1) * word_bits, "{format}");
    }
}

/// With one row-block per pass, the order of use is algorithm 2's: unit `i` of the
/// rearranged buffer is the `i`-th tile in CR order.
#[test]
fn at_degree_one_the_buffer_holds_tiles_in_cr_order() {
    let memory = small_memory(1, 1, 2048);
    let policy = Policy {
        placement: Placement::Pimnast,
        tile: TilePolicy::Fixed(count(8)),
        cr_degree: CrDegree::Fixed(count(1)),
        split_k: count(1),
        register_rule: RegisterRule::Accumulators,
    };
    let machine = machine(&memory, pim(16, 8, 1, CrossLane::LaneShift), 256);
    let plan = Plan::new(Gemv::new(96, 256).unwrap(), Format::INT8, &machine, &policy).unwrap();
    let map = Interleaving { unit_bytes: 256, banks: 4, row_bytes: 2048 };
    let (rows, columns) = (96 / plan.tile.m, 256 / plan.tile.k);
    let order = tile_order(rows, columns, plan.banks, TileOrder::ColumnRow { degree: 1 });
    for (unit, tile) in (0..).zip(order) {
        let first = (tile.row * plan.tile.m, tile.column * plan.tile.k);
        assert_eq!(plan.element_at_bit(unit * 256 * 8, &map), Some(first));
    }
}

#[test]
fn one_page_holds_the_same_row_of_every_bank() {
    let map = Interleaving { unit_bytes: 256, banks: 128, row_bytes: 2048 };
    let page = preferred_page_bytes(8, 16, 2048);
    assert!((0..page).all(|it| map.place(it).row == 0));
    assert_eq!(map.place(page), BankByte { bank: 0, row: 1, byte: 0 });
}

fn toy() -> (Plan, Numbers) {
    let memory = small_memory(0, 1, 2048);
    let policy = Policy {
        placement: Placement::Pimnast,
        tile: TilePolicy::Auto,
        cr_degree: CrDegree::Fixed(count(2)),
        split_k: count(1),
        register_rule: RegisterRule::Accumulators,
    };
    let gemv = Gemv::new(64, 256).unwrap();
    let plan = Plan::new(
        gemv,
        Format::INT8,
        &machine(&memory, pim(16, 2, 1, CrossLane::LaneShift), 256),
        &Policy { tile: TilePolicy::Fixed(count(8)), ..policy },
    )
    .unwrap();
    let numbers = Numbers::new(gemv, Format::INT8, 7);
    (plan, numbers)
}

#[test]
fn a_wrong_order_gives_a_wrong_vector() {
    let (plan, numbers) = toy();
    let reference = numbers.reference(plan.gemv, plan.format);
    // The row-blocks of a pass one after the other, not burst by burst.
    let wrong = Plan { cr_degree: 1, ..plan };
    let memory = Memory::place(&wrong, &numbers.operands()).unwrap();
    assert_ne!(execute(&plan, &memory, &numbers.operands()).unwrap(), reference);

    let mut memory = Memory::place(&plan, &numbers.operands()).unwrap();
    assert_eq!(execute(&plan, &memory, &numbers.operands()).unwrap(), reference);
    memory.exchange_words(1, (0, 3), (0, 4));
    assert_ne!(execute(&plan, &memory, &numbers.operands()).unwrap(), reference);
}

/// Later passes of a chunk multiply with what the first has written.
#[test]
fn inputs_stay_in_their_registers_for_all_passes_of_a_chunk() {
    let memory = small_memory(0, 1, 2048);
    for (placement, format, split_k) in [
        (Placement::FixedTile, "int8", 1),
        (Placement::Pimnast, "int8", 1),
        (Placement::Pimnast, "mx-int8-b32", 1),
    ] {
        let policy = Policy {
            placement,
            tile: TilePolicy::Fixed(count(2)),
            cr_degree: CrDegree::Fixed(count(2)),
            split_k: count(split_k),
            register_rule: RegisterRule::Accumulators,
        };
        let format: Format = format.parse().unwrap();
        let gemv = Gemv::new(40, if placement == Placement::FixedTile { 256 } else { 128 }).unwrap();
        let machine = machine(&memory, pim(24, 8, 1, CrossLane::LaneShift), 256);
        let plan = Plan::new(gemv, format, &machine, &policy).unwrap();
        assert!(plan.keeps_inputs() && plan.passes() > 2, "{plan:?}");
        let (mut inputs, mut scales) = (0, 0);
        for_each(&plan, |op| {
            match op {
                Op::WriteInputs { count, .. } => inputs += count,
                Op::WriteInputScales => scales += 1,
                _ => {}
            }
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!((inputs, scales), (gemv.k(), if plan.has_scales() { plan.chunks } else { 0 }));
        let numbers = Numbers::new(gemv, format, 7);
        let memory = Memory::place(&plan, &numbers.operands()).unwrap();
        let sums = execute(&plan, &memory, &numbers.operands()).unwrap();
        assert_eq!(sums, numbers.reference(gemv, format));
    }
}

#[test]
fn operands_of_the_wrong_length_are_refused() {
    let (plan, numbers) = toy();
    let operands = Operands { inputs: &numbers.inputs[1..], ..numbers.operands() };
    let error = Memory::place(&plan, &operands).unwrap_err();
    assert_eq!(error.to_string(), "`inputs` has 255 numbers, but the matrix needs 256");
}

/// A sum of 16 bit ends at 32767: a row of 256 products of 7 x 7 stays, one of
/// 127 x 127 does not.
#[test]
fn sums_have_the_width_of_their_registers() {
    let (plan, _) = toy();
    let compute = |weight: f32, input: f32, sums| {
        let (weights, inputs) = (vec![weight; 64 * 256], vec![input; 256]);
        let operands = Operands { weights: &weights, inputs: &inputs, weight_scales: &[], input_scales: &[] };
        execute_with(&plan, &Memory::place(&plan, &operands).unwrap(), &operands, sums).unwrap()
    };
    let small = compute(7.0, 7.0, Sums::Registers);
    assert_eq!((small.sums[0], small.overflows), (7.0 * 7.0 * 256.0, 0));
    assert_eq!(compute(127.0, 127.0, Sums::Exact).sums[..1], [127.0 * 127.0 * 256.0]);
    let large = compute(127.0, 127.0, Sums::Registers);
    let wrapped = (127_i64 * 127 * 256 + 32_768).rem_euclid(65_536) - 32_768;
    #[expect(clippy::cast_precision_loss, reason = "16 bit")]
    let expected = wrapped as f64;
    assert_eq!(large.sums[..1], [expected]);
    assert!(large.overflows > 0);
}

#[test]
fn baselines_refuse_what_they_do_not_know() {
    let machine = *MACHINES.get(DEFAULT_MACHINE);
    let refused = |format: &str, change: fn(&mut Policy)| {
        let mut policy = Policy {
            placement: Placement::ColumnMajor,
            tile: TilePolicy::Auto,
            cr_degree: CrDegree::Auto,
            split_k: count(1),
            register_rule: RegisterRule::Accumulators,
        };
        change(&mut policy);
        let gemv = Gemv::new(768, 768).unwrap();
        Plan::new(gemv, format.parse().unwrap(), &machine, &policy).unwrap_err().to_string()
    };
    assert_eq!(
        refused("mx-int8-b32", |_| {}),
        r#"`placement = "column-major"` has no place for scale factors; use a format without blocks"#
    );
    assert_eq!(
        refused("int8", |it| it.tile = TilePolicy::Fixed(count(16))),
        "`tile` is 16, and a tile of that many rows does not exist; allowed are powers of two from 32 to 256"
    );
    assert_eq!(
        refused("int8", |it| it.cr_degree = CrDegree::Fixed(count(2))),
        r#"`placement = "column-major"` has no CR degree; use `cr_degree = 1`"#
    );
}

#[test]
fn input_registers_are_honoured_or_refused() {
    let mut machine = *MACHINES.get(DEFAULT_MACHINE);
    let policy = pimnast();
    let gemv = Gemv::new(16_384, 4096).unwrap();
    let mut plan = |registers: u32| {
        machine.pim.input_registers = count(registers);
        Plan::new(gemv, Format::INT8, &machine, &policy)
    };
    // The tile gives way: eight registers of sums, then two.
    assert_eq!(plan(8).map(|it| (it.tile.m, it.input_registers)), Ok((128, 8)));
    assert_eq!(plan(14).map(|it| (it.tile.m, it.input_registers)), Ok((32, 14)));
    assert_eq!(
        plan(15).unwrap_err().to_string(),
        "a tile of 1 row needs 2 registers for its sums and scales beside 15 for inputs, but the unit has 16; use 1 to 14 `pim.input_registers`, more registers, wider elements or narrower sums"
    );
    // Half a byte and its scales: 64 sums in four registers, twice, and two of scales.
    let tile = |placement, tile| {
        let policy = Policy { placement, tile, ..policy };
        Plan::new(gemv, Format::Q4_0, MACHINES.get(DEFAULT_MACHINE), &policy).unwrap_err().to_string()
    };
    let said = tile(Placement::Pimnast, TilePolicy::Auto);
    assert!(said.starts_with("a tile of 1 row needs 10 registers"), "{said}");
    assert!(
        said.ends_with("use 1 to 6 `pim.input_registers`, more registers, wider elements or narrower sums"),
        "{said}"
    );
    // A tile of 128 rows is of 8 registers, which one of 64 has no need of.
    let tall = Policy { tile: TilePolicy::Fixed(count(128)), ..policy };
    machine.pim.input_registers = count(10);
    let said = Plan::new(gemv, Format::INT8, &machine, &tall).unwrap_err().to_string();
    assert!(
        said.ends_with(
            "use 1 to 8 `pim.input_registers`, more registers, a lower tile, wider elements or narrower sums"
        ),
        "{said}"
    );
}
