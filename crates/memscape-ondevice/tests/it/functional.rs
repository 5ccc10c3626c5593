//! Does a placed matrix compute, and does a copy bring it back?

use std::collections::BTreeSet;

use memscape_dram::{AddressMap, Dims, Field, Place};
use memscape_ondevice::hardware::{BitMap, BitMapError, BurstMap, PimBlocks};
use memscape_ondevice::mapping::layout::{HostOrder, Layout, LayoutError, Placement, Slot};
use memscape_ondevice::mapping::machine::execute;
use memscape_ondevice::{MapText, Swizzle, SwizzleError};
use memscape_workload::{Element, Gemv};
use proptest::prelude::*;

use crate::count;

fn index(value: u64) -> usize {
    usize::try_from(value).unwrap()
}

/// Small random numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// An invertible matrix of `bits` rows: a permutation, then random additions of one
/// row to another, each of which can be undone.
fn invertible(bits: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut rows: Vec<_> = (0..bits).map(|it| 1_u64 << it).collect();
    for it in (1..bits).rev() {
        rows.swap(it, index(random.below(it as u64 + 1)));
    }
    for _ in 0..3 * bits {
        let [a, b] = [0; 2].map(|_: u8| index(random.below(bits as u64)));
        if a != b {
            rows[a] ^= rows[b];
        }
    }
    rows
}

/// A small memory under a random map.
#[derive(Debug, Clone)]
struct Memory {
    dims: Dims,
    map: BurstMap,
}

fn memory() -> impl Strategy<Value = Memory> {
    let bits = (0_u32..3, 0_u32..2, 0_u32..3, 6_u32..8, 0_u32..4, any::<u64>());
    let by_bits = bits.prop_map(|(channels, ranks, banks, rows, columns, seed)| {
        let dims = Dims {
            channels: 1 << channels,
            ranks: 1 << ranks,
            bank_groups: 1,
            banks: 1 << banks,
            rows: 1 << rows,
            columns: 1 << columns,
        };
        let all = channels + ranks + banks + rows + columns;
        let map = BitMap::new(dims, &invertible(all as usize, seed)).unwrap();
        Memory { dims, map: BurstMap::Bits(map) }
    });
    let digits = (1_u64..4, 1_u64..3, 0_u32..3, 60_u64..90, 1_u64..6);
    let by_digits = (digits, Just(Field::ALL).prop_shuffle()).prop_map(|(sizes, order)| {
        let (channels, ranks, banks, rows, columns) = sizes;
        let dims = Dims { channels, ranks, bank_groups: 1, banks: 1 << banks, rows, columns };
        Memory { dims, map: BurstMap::Digits(AddressMap::of(dims, &order).unwrap()) }
    });
    prop_oneof![by_bits, by_digits]
}

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![Just(Placement::ColumnBursts), Just(Placement::RowBursts)]
}

/// A matrix that fits, in a memory under a random map.
#[derive(Debug, Clone)]
struct Case {
    map: BurstMap,
    layout: Layout,
    order: HostOrder,
}

fn case(elements: &'static [Element]) -> impl Strategy<Value = Case> {
    let pim = (1_u32..5, 1_u32..9, 0_u32..3);
    let burst_bits = prop::sample::select(vec![128_u64, 256]);
    let element = prop::sample::select(elements);
    let order = prop_oneof![Just(HostOrder::ColumnMajor), Just(HostOrder::RowMajor)];
    (memory(), pim, burst_bits, element, placement(), order, (1_u64..90, 1_u64..50, 0_u64..5))
        .prop_filter_map(
            "the matrix must fit",
            |(
                memory,
                (input, output, shared),
                burst_bits,
                element,
                placement,
                order,
                (rows, columns, first_row),
            )| {
                let shared = (1 << shared).min(u32::try_from(memory.dims.banks).unwrap());
                let pim = PimBlocks {
                    input_registers: count(input),
                    output_registers: count(output),
                    banks_per_block: count(shared),
                };
                let gemv = Gemv::new(rows, columns).unwrap();
                let layout =
                    Layout::on(memory.dims, burst_bits, gemv, element, placement, &pim, first_row).ok()?;
                Some(Case { map: memory.map, layout, order })
            },
        )
}

/// Random bytes that are small numbers in every element.
fn numbers(element: Element, count: u64, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let values: Vec<f32> =
        (0..count).map(|_| f32::from(u8::try_from(random.below(15)).unwrap()) - 7.0).collect();
    element.encode(&values).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn maps_are_bijections(memory in memory()) {
        let dims = memory.dims;
        let bursts = dims.channels * dims.ranks * dims.banks * dims.rows * dims.columns;
        for burst in 0..bursts {
            let place = memory.map.decode(burst).unwrap();
            prop_assert!(dims.contains(&place));
            prop_assert_eq!(memory.map.encode(&place), Some(burst));
        }
        prop_assert_eq!(memory.map.decode(bursts), None);
        let beyond = Place { row: dims.rows, ..Place::default() };
        prop_assert_eq!(memory.map.encode(&beyond), None);
    }

    #[test]
    fn every_element_has_a_place_of_its_own_and_a_row_one_unit(case in case(&[Element::Int4, Element::Bf16])) {
        let layout = case.layout;
        let mut seen = BTreeSet::new();
        for row in 0..layout.rows {
            let mut units = BTreeSet::new();
            for column in 0..layout.columns {
                let (line, burst, _) = layout.find(row, column);
                units.insert(layout.slot(line, burst).unit);
                let (place, lane) = layout.element_place(row, column);
                prop_assert!(layout.dims.contains(&place) && lane < layout.lanes);
                prop_assert!((layout.first_row..layout.end_row()).contains(&place.row));
                prop_assert!(seen.insert(layout.element_bit(&case.map, row, column)));
            }
            prop_assert_eq!(units.len(), 1);
        }
        // A unit is made of banks of its own.
        let banks = |unit| -> BTreeSet<_> {
            (0..layout.slots()).map(|slot| layout.place(Slot { unit, slot })).map(|it| (it.channel, it.rank, it.bank)).collect()
        };
        let all: usize = (0..layout.units).map(|it| banks(it).len()).sum();
        let distinct: BTreeSet<_> = (0..layout.units).flat_map(banks).collect();
        prop_assert_eq!(all, distinct.len());
    }

    #[test]
    fn any_partition_of_a_copy_brings_back_every_bit(
        case in case(&[Element::Int8, Element::Fp16, Element::Bf16, Element::Fp32]),
        cuts in prop::collection::vec(any::<u64>(), 0..6),
        seed in any::<u64>(),
    ) {
        let swizzle = Swizzle::new(case.layout, &case.map, case.order).unwrap();
        let size = index(case.layout.element.bits() / 8);
        let host: Vec<u8> = (0..swizzle.host_bytes()).scan(Random(seed), |it, _| u8::try_from(it.below(256)).ok()).collect();
        let mut image = vec![0xa5; swizzle.image_bytes()];
        swizzle.convert(&host, &mut image).unwrap();

        let all = swizzle.elements();
        let mut cuts: Vec<_> = cuts.into_iter().map(|it| it % (all + 1)).chain([0, all]).collect();
        cuts.sort_unstable();
        let mut back = vec![0; host.len()];
        std::thread::scope(|scope| {
            let mut rest = &mut back[..];
            for range in cuts.windows(2).map(|it| it[0]..it[1]) {
                let (part, others) = rest.split_at_mut(index(range.end - range.start) * size);
                rest = others;
                let (swizzle, image) = (&swizzle, &image);
                scope.spawn(move || swizzle.copy(image, range, part).unwrap());
            }
        });
        prop_assert_eq!(&back, &host);

        // Each byte is where the layout says.
        for at in 0..all {
            let (row, column) = case.order.element(case.layout.rows, case.layout.columns, at);
            let byte = index(case.layout.element_bit(&case.map, row, column) / 8);
            prop_assert_eq!(&image[byte..][..size], &host[index(at) * size..][..size]);
        }
    }

    #[test]
    fn the_command_stream_computes_the_product(
        case in case(&[Element::Int8, Element::Fp16, Element::Bf16, Element::Fp32]),
        seed in any::<u64>(),
    ) {
        let layout = case.layout;
        let swizzle = Swizzle::new(layout, &case.map, case.order).unwrap();
        let host = numbers(layout.element, swizzle.elements(), seed);
        let mut image = vec![0; swizzle.image_bytes()];
        swizzle.convert(&host, &mut image).unwrap();
        // Units beyond the matrix read what is there; memory must be there to read.
        let end = (0..layout.units)
            .flat_map(|unit| (0..layout.slots()).map(move |slot| Slot { unit, slot }))
            .map(|it| case.map.encode(&layout.place(it)).unwrap())
            .max();
        image.resize(image.len().max(index((end.unwrap() + 1) * layout.burst_bytes())), 0);

        let inputs = Element::Bf16.decode(&numbers(Element::Bf16, layout.columns, !seed), index(layout.columns)).unwrap();
        let weights = layout.element.decode(&host, index(swizzle.elements())).unwrap();
        let expected: Vec<f64> = (0..layout.rows)
            .map(|row| {
                (0..layout.columns)
                    .map(|column| {
                        let at = case.order.index(layout.rows, layout.columns, row, column);
                        f64::from(weights[index(at)]) * f64::from(inputs[index(column)])
                    })
                    .sum()
            })
            .collect();
        // Small whole numbers: exact in any order.
        prop_assert_eq!(execute(&layout, &case.map, &image, &inputs).unwrap(), expected);
    }
}

/// The paper's phone: whole columns of several matrices, the fast way.
#[test]
fn matrices_of_the_phone_come_back() {
    let study = memscape_ondevice::LayoutStudy::default();
    for (rows, columns) in [(512, 64), (2048, 37), (1000, 20), (1024, 3), (16, 9)] {
        let gemv = Gemv::new(rows, columns).unwrap();
        let layout =
            Layout::new(gemv, Element::Bf16, Placement::ColumnBursts, &study.memory, &study.pim, 3).unwrap();
        for text in [
            "column:2 channel:* column:* bank:* rank:* row:* bank0^row0 bank1^row1",
            "bank column channel rank row",
        ] {
            let map = text.parse::<MapText>().unwrap().map(layout.dims).unwrap();
            let swizzle = Swizzle::new(layout, &map, HostOrder::ColumnMajor).unwrap();
            let mut random = Random(rows);
            let host: Vec<u8> =
                (0..swizzle.host_bytes()).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
            let mut image = vec![0; swizzle.image_bytes()];
            swizzle.convert(&host, &mut image).unwrap();
            let mut back = vec![0; host.len()];
            swizzle.copy(&image, 0..swizzle.elements(), &mut back).unwrap();
            assert_eq!(back, host, "{rows} x {columns}, {text}");
            let third = swizzle.elements() / 3;
            let (a, b) = back.split_at_mut(2 * index(third));
            a.fill(0);
            b.fill(0);
            swizzle.copy(&image, 0..third, a).unwrap();
            swizzle.copy(&image, third..swizzle.elements(), b).unwrap();
            assert_eq!(back, host, "{rows} x {columns} in parts, {text}");
        }
    }
}

/// A copy with a wrong map must not come back: the test above can fail.
#[test]
fn a_wrong_map_does_not_bring_it_back() {
    let dims = Dims { channels: 2, banks: 4, rows: 64, columns: 8, ..Dims::ONE };
    let pim = PimBlocks { input_registers: count(2), output_registers: count(2), banks_per_block: count(1) };
    let gemv = Gemv::new(64, 40).unwrap();
    let layout = Layout::on(dims, 256, gemv, Element::Bf16, Placement::ColumnBursts, &pim, 0).unwrap();
    let map = |text: &str| text.parse::<MapText>().unwrap().map(dims).unwrap();
    let right =
        Swizzle::new(layout, &map("column:1 channel:* bank:* column:* row:*"), HostOrder::ColumnMajor)
            .unwrap();
    let wrong =
        Swizzle::new(layout, &map("channel:* column:1 bank:* column:* row:*"), HostOrder::ColumnMajor)
            .unwrap();
    let host: Vec<u8> = (0..right.host_bytes()).map(|it| u8::try_from(it % 251).unwrap()).collect();
    let mut image = vec![0; right.image_bytes().max(wrong.image_bytes())];
    right.convert(&host, &mut image).unwrap();
    let mut back = vec![0; host.len()];
    wrong.copy(&image, 0..wrong.elements(), &mut back).unwrap();
    assert_ne!(back, host);
}

/// Fig. 3: one channel, one rank, four banks, one row of three columns; a matrix of
/// four lines of three bursts. What the host sees at consecutive addresses, in the
/// PIM-aware layout.
#[test]
fn the_toy_of_fig_3_places_whole_rows_per_bank() {
    let dims = Dims { banks: 4, columns: 3, ..Dims::ONE };
    let pim = PimBlocks { input_registers: count(1), output_registers: count(1), banks_per_block: count(1) };
    let gemv = Gemv::new(64, 3).unwrap();
    let layout = Layout::on(dims, 256, gemv, Element::Bf16, Placement::ColumnBursts, &pim, 0).unwrap();
    assert_eq!((layout.lines(), layout.line_bursts(), layout.units), (4, 3, 4));
    for line in 0..4 {
        for burst in 0..3 {
            let place = layout.place(layout.slot(line, burst));
            assert_eq!(place, Place { bank: line, column: burst, ..Place::default() });
        }
    }
    // With the column as the lowest digit, two bursts keep their addresses; with the bank, all do.
    let kept = |order: &str| {
        let map = order.parse::<MapText>().unwrap().map(dims).unwrap();
        let at = |it: u64| (it % 4, it / 4);
        (0..12).filter(|it| map.encode(&layout.place(layout.slot(at(*it).0, at(*it).1))) == Some(*it)).count()
    };
    assert_eq!((kept("column bank channel rank row"), kept("bank column channel rank row")), (2, 12));
}

#[test]
fn bad_input_is_told_what_to_change() {
    let dims = Dims { banks: 4, rows: 4, columns: 4, ..Dims::ONE };
    let error = |text: &str| match text.parse::<MapText>() {
        Ok(map) => map.map(dims).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error("column:* bank:* row:* bank0^bank1 bank1^bank0"),
        "the map is not invertible: the rows of bank bit 0, bank bit 1 add up to 0; change one of them"
    );
    assert_eq!(
        error("column:3 bank:* row:*"),
        "the address map gives `column` 3 bits, but the memory has 2; change the slices, or let the last one be `column:*`"
    );
    assert_eq!(
        error("column:* bank:* row:* bank0^row7"),
        "the address map hashes `row7`, but the memory has 2 bits of it"
    );
    assert!(error("kolumn:* bank:*").starts_with("`kolumn:*` of the address map is not understood"));
    assert!(error("bank bank channel rank row").contains("`column` is missing"));
    assert!(error("").contains("not understood"));
    let zero = Dims { rows: 0, ..dims };
    assert!(matches!(BitMap::new(zero, &[]).unwrap_err(), BitMapError::Dims(_)));
    let map = |rows: &[u64]| BitMap::new(dims, rows).unwrap_err().to_string();
    assert!(map(&[1]).starts_with("the map has 1 coordinate bits, but the memory has 6"));
    assert_eq!(
        map(&[1, 2, 4, 8, 16, 1 << 40]),
        "row bit 1 depends on address bit 40, but burst numbers have 6 bits"
    );
    assert_eq!(
        map(&[1, 2, 0, 8, 16, 32]),
        "the map is not invertible: bank bit 0 is always 0; change one of them"
    );

    let pim = PimBlocks { input_registers: count(1), output_registers: count(1), banks_per_block: count(1) };
    let gemv = Gemv::new(1000, 100).unwrap();
    let layout =
        |pim: &PimBlocks| Layout::on(dims, 256, gemv, Element::Bf16, Placement::ColumnBursts, pim, 0);
    assert_eq!(
        layout(&pim).unwrap_err().to_string(),
        "a matrix of 1000 x 100 bf16 elements needs DRAM rows 0 to 399 of every bank, but a bank has 4; use more \
         channels, banks or rows, or a narrower format"
    );
    let three = PimBlocks { banks_per_block: count(3), ..pim };
    assert!(matches!(layout(&three), Err(LayoutError::Banks { given: 3, banks: 4 })));

    let small =
        Layout::on(dims, 256, Gemv::new(16, 2).unwrap(), Element::Bf16, Placement::ColumnBursts, &pim, 0)
            .unwrap();
    let map = "column:* bank:* row:*".parse::<MapText>().unwrap().map(dims).unwrap();
    let swizzle = Swizzle::new(small, &map, HostOrder::ColumnMajor).unwrap();
    let image = vec![0; swizzle.image_bytes()];
    assert_eq!(
        swizzle.copy(&image, 0..33, &mut []).unwrap_err().to_string(),
        "elements 0 to 33 were asked for, but the matrix has 32"
    );
    assert_eq!(
        swizzle.copy(&image, 0..32, &mut [0; 8]).unwrap_err().to_string(),
        "the host buffer has 8 bytes, but 64 are needed"
    );
    assert!(
        swizzle.copy(&[], 0..32, &mut [0; 64]).unwrap_err().to_string().starts_with("the image has 0 bytes")
    );
    let nibbles = Layout { element: Element::Int4, lanes: 64, ..small };
    assert_eq!(
        Swizzle::new(nibbles, &map, HostOrder::ColumnMajor).unwrap_err(),
        SwizzleError::Element(Element::Int4)
    );
}
