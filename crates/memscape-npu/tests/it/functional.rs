//! Does the array multiply? Real matrices go through all chains and all cores, and
//! must come out as a plain loop has them.

use std::num::NonZeroU8;

use half::bf16;
use memscape_npu::mapping::chain::Chains;
use memscape_npu::mapping::design::BLayout;
use memscape_npu::mapping::machine::{Output, PartialSums, Rounding, execute};
use memscape_npu::{DEVICES, Device, Precision, Tile};
use proptest::prelude::*;

fn count(value: u32) -> NonZeroU8 {
    NonZeroU8::new(u8::try_from(value).unwrap()).unwrap()
}

/// An output type whose inputs can be drawn, and whose bits can be compared.
trait Drawn: Output {
    fn input(bits: u32) -> Self::Input;
    fn bits(self) -> i64;
}

macro_rules! drawn_integer {
    ($($type:ty),*) => {$(
        impl Drawn for $type {
            fn input(bits: u32) -> i8 {
                bits.to_le_bytes()[3].cast_signed()
            }
            fn bits(self) -> i64 {
                self.into()
            }
        }
    )*};
}

drawn_integer!(i8, i16, i32);

impl Drawn for bf16 {
    /// From 2^-9 to 2^7, so that sums do round.
    fn input(bits: u32) -> bf16 {
        let bits = bits.to_le_bytes();
        bf16::from_bits(
            u16::from_le_bytes([bits[3], bits[2] & 0x80]) | ((118 + u16::from(bits[2] & 15)) << 7),
        )
    }
    fn bits(self) -> i64 {
        self.to_bits().into()
    }
}

fn numbers<O: Drawn>(length: u64, seed: u64) -> Vec<O::Input> {
    let mut state = seed;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            O::input(u32::try_from(state >> 32).unwrap())
        })
        .collect()
}

/// One design and one GEMM of any size.
#[derive(Debug, Clone)]
struct Case {
    device: Device,
    tile: Tile,
    k_mt: u32,
    b_layout: BLayout,
    size: [u64; 3],
    rounding: Rounding,
    seed: u64,
}

impl Case {
    /// The plain product: sums start at zero and run along the reduction.
    #[expect(clippy::many_single_char_names, reason = "the names that everyone gives them")]
    fn reference<O: Drawn>(&self, a: &[O::Input], b: &[O::Input]) -> Vec<O> {
        let [m, k, n] = self.size.map(|it| usize::try_from(it).unwrap());
        let Rounding { shift, partial_sums } = self.rounding;
        let call = self.tile.k as usize;
        let mut c = Vec::with_capacity(m * n);
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let mut sum = O::Sum::default();
            for l in 0..k {
                let b = if self.b_layout == BLayout::RowMajor { b[l * n + j] } else { b[j * k + l] };
                sum = O::multiply_add(sum, a[i * k + l], b);
                if partial_sums == PartialSums::Output && (l + 1) % call == 0 {
                    sum = O::round(sum, shift).widen(shift);
                }
            }
            c.push(O::round(sum, shift));
        }
        c
    }

    #[expect(clippy::many_single_char_names, reason = "the names that everyone gives them")]
    fn check<O: Drawn>(&self) -> Result<(), TestCaseError> {
        let shift = self.rounding.shift.min(O::MAX_SHIFT);
        let case = Self { rounding: Rounding { shift, ..self.rounding }, ..self.clone() };
        let [m, k, n] = case.size;
        let (a, b) = (numbers::<O>(m * k, case.seed), numbers::<O>(k * n, !case.seed));
        let chains = Chains::new(&case.device, O::PRECISION, case.tile, case.k_mt, case.b_layout);
        let c = execute::<O>(&chains.unwrap(), case.size, &a, &b, case.rounding).unwrap();
        let same = c.iter().map(|it| it.bits()).eq(case.reference::<O>(&a, &b).into_iter().map(O::bits));
        prop_assert!(same, "{} {:?}", O::PRECISION, case);
        Ok(())
    }
}

prop_compose! {
    /// Both devices' instructions on arrays of a few cores, or of all.
    fn any_case()(
        device in prop::sample::select(DEVICES.names().collect::<Vec<_>>()),
        cores in prop::option::of([1u32..4, 1u32..4]),
        tile in [1u32..4, 1u32..4, 1u32..4],
        steps in 1u32..4,
        b_layout in prop::sample::select(vec![BLayout::ColumnMajor, BLayout::RowMajor]),
        size in [1u64..120, 1u64..160, 1u64..120],
        shift in 0u32..12,
        partial_sums in prop::sample::select(vec![PartialSums::Wide, PartialSums::Output]),
        seed in any::<u64>(),
    ) -> Case {
        let device = *DEVICES.get(device);
        let [rows, columns] = cores.map_or([device.rows, device.columns], |it| it.map(count));
        let device = Device { rows, columns, ..device };
        let tile = Tile { m: 16 * tile[0], k: 8 * tile[1], n: 16 * tile[2] };
        let rounding = Rounding { shift, partial_sums };
        Case { device, tile, k_mt: tile.k * steps, b_layout, size, rounding, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_array_computes_the_reference(
        case in any_case(), precision in prop::sample::select(Precision::ALL.to_vec()),
    ) {
        match precision {
            Precision::Int8Int8 => case.check::<i8>()?,
            Precision::Int8Int16 => case.check::<i16>()?,
            Precision::Int8Int32 => case.check::<i32>()?,
            Precision::Bf16Bf16 => case.check::<bf16>()?,
        }
    }
}

/// Bold rows of Table 2 and 3, whose tiles are many register blocks, on two by two cores.
#[test]
fn the_papers_tiles_compute_the_reference() {
    let rounding = Rounding { shift: 7, partial_sums: PartialSums::Wide };
    let tile = |m, k, n| Tile { m, k, n };
    for b_layout in [BLayout::ColumnMajor, BLayout::RowMajor] {
        let case = |device: &str, tile, k_mt| {
            let device = Device { rows: count(2), columns: count(2), ..*DEVICES.get(device) };
            Case { device, tile, k_mt, b_layout, size: [200, 500, 230], rounding, seed: 5 }
        };
        case("xdna", tile(112, 112, 112), 448).check::<i8>().unwrap();
        case("xdna", tile(96, 56, 96), 224).check::<bf16>().unwrap();
        case("xdna2", tile(144, 72, 144), 432).check::<i8>().unwrap();
        case("xdna2", tile(112, 48, 96), 384).check::<bf16>().unwrap();
    }
}

fn toy() -> (Case, Chains) {
    let case = Case {
        device: *DEVICES.get("xdna"),
        tile: Tile { m: 16, k: 16, n: 16 },
        k_mt: 32,
        b_layout: BLayout::ColumnMajor,
        size: [40, 64, 24],
        rounding: Rounding { shift: 0, partial_sums: PartialSums::Wide },
        seed: 1,
    };
    let chains = Chains::new(&case.device, Precision::Int8Int8, case.tile, case.k_mt, case.b_layout).unwrap();
    (case, chains)
}

/// Sums that leave the output's range on the way: where they are kept decides.
#[test]
fn narrow_partial_sums_saturate_on_the_way() {
    let (case, chains) = toy();
    let size = [1, 48, 1];
    let a = vec![10; 48];
    let b: Vec<i8> = (0..48).map(|it| if it < 32 { 10 } else { -10 }).collect();
    let run = |partial_sums| {
        execute::<i8>(&chains, size, &a, &b, Rounding { partial_sums, ..case.rounding }).unwrap()
    };
    assert_eq!(run(PartialSums::Wide), [127], "16 * 10 * 10 = 1600");
    // Three calls: +1600, +1600, -1600.
    assert_eq!(run(PartialSums::Output), [-128], "127 + 0 after two calls, less 1600");
}

#[test]
fn a_matrix_in_the_other_layout_gives_another_product() {
    let (case, chains) = toy();
    let (a, b) = (numbers::<i8>(40 * 64, 3), numbers::<i8>(64 * 24, 4));
    let rounding = Rounding { shift: 8, ..case.rounding };
    let product = execute::<i8>(&chains, case.size, &a, &b, rounding).unwrap();
    let case = Case { rounding, ..case };
    assert_eq!(product, case.reference::<i8>(&a, &b));
    let other = Case { b_layout: BLayout::RowMajor, ..case };
    assert_ne!(product, other.reference::<i8>(&a, &b));
}

#[test]
fn what_cannot_be_multiplied_is_told() {
    let (case, chains) = toy();
    let (a, b) = (numbers::<i8>(40 * 64, 1), numbers::<i8>(64 * 24, 2));
    let run = |a: &[i8], b: &[i8], size, shift| {
        let rounding = Rounding { shift, ..case.rounding };
        execute::<i8>(&chains, size, a, b, rounding).unwrap_err().to_string()
    };
    let text = run(&a[1..], &b, case.size, 0);
    assert_eq!(text, "`a` has 2559 elements, but 40 x 64 needs 2560");
    let text = run(&a, &b[..3], case.size, 0);
    assert_eq!(text, "`b` has 3 elements, but 64 x 24 needs 1536");
    let text = run(&a, &b, case.size, 25);
    assert_eq!(text, "`shift` is 25, but a 32-bit sum of int8-int8 can be shifted by 0 to 24");
    assert!(run(&a, &b, [0, 64, 24], 0).starts_with("`m` is 0"));
    let text = execute::<i16>(&chains, case.size, &a, &b, case.rounding).unwrap_err().to_string();
    let expected =
        "the chains move int8-int8, but the matrices are int8-int16; build the chains for int8-int16";
    assert_eq!(text, expected);
}
