//! A small vector machine: it executes instructions and counts them.
//!
//! Kernels are written once against [`VectorMachine`]. With `EXECUTE` it computes on
//! real bytes; without, it only counts, and costs next to nothing. What it counts
//! is therefore what the kernel does, not what someone typed in.

use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// Width of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sew {
    /// Eight bits.
    E8,
    /// Sixteen bits.
    E16,
    /// Thirty-two bits.
    E32,
}

impl Sew {
    /// Bits of one element.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::E8 => 8,
            Self::E16 => 16,
            Self::E32 => 32,
        }
    }
}

/// Vector instructions of like cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// And, add, move, with an immediate or a vector.
    Alu,
    /// The same with a scalar register (.vx).
    AluScalar,
    /// Shift or slide.
    Shift,
    /// Widening multiply, multiply-accumulate.
    Multiply,
    /// Widening sum over a vector.
    Reduce,
    /// First element to a scalar register.
    Move,
    /// f32 multiply-accumulate with a scalar.
    Fma,
}

/// Vector instruction classes.
pub const CLASSES: usize = 7;

/// Where bytes come from, for counting.
#[derive(Debug, Clone, Copy)]
pub enum Memory<'a> {
    /// The matrix.
    Weights(&'a [u8]),
    /// The vector it is multiplied with.
    Activations(&'a [u8]),
}

impl<'a> Memory<'a> {
    const fn bytes(self) -> &'a [u8] {
        match self {
            Self::Weights(bytes) | Self::Activations(bytes) => bytes,
        }
    }
}

/// What was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Scalar arithmetic, conversions and branches.
    pub scalar: u64,
    /// Scalar loads.
    pub scalar_loads: u64,
    /// Scalar stores.
    pub scalar_stores: u64,
    /// Changes of the vector configuration.
    pub vset: u64,
    /// Vector loads.
    pub vector_loads: u64,
    /// Vector stores.
    pub vector_stores: u64,
    /// Vector arithmetic by class: instructions.
    pub vector: [u64; CLASSES],
    /// Vector arithmetic by class: registers worked on, LMUL per instruction.
    pub registers: [u64; CLASSES],
    /// Beats of the load pipe, were every load aligned to it.
    pub aligned_beats: u64,
    /// Beats of loads that may lie across its boundaries.
    pub unaligned_beats: u64,
    /// Bytes of the matrix loaded.
    pub weight_bytes: u64,
    /// Bytes of the vector loaded.
    pub activation_bytes: u64,
}

impl Counts {
    /// All instructions.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.scalar + self.scalar_loads + self.scalar_stores + self.vset + self.vector_instructions()
    }

    /// Vector instructions, configuration left out.
    #[must_use]
    pub fn vector_instructions(&self) -> u64 {
        self.vector_loads + self.vector_stores + self.vector.iter().sum::<u64>()
    }

    fn zip(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let classes = |a: [u64; CLASSES], b: [u64; CLASSES]| std::array::from_fn(|i| combine(a[i], b[i]));
        Self {
            scalar: combine(self.scalar, other.scalar),
            scalar_loads: combine(self.scalar_loads, other.scalar_loads),
            scalar_stores: combine(self.scalar_stores, other.scalar_stores),
            vset: combine(self.vset, other.vset),
            vector_loads: combine(self.vector_loads, other.vector_loads),
            vector_stores: combine(self.vector_stores, other.vector_stores),
            vector: classes(self.vector, other.vector),
            registers: classes(self.registers, other.registers),
            aligned_beats: combine(self.aligned_beats, other.aligned_beats),
            unaligned_beats: combine(self.unaligned_beats, other.unaligned_beats),
            weight_bytes: combine(self.weight_bytes, other.weight_bytes),
            activation_bytes: combine(self.activation_bytes, other.activation_bytes),
        }
    }
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// # Panics
/// If `other` counts more of anything.
impl Sub for Counts {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

/// A register group of integers; empty on a machine that only counts.
pub type Integers = Vec<i32>;
/// A register group of f32; empty on a machine that only counts.
pub type Floats = Vec<f32>;

/// The machine. Its configuration (element width, LMUL, vector length) changes by
/// [`VectorMachine::set`], which costs an instruction only where it changes
/// something, as a compiler inserts them.
#[derive(Debug, Clone)]
pub struct VectorMachine<const EXECUTE: bool> {
    /// What has been executed so far.
    pub counts: Counts,
    vlen_bits: u32,
    load_bits: u32,
    sew: Sew,
    lmul: u32,
    vl: usize,
}

impl<const EXECUTE: bool> VectorMachine<EXECUTE> {
    /// A machine with registers of `vlen_bits`, and a load pipe of `load_bits`.
    #[must_use]
    pub fn new(vlen_bits: u32, load_bits: u32) -> Self {
        Self { counts: Counts::default(), vlen_bits, load_bits, sew: Sew::E8, lmul: 0, vl: 0 }
    }

    /// Elements that a group of `lmul` registers holds.
    #[must_use]
    pub const fn vlmax(&self, sew: Sew, lmul: u32) -> usize {
        (self.vlen_bits * lmul / sew.bits()) as usize
    }

    /// vsetvli.
    ///
    /// # Panics
    /// If the registers do not hold `vl` elements: a kernel's fault.
    pub fn set(&mut self, sew: Sew, lmul: u32, vl: usize) {
        assert!(vl <= self.vlmax(sew, lmul), "{vl} elements exceed {lmul} registers");
        if (self.sew, self.lmul, self.vl) != (sew, lmul, vl) {
            self.counts.vset += 1;
            (self.sew, self.lmul, self.vl) = (sew, lmul, vl);
        }
    }

    fn count(&mut self, class: Class, registers: u32) {
        self.counts.vector[class as usize] += 1;
        self.counts.registers[class as usize] += u64::from(registers);
    }

    fn beats(&self, bytes: usize) -> u64 {
        (8 * bytes as u64).div_ceil(self.load_bits.into())
    }

    /// vle8.v: `vl` bytes from `at` on, sign-extended or not. Blocks of 18 and 34
    /// bytes leave them unaligned.
    pub fn load_bytes(&mut self, from: Memory<'_>, at: usize, signed: bool) -> Integers {
        self.counts.vector_loads += 1;
        self.counts.unaligned_beats += self.beats(self.vl);
        self.read(from, self.vl);
        if !EXECUTE {
            return Vec::new();
        }
        let bytes = from.bytes()[at..at + self.vl].iter();
        bytes.map(|it| if signed { it.cast_signed().into() } else { (*it).into() }).collect()
    }

    fn read(&mut self, from: Memory<'_>, bytes: usize) {
        match from {
            Memory::Weights(_) => self.counts.weight_bytes += bytes as u64,
            Memory::Activations(_) => self.counts.activation_bytes += bytes as u64,
        }
    }

    /// An operation with a small constant, as immediate or from a scalar register.
    pub fn with_constant(
        &mut self,
        class: Class,
        a: &Integers,
        constant: i32,
        op: impl Fn(i32, i32) -> i32,
    ) -> Integers {
        self.count(class, self.lmul);
        a.iter().map(|it| op(*it, constant)).collect()
    }

    /// vslideup.vi: `low`, then the first elements of `high` from position `at` on.
    pub fn slide_up(&mut self, low: &Integers, high: &Integers, at: usize) -> Integers {
        self.count(Class::Shift, self.lmul);
        if EXECUTE { low[..at].iter().chain(&high[..self.vl - at]).copied().collect() } else { Vec::new() }
    }

    /// vwmul.vv: products twice as wide.
    pub fn widening_multiply(&mut self, a: &Integers, b: &Integers) -> Integers {
        self.count(Class::Multiply, self.lmul);
        a.iter().zip(b).map(|(a, b)| a * b).collect()
    }

    /// vwmacc.vv: adds products twice as wide.
    pub fn widening_accumulate(&mut self, sums: &mut Integers, a: &Integers, b: &Integers) {
        self.count(Class::Multiply, self.lmul);
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
            debug_assert!(i16::try_from(*sum).is_ok(), "a 16-bit sum overflows");
        }
    }

    /// vwredsum.vs: the sum of all elements onto `start`.
    pub fn reduce(&mut self, a: &Integers, start: i32) -> i32 {
        self.count(Class::Reduce, self.lmul);
        start + a.iter().sum::<i32>()
    }

    /// vmv.x.s: the first element.
    pub fn first(&mut self, sum: i32) -> i32 {
        self.count(Class::Move, 1);
        sum
    }

    /// vle32.v: `vl` aligned floats.
    pub fn load_floats(&mut self, from: &[f32], at: usize) -> Floats {
        self.counts.vector_loads += 1;
        self.counts.aligned_beats += self.beats(4 * self.vl);
        self.counts.activation_bytes += 4 * self.vl as u64;
        if EXECUTE { from[at..at + self.vl].to_vec() } else { Vec::new() }
    }

    /// vse32.v.
    pub fn store_floats(&mut self, to: &mut [f32], at: usize, floats: &Floats) {
        self.counts.vector_stores += 1;
        if EXECUTE {
            to[at..at + self.vl].copy_from_slice(floats);
        }
    }

    /// vfmacc.vf: adds `a` times each of `b`.
    pub fn multiply_add(&mut self, sums: &mut Floats, a: f32, b: &Floats) {
        self.count(Class::Fma, self.lmul);
        for (sum, b) in sums.iter_mut().zip(b) {
            *sum = a.mul_add(*b, *sum);
        }
    }

    /// `n` scalar instructions that move no data of interest: addresses, loops,
    /// conversions, arithmetic.
    pub fn scalar(&mut self, n: u64) {
        self.counts.scalar += n;
    }

    /// Loads and stores of spilled registers and arguments.
    pub fn spill(&mut self, loads: u64, stores: u64) {
        self.counts.scalar_loads += loads;
        self.counts.scalar_stores += stores;
    }

    /// Vector registers that do not fit and are stored and loaded again, each of so many
    /// bytes in use.
    pub fn spill_vectors(&mut self, registers: u64, bytes: usize) {
        self.counts.vector_stores += registers;
        self.counts.vector_loads += registers;
        self.counts.aligned_beats += registers * self.beats(bytes);
    }

    /// lb, lbu: one byte.
    pub fn load_byte(&mut self, from: Memory<'_>, at: usize, signed: bool) -> i32 {
        self.counts.scalar_loads += 1;
        self.read(from, 1);
        if !EXECUTE {
            return 0;
        }
        let byte = from.bytes()[at];
        if signed { byte.cast_signed().into() } else { byte.into() }
    }

    /// flh: an fp16 as f32. The conversion is counted by whoever needs one.
    pub fn load_half(&mut self, from: Memory<'_>, at: usize) -> f32 {
        self.counts.scalar_loads += 1;
        self.read(from, 2);
        if !EXECUTE {
            return 0.0;
        }
        let bytes = &from.bytes()[at..at + 2];
        half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
    }

    /// flw: an f32 of a row-major matrix.
    pub fn load_float(&mut self, from: &[f32], at: usize) -> f32 {
        self.counts.scalar_loads += 1;
        self.counts.weight_bytes += 4;
        if EXECUTE { from[at] } else { 0.0 }
    }
}
