//! Which kernels there are, and how they may be compiled.

use memscape_workload::GgmlType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::Core;
use crate::mapping::quant::{BLOCK, CODED, format_name};

/// Which kernel multiplies quantised weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// llama.cpp's scalar code.
    Default,
    /// One block of one row in vector registers (Listing 4.4).
    Vector,
    /// Two rows by two blocks behind a function call for each tile (Listing 4.5).
    Simple,
    /// Two rows by two blocks, the loop over the row inside (Listing A.1).
    Complex,
    /// Dequantise and call OpenBLAS.
    Openblas,
}

impl Kernel {
    /// All of them, slowest code first.
    pub const ALL: [Self; 5] = [Self::Default, Self::Vector, Self::Simple, Self::Complex, Self::Openblas];

    /// The name, for example `complex`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Vector => "vector",
            Self::Simple => "simple",
            Self::Complex => "complex",
            Self::Openblas => "openblas",
        }
    }
}

/// Whether small constants are part of the instruction.
///
/// # Source
/// Thesis, Sec. 4.2.3: the Xuantie compiler, which built `vector` and `simple`, "did
/// not use all the immediate functions available"; `complex` is GCC 14.2's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Immediates {
    /// As the kernel's compiler did: `complex` only.
    AsCompiled,
    /// In every kernel.
    Always,
    /// In none.
    Never,
}

/// Who compiled llama.cpp's scalar code.
///
/// # Source
/// Thesis, Table 5.3. `gcc-13`: as GCC 12.2 compiles it (-O3, rv64gc). `clang-19`: as Clang
/// 19.1.7 compiles it with the flags of Table 5.3. `xuantie-gcc-10`, whose binaries were
/// not at hand: GCC's code with the multiply-accumulates and indexed loads that
/// `-mcpu=c920` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compiler {
    /// The vendor's GCC 10.4, of the single-core figures.
    #[serde(rename = "xuantie-gcc-10")]
    XuantieGcc10,
    /// GCC 13.2, which knows no extension of the core.
    #[serde(rename = "gcc-13")]
    Gcc13,
    /// Clang 19, of the multi-threaded figures.
    #[serde(rename = "clang-19")]
    Clang19,
}

/// How the 32 weights of a block lie in vector registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Its two halves apart, as the nibbles of Q4_0 come.
    Halves,
    /// All in one group, where that is wide enough.
    Whole,
}

/// One way to compile one kernel for one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// Which kernel.
    pub kernel: Kernel,
    /// What it multiplies.
    pub format: GgmlType,
    /// Whether constants are immediates.
    pub immediates: Immediates,
    /// Who compiled the scalar code.
    pub compiler: Compiler,
    /// How a block lies in registers.
    pub layout: Layout,
    /// Rows of a tile; of `simple` and `complex`, else 1.
    pub rows: usize,
    /// Blocks of a tile; of `simple` and `complex`, else as many as the format has in one.
    pub blocks: usize,
    /// Registers that an eight-bit vector takes: 1, 2 or 4.
    pub lmul: u32,
    /// Bits of a register.
    pub vlen_bits: u32,
    /// Registers there are.
    pub vector_registers: u32,
    /// Bits of the load pipe.
    pub load_bits: u32,
}

/// Why there is no such kernel.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A format the kernel is not written for.
    #[error(
        "the kernel `{}` does not multiply {}; it is written for {written_for}{}", kernel.name(), format_name(*format),
        if *kernel != Kernel::Default && CODED.contains(format) { ": use `kernel` = \"default\"" } else { ": change `format`" }
    )]
    Unsupported {
        /// The kernel.
        kernel: Kernel,
        /// The format.
        format: GgmlType,
        /// Formats it knows.
        written_for: &'static str,
    },
    /// Not a register width.
    #[error("`core.vlen_bits` is {0}; it must be a power of two from 64 to 1024")]
    Vlen(u32),
    /// A group that widening does not leave registers for.
    #[error("`lmul` is {0}; the kernels widen twice, so it must be 1, 2 or 4")]
    Lmul(u32),
    /// Groups that leave no room for one product.
    #[error(
        "`lmul` is {lmul}: two operands and a product twice as wide take {needed} vector registers, but there are \
         {registers}; use a lower `lmul`"
    )]
    Registers {
        /// Registers of a group.
        lmul: u32,
        /// Registers that one product takes.
        needed: u32,
        /// Registers there are.
        registers: u32,
    },
    /// A tile of nothing, or of more than the registers hold.
    #[error("a tile of {rows} x {blocks} blocks is not supported; rows and blocks must be from 1 to 8")]
    Tile {
        /// Rows asked for.
        rows: usize,
        /// Blocks asked for.
        blocks: usize,
    },
    /// OpenBLAS is not code on this machine.
    #[error(
        "`openblas` is modelled by its packing and micro-kernel (`riscv.gemm`), not as quantised code; choose another kernel"
    )]
    Blas,
    /// Operands of the wrong length.
    #[error("{what} has {given} bytes, but {rows} rows of {blocks} blocks take {expected}")]
    Operand {
        /// Which one.
        what: &'static str,
        /// Its length.
        given: usize,
        /// Rows asked for.
        rows: usize,
        /// Blocks of each.
        blocks: usize,
        /// The length these take.
        expected: usize,
    },
}

impl Code {
    /// A kernel as the thesis has it: Q4_0, tiles of two rows by two blocks, one register
    /// of 128 bits at a time, of which there are 32.
    ///
    /// ```
    /// use memscape_riscv::kernels::{Code, Kernel};
    /// let code = Code { vlen_bits: 256, ..Code::as_printed(Kernel::Complex) };
    /// assert_eq!(code.per_tile()?.vector_loads, 8);
    /// # Ok::<(), memscape_riscv::kernels::KernelError>(())
    /// ```
    #[must_use]
    pub const fn as_printed(kernel: Kernel) -> Self {
        Self {
            kernel,
            format: GgmlType::Q4_0,
            immediates: Immediates::AsCompiled,
            compiler: Compiler::XuantieGcc10,
            layout: Layout::Halves,
            rows: 2,
            blocks: 2,
            lmul: 1,
            vlen_bits: 128,
            vector_registers: 32,
            load_bits: 128,
        }
    }

    /// The same for the registers and the load pipe of a core.
    #[must_use]
    pub const fn on(kernel: Kernel, core: &Core) -> Self {
        Self {
            vlen_bits: core.vlen_bits,
            vector_registers: core.vector_registers.get(),
            load_bits: core.load_bits.get(),
            ..Self::as_printed(kernel)
        }
    }

    /// Checks that the kernel exists for this format and machine.
    ///
    /// # Errors
    /// [`KernelError`] says what to change.
    pub fn check(&self) -> Result<(), KernelError> {
        let Self { kernel, format, rows, blocks, lmul, vlen_bits, .. } = *self;
        if !vlen_bits.is_power_of_two() || !(64..=1024).contains(&vlen_bits) {
            return Err(KernelError::Vlen(vlen_bits));
        }
        if ![1, 2, 4].contains(&lmul) {
            return Err(KernelError::Lmul(lmul));
        }
        let (needed, registers) = (4 * lmul, self.vector_registers);
        if needed > registers {
            return Err(KernelError::Registers { lmul, needed, registers });
        }
        if !(1..=8).contains(&rows) || !(1..=8).contains(&blocks) {
            return Err(KernelError::Tile { rows, blocks });
        }
        let unsupported = |written_for| Err(KernelError::Unsupported { kernel, format, written_for });
        match (kernel, format) {
            (Kernel::Openblas, _) => Err(KernelError::Blas),
            (Kernel::Default, _) if CODED.contains(&format) => Ok(()),
            (_, GgmlType::Q4_0) | (Kernel::Vector, GgmlType::Q8_0) => Ok(()),
            (Kernel::Default, _) => unsupported("q4_0, q4_k, q5_k, q6_k, q8_0, fp16 and fp32"),
            (Kernel::Vector, _) => unsupported("q4_0 and q8_0"),
            _ => unsupported("q4_0"),
        }
    }

    /// Rows and blocks of a tile.
    #[must_use]
    pub const fn tile(&self) -> (usize, usize) {
        match self.kernel {
            Kernel::Simple | Kernel::Complex => (self.rows, self.blocks),
            _ => (1, self.blocks_of_one()),
        }
    }

    /// Blocks of 32 that one of the format holds, or 1.
    #[expect(clippy::cast_possible_truncation, reason = "at most eight")]
    const fn blocks_of_one(&self) -> usize {
        (self.format.block_elements() as usize).div_ceil(BLOCK)
    }

    /// Whether constants are part of the instruction.
    #[must_use]
    pub fn has_immediates(&self) -> bool {
        match self.immediates {
            Immediates::AsCompiled => self.kernel == Kernel::Complex,
            Immediates::Always => true,
            Immediates::Never => false,
        }
    }
}
