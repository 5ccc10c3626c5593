//! Do the DMA chains bring every element to its place, with what buffer
//! descriptors can hold?

use std::num::NonZeroU8;

use memscape_npu::mapping::chain::{ChainError, Chains, PaddedSize, Transfer, blocked_index};
use memscape_npu::mapping::design::BLayout;
use memscape_npu::mapping::dma::{AddressProblem, Direction, DmaTile, Pattern};
use memscape_npu::{DEVICES, Device, Mmul, Precision, Tile};
use proptest::prelude::*;

fn count(value: u32) -> NonZeroU8 {
    NonZeroU8::new(u8::try_from(value).unwrap()).unwrap()
}

/// A design of any block and tile, and a GEMM of a few native sizes.
#[derive(Debug, Clone)]
struct Case {
    device: Device,
    precision: Precision,
    block: [u32; 3],
    tile: Tile,
    k_mt: u32,
    b_layout: BLayout,
    size: [u64; 3],
}

impl Case {
    fn chains(&self) -> Chains {
        Chains::new(&self.device, self.precision, self.tile, self.k_mt, self.b_layout).unwrap()
    }

    fn blocks(&self) -> [u64; 3] {
        self.block.map(u64::from)
    }

    /// As the paper has it: whole words in the shortest runs.
    fn whole_words(&self) -> bool {
        let (input, output) = (self.precision.input_bytes(), self.precision.output_bytes());
        let [_, s, t] = self.block;
        let b = if self.b_layout == BLayout::RowMajor { t * input } else { s * input };
        [s * input, b, t * output].iter().all(|it| it.is_multiple_of(4))
    }
}

prop_compose! {
    /// At least two blocks in each direction of a tile, and two rows in a block if runs
    /// may be short: else a pattern is one contiguous run, whose parts may have any length.
    fn any_case(shortest: u32)(
        cores in [1u32..4, 1u32..4],
        precision in prop::sample::select(Precision::ALL.to_vec()),
        block in [(if shortest < 4 { 2u32 } else { 1 })..9, shortest..9, shortest..9],
        tile in [2u32..5, 2u32..5, 2u32..5],
        steps in 1u32..4,
        b_layout in prop::sample::select(vec![BLayout::ColumnMajor, BLayout::RowMajor]),
        size in [1u64..3, 1u64..4, 1u64..3],
    ) -> Case {
        // Blocks of whole words, unless shorter ones are asked for.
        let [r, s, t] = if shortest < 4 { block } else { [block[0], block[1] / 4 * 4, block[2] / 4 * 4] };
        let mmul = Mmul {
            r: count(r), s: count(s), t: count(t),
            block_rows: count(1), block_columns: count(1), conversions: 0,
        };
        let device = Device {
            rows: count(cores[0]), columns: count(cores[1]), int8: Some(mmul), bf16: Some(mmul),
            ..*DEVICES.get("xdna")
        };
        let tile = Tile { m: r * tile[0], k: s * tile[1], n: t * tile[2] };
        let k_mt = tile.k * steps;
        let native = [tile.m * cores[0], k_mt, tile.n * cores[1]];
        let size = std::array::from_fn(|it| u64::from(native[it]) * size[it]);
        Case { device, precision, block: [r, s, t], tile, k_mt, b_layout, size }
    }
}

/// Whether the addresses are `0..length`, each once, in whatever order.
fn is_bijection(addresses: impl Iterator<Item = u64>, length: u64) -> bool {
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort_unstable();
    addresses.into_iter().eq(0..length)
}

/// All transfers of all chains of a GEMM.
fn all_transfers(case: &Case, chains: &Chains, size: PaddedSize) -> Vec<Transfer> {
    let row_blocks = case.size[0] / u64::from(case.tile.m);
    let column_blocks = case.size[2] / u64::from(case.tile.n);
    let loads = (0..row_blocks).map(|it| chains.a(size, it));
    let loads = loads.chain((0..column_blocks).map(|it| chains.b(size, it)));
    let blocks = row_blocks / u64::from(case.device.rows.get());
    let stores = (0..blocks).flat_map(|row| (0..column_blocks).map(move |it| chains.c(size, row, it)));
    let mut all: Vec<_> =
        loads.flat_map(|it| it.transfers().into_iter().cloned().collect::<Vec<_>>()).collect();
    all.extend(stores.flat_map(|it| it.transfers().into_iter().cloned().collect::<Vec<_>>()));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_pattern_is_a_bijection_on_its_buffer(case in any_case(4)) {
        let chains = case.chains();
        let size = chains.pad(case.size).unwrap();
        let all = all_transfers(&case, &chains, size);
        // Buffers in L1 and L2: one pattern each, but for C, whose rows share one.
        for transfer in all.iter().filter(|it| it.channel.tile != DmaTile::Interface) {
            let (pattern, length) = (&transfer.pattern, transfer.pattern.length());
            let shifted = pattern.addresses().map(|it| it.checked_sub(pattern.base).unwrap());
            prop_assert!(is_bijection(shifted, length), "{:?}", transfer);
        }
        let c = chains.c(size, 0, 0);
        let column = c.memory_in.iter().flat_map(|it| it.pattern.addresses());
        prop_assert!(is_bijection(column, c.memory_out.pattern.length()));
        // DRAM: all chains of a matrix together.
        let [m, k, n] = case.size;
        for (operand, length) in [("A", m * k), ("B", k * n), ("C", m * n)] {
            let of = |it: &&Transfer| it.channel.tile == DmaTile::Interface && it.operand.to_string() == operand;
            let addresses = all.iter().filter(of).flat_map(|it| it.pattern.addresses());
            prop_assert!(is_bijection(addresses, length), "{}", operand);
        }
    }

    #[test]
    fn chains_compose_to_the_closed_form(case in any_case(4)) {
        let chains = case.chains();
        let size = chains.pad(case.size).unwrap();
        let [m, k, n] = case.size;
        let (tile_m, tile_k, tile_n) = (u64::from(case.tile.m), u64::from(case.tile.k), u64::from(case.tile.n));
        let [r, s, t] = case.blocks();
        let dram: Vec<u64> = (0..(m * k).max(k * n)).collect();

        for block in 0..m / tile_m {
            let l1 = chains.a(size, block).run(&dram);
            for (i, l) in (0..tile_m).flat_map(|i| (0..k).map(move |l| (i, l))) {
                let at = l / tile_k * tile_m * tile_k + blocked_index(i, l % tile_k, tile_k, [r, s]);
                prop_assert_eq!(l1[usize::try_from(at).unwrap()], (block * tile_m + i) * k + l);
            }
        }
        for block in 0..n / tile_n {
            let l1 = chains.b(size, block).run(&dram);
            for (l, j) in (0..k).flat_map(|l| (0..tile_n).map(move |j| (l, j))) {
                let (column, in_tile) = (block * tile_n + j, l % tile_k);
                let (at, from) = match case.b_layout {
                    BLayout::ColumnMajor => (blocked_index(j, in_tile, tile_k, [t, s]), column * k + l),
                    BLayout::RowMajor => (blocked_index(in_tile, j, tile_n, [s, t]), l * n + column),
                };
                let at = l / tile_k * tile_k * tile_n + at;
                prop_assert_eq!(l1[usize::try_from(at).unwrap()], from);
            }
        }
        // Each core writes where its elements belong: C comes out in order.
        let mut c = vec![u64::MAX; usize::try_from(m * n).unwrap()];
        let rows = u64::from(case.device.rows.get());
        for (block, column) in (0..m / tile_m / rows).flat_map(|i| (0..n / tile_n).map(move |j| (i, j))) {
            let tiles: Vec<_> = (0..rows)
                .map(|row| {
                    let mut tile = vec![0; usize::try_from(tile_m * tile_n).unwrap()];
                    for (i, j) in (0..tile_m).flat_map(|i| (0..tile_n).map(move |j| (i, j))) {
                        let at = usize::try_from(blocked_index(i, j, tile_n, [r, t])).unwrap();
                        tile[at] = ((block * rows + row) * tile_m + i) * n + column * tile_n + j;
                    }
                    tile
                })
                .collect();
            chains.c(size, block, column).run(&tiles, &mut c);
        }
        prop_assert!(c.into_iter().eq(0..m * n));
    }

    #[test]
    fn addresses_are_whole_words_or_refused(case in any_case(1)) {
        let chains = case.chains();
        let padded = chains.pad(case.size);
        prop_assert_eq!(padded.is_ok(), case.whole_words(), "{:?}", padded);
        match padded {
            Err(ChainError::Address { problem: AddressProblem::Granularity { .. }, .. }) => {}
            Err(other) => prop_assert!(false, "{}", other),
            Ok(size) => for transfer in all_transfers(&case, &chains, size) {
                prop_assert!(transfer.check().is_ok());
                // In the stream, the bytes of a word come from one word, in order.
                let bytes = u64::from(transfer.element_bytes);
                let addresses = transfer.pattern.addresses();
                let bytes: Vec<_> = addresses.flat_map(|it| (it * bytes..).take(usize::try_from(bytes).unwrap())).collect();
                prop_assert!(bytes.chunks(4).all(|it| it[0] % 4 == 0 && it.iter().copied().eq(it[0]..it[0] + 4)));
            },
        }
    }
}

/// Sec. 4.3: blocks of `r x s` straight from the memory tile take five dimensions.
#[test]
fn one_pattern_for_all_takes_five_dimensions() {
    let device = *DEVICES.get("xdna");
    let tile = Tile { m: 112, k: 56, n: 112 };
    let chains = Chains::new(&device, Precision::Int8Int8, tile, 224, BLayout::ColumnMajor).unwrap();
    let (m, k, k_mt, r, s) = (112, 56, 224, 4, 8);
    let naive = Pattern::new(0, &[(s, 1), (r, k_mt), (k / s, s), (m / r, r * k_mt), (k_mt / k, k)]);

    // It would do: from rows of `k_mt` as they come, the tiles as cores want them.
    let size = chains.pad([448, 448, 448]).unwrap();
    let dram: Vec<u64> = (0..448 * 448).collect();
    let rows_of_k_mt = chains.a(size, 1).interface.pattern.read(&dram);
    let steps = rows_of_k_mt.chunks(usize::try_from(m * k_mt).unwrap());
    let l1: Vec<_> = steps.flat_map(|it| naive.read(it)).collect();
    assert_eq!(l1, chains.a(size, 1).run(&dram));

    let error = naive.check(DmaTile::Memory, 1).unwrap_err();
    assert_eq!(error, AddressProblem::Dimensions { asked: 5, have: 4 });
    let text = "it needs 5 dimensions, but the DMA has 4; split the transformation between this channel and \
                the next";
    assert_eq!(error.to_string(), text);
}

/// Every design of Tables 2 and 3, with its `k_mt`.
fn published() -> Vec<(&'static str, Precision, Tile, u32)> {
    use Precision::{Bf16Bf16, Int8Int8, Int8Int16, Int8Int32};
    let tile = |m, k, n| Tile { m, k, n };
    vec![
        ("xdna", Int8Int8, tile(112, 112, 112), 448),
        ("xdna", Int8Int8, tile(112, 104, 128), 416),
        ("xdna", Int8Int16, tile(96, 112, 96), 448),
        ("xdna", Int8Int16, tile(80, 104, 128), 416),
        ("xdna", Int8Int32, tile(80, 88, 96), 352),
        ("xdna", Int8Int32, tile(64, 80, 128), 320),
        ("xdna", Bf16Bf16, tile(96, 56, 96), 224),
        ("xdna", Bf16Bf16, tile(96, 48, 112), 192),
        ("xdna2", Int8Int8, tile(144, 72, 144), 432),
        ("xdna2", Int8Int8, tile(160, 64, 144), 384),
        ("xdna2", Int8Int16, tile(128, 72, 112), 432),
        ("xdna2", Int8Int16, tile(160, 64, 96), 384),
        ("xdna2", Int8Int32, tile(96, 64, 96), 384),
        ("xdna2", Int8Int32, tile(128, 56, 80), 336),
        ("xdna2", Bf16Bf16, tile(112, 48, 96), 384),
        ("xdna2", Bf16Bf16, tile(160, 40, 80), 320),
    ]
}

/// Sec. 4.4: more than 64K in all dimensions, where an iteration over column blocks
/// would end at 4K.
#[test]
fn the_papers_designs_take_64k_in_all_dimensions() {
    for (device, precision, tile, k_mt) in published() {
        for b_layout in [BLayout::ColumnMajor, BLayout::RowMajor] {
            let device = *DEVICES.get(device);
            let chains = Chains::new(&device, precision, tile, k_mt, b_layout).unwrap();
            for [m, k, n] in [[65_536; 3], [100_000; 3], [1 << 18; 3]] {
                let size = chains.pad([m, k, n]).unwrap();
                let (a, b) = (chains.a(size, 0), chains.b(size, 0));
                for transfer in a.transfers().into_iter().chain(b.transfers()) {
                    let dims = transfer.pattern.dims.len();
                    let most = transfer.channel.tile.registers().dims;
                    assert!(dims <= most as usize, "{transfer:?}");
                }
                assert_eq!(a.interface.channel.direction, Direction::Mm2s);
            }
        }
    }
}

#[test]
fn what_no_descriptor_holds_is_told() {
    let device = *DEVICES.get("xdna");
    let tile = Tile { m: 32, k: 16, n: 32 };
    let chains = |k_mt| Chains::new(&device, Precision::Bf16Bf16, tile, k_mt, BLayout::ColumnMajor);
    let error = chains(24).unwrap_err();
    assert_eq!(error.to_string(), "`k_mt` is 24, which is not a multiple of `k_ct` = 16; use 32 or 16");
    let error = chains(0).unwrap_err();
    assert_eq!(error.to_string(), "`k_mt` is 0, which is not a multiple of `k_ct` = 16; use 16");
    let error = chains(32).unwrap().pad([64, 0, 64]).unwrap_err();
    assert_eq!(error.to_string(), "`k` is 0 (0 with padding); use 1 to 2147483648 with padding");
    let error = chains(32).unwrap().pad([u64::MAX, 1, 64]).unwrap_err();
    assert!(error.to_string().starts_with("`m` is 18446744073709551615 ("), "{error}");

    // Rows of 2M bf16 are as far apart as a step goes.
    assert!(chains(32).unwrap().pad([64, 1 << 21, 64]).is_ok());
    let error = chains(32).unwrap().pad([64, (1 << 21) + 1, 64]).unwrap_err();
    let text = "A's interface tile MM2S cannot be programmed as (32, 1) (32, 2097184) (65537, 32): it steps \
                1048592 words, but the step register of 20 bits holds up to 1048576; use a smaller matrix or \
                tile";
    assert_eq!(error.to_string(), text);

    let tile = Tile { m: 32, k: 1024, n: 32 };
    let chains = Chains::new(&device, Precision::Bf16Bf16, tile, 4096, BLayout::ColumnMajor).unwrap();
    let error = chains.pad([64, 8192, 64]).unwrap_err();
    let text = "A's interface tile MM2S cannot be programmed as (4096, 1) (32, 8192) (2, 4096): dimension 0 has \
                a size of 2048 words or runs, but its wrap register of 10 bits holds up to 1023; use a smaller \
                tile or split the dimension";
    assert_eq!(error.to_string(), text);
}

/// A test that could not fail would not notice this.
#[test]
fn a_wrong_stride_is_noticed() {
    let device = *DEVICES.get("xdna2");
    let tile = Tile { m: 32, k: 16, n: 32 };
    let chains = Chains::new(&device, Precision::Int8Int8, tile, 32, BLayout::ColumnMajor).unwrap();
    let size = chains.pad([1, 64, 1]).unwrap();
    let dram: Vec<u64> = (0..size.m() * size.k()).collect();
    let right = chains.a(size, 0);
    let mut wrong = right.clone();
    wrong.memory_out.pattern.dims.swap(1, 2);
    assert_ne!(wrong.run(&dram), right.run(&dram));
    assert!(is_bijection(wrong.memory_out.pattern.addresses(), 32 * 32));
}
