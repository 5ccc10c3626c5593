//! The study `npu.gemm`: one matrix product on the whole array.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU64};

use memscape_study::{
    Aim, Bound, CostEngine, Engines, Laws, Limit, Recorder, Slot, Study, StudyError, When, either, faster,
    neutral, slower, unused,
};
use memscape_units::float;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::kernel::Kernel;
use crate::cost::schedule::{Bottleneck, GemmPart, Schedule};
use crate::cost::{equations, events, times};
use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::chain::Chains;
use crate::mapping::design::{BLayout, BdReconfiguration, Design, L2Use};
use crate::mapping::designs::{DEFAULT_DESIGN, DESIGNS, KernelDesign};
use crate::mapping::tile::{L1Rule, L1Use, OutputBuffers, Tile};
use crate::study::memory::{Lent, MemoryGb, NoMemory};
use crate::study::occupancy::Occupancy;
use crate::study::{laws, slots};

/// A matrix product `m x k` times `k x n` on an NPU, A and C row-major in DRAM.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GemmStudy {
    /// The NPU
    pub device: Device,
    /// Types of inputs and output: `int8-int8`, `int8-int16`, `int8-int32`, `bf16-bf16`
    pub precision: Precision,
    /// Rows of A and C
    pub m: NonZeroU64,
    /// Columns of A and rows of B
    pub k: NonZeroU64,
    /// Columns of B and C
    pub n: NonZeroU64,
    /// Rows of A and C in L1
    pub m_ct: NonZeroU16,
    /// Columns of A and rows of B in L1
    pub k_ct: NonZeroU16,
    /// Columns of B and C in L1
    pub n_ct: NonZeroU16,
    /// Length of the reduction that memory tiles hold at once, a multiple of `k_ct`
    pub k_mt: NonZeroU16,
    /// How B lies in DRAM
    pub b_layout: BLayout,
    /// Buffers of C in L1
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte
    pub l1_rule: L1Rule,
    /// When the command processor rewrites buffer descriptors
    pub bd_reconfiguration: BdReconfiguration,
    /// Blocks of C submitted ahead: descriptors of each matrix in an interface tile
    pub bds_in_flight: NonZeroU8,
    /// Memory that the host lends for A, B and C
    pub memory_gb: MemoryGb,
    /// Multiply-accumulates per cycle of one core as measured, instead of the kernel model's
    pub measured_macs_per_cycle: Option<f64>,
    /// Closed form, or event by event
    pub engine: CostEngine,
}

/// A design that memories hold and descriptors describe, and its schedule.
struct Program {
    design: Design,
    l1: L1Use,
    l2: L2Use,
    kernel: Kernel,
    schedule: Schedule,
}

/// What `npu.gemm` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct GemmAnswer {
    /// Operations of the product as asked for, without padding, per second
    pub tops: f64,
    /// Time by the host's clock
    pub time_ns: f64,
    /// Cores at work
    pub compute_ns: f64,
    /// Cores waiting for A, B or descriptors
    pub input_wait_ns: f64,
    /// Cores waiting for C to leave, and zeroing it
    pub output_wait_ns: f64,
    /// The last block of C on its way to DRAM
    pub epilogue_ns: f64,
    /// Dispatch
    pub dispatch_ns: f64,
    /// What takes longest, over all blocks of C
    pub bottleneck: Bottleneck,
    /// Throughput of one core in multiply-accumulates per cycle
    pub macs_per_cycle: f64,
    /// Throughput of one core over its peak
    pub efficiency: f64,
    /// Throughput of the array if nothing but the cores took time
    pub peak_tops: f64,
    /// Operations per byte of A, B and C
    pub arithmetic_intensity: f64,
    /// Compute time of Eq. 9: of the operations asked for, padding left out
    pub eq9_compute_ns: f64,
    /// Memory time of Eq. 10, at the bandwidth of long runs, padding left out: it holds for whole blocks
    pub eq10_memory_ns: f64,
    /// Bytes of A and B read from DRAM, padding included
    pub dram_read_bytes: f64,
    /// Bytes of C written to DRAM, padding included
    pub dram_write_bytes: f64,
    /// Bandwidth at which A and B are read while they are
    pub dram_read_gb_s: f64,
    /// Rows of A after padding
    pub padded_m: u64,
    /// Columns of A after padding
    pub padded_k: u64,
    /// Columns of B after padding
    pub padded_n: u64,
    /// Share of the computed operations that were asked for
    pub useful_share: f64,
    /// Buffers in L1, without the stack
    pub l1_bytes: u64,
    /// Share of L1 that they take
    pub l1_share: f64,
    /// Buffers in all memory tiles
    pub l2_bytes: u64,
    /// Share of all memory tiles that they take
    pub l2_share: f64,
    /// The fullest memory tile's buffers
    pub l2_fullest_bytes: u64,
    /// Whether it needs part of its neighbour
    pub l2_shared: bool,
    /// A, B and C in DRAM
    #[serde(flatten)]
    pub lent: Lent,
    /// What else the design takes
    #[serde(flatten)]
    pub occupancy: Occupancy,
}

impl Default for GemmStudy {
    /// A square int8 product of about 4K on XDNA, with the paper's balanced kernel.
    fn default() -> Self {
        let KernelDesign { device, precision, m_ct, k_ct, n_ct, k_mt, output_buffers } =
            *DESIGNS.get(DEFAULT_DESIGN);
        let about_4k = NonZeroU64::new(4032).expect("not zero");
        Self {
            device,
            precision,
            m: about_4k,
            k: about_4k,
            n: about_4k,
            m_ct,
            k_ct,
            n_ct,
            k_mt,
            b_layout: BLayout::ColumnMajor,
            output_buffers,
            l1_rule: L1Rule::Below,
            bd_reconfiguration: BdReconfiguration::Overlapped,
            bds_in_flight: NonZeroU8::new(5).expect("not zero"),
            memory_gb: MemoryGb::default(),
            measured_macs_per_cycle: None,
            engine: CostEngine::Closed,
        }
    }
}

impl GemmStudy {
    /// What is chosen for the array, without the size of the product.
    #[must_use]
    pub fn design(&self) -> Design {
        Design {
            precision: self.precision,
            tile: Tile::of(self.m_ct, self.k_ct, self.n_ct),
            k_mt: self.k_mt.get().into(),
            b_layout: self.b_layout,
            output_buffers: self.output_buffers,
            l1_rule: self.l1_rule,
            bd_reconfiguration: self.bd_reconfiguration,
            bds_in_flight: self.bds_in_flight.get().into(),
            measured_macs_per_cycle: self.measured_macs_per_cycle,
        }
    }

    /// The same product with the tile and the step of another design.
    ///
    /// # Panics
    /// If they are none that studies can give: zero, or above 65535.
    #[must_use]
    pub fn with_design(self, design: &Design) -> Self {
        let given = |it: u32| u16::try_from(it).ok().and_then(NonZeroU16::new).expect("from a search");
        let Tile { m, k, n } = design.tile;
        Self { m_ct: given(m), k_ct: given(k), n_ct: given(n), k_mt: given(design.k_mt), ..self }
    }

    /// Rows of A, columns of A, columns of B.
    #[must_use]
    pub fn size(&self) -> [u64; 3] {
        [self.m.get(), self.k.get(), self.n.get()]
    }

    /// The product cut for the array.
    ///
    /// # Errors
    /// [`StudyError`] says what does not fit.
    pub fn schedule(&self) -> Result<Schedule, StudyError> {
        Ok(self.program(1.0)?.schedule)
    }

    /// Bytes that cross the DRAM's bus, whole lines of all runs and chunks: read, and written.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
    pub(super) fn bus_bytes(&self, b_share: f64) -> Result<[f64; 2], StudyError> {
        let schedule = self.program(b_share)?.schedule;
        Ok(schedule.block_bytes.map(|it| it * schedule.blocks as f64))
    }

    /// Bytes of A, B and C.
    pub(super) fn matrix_bytes(&self) -> u128 {
        let [m, k, n] = self.size().map(u128::from);
        let (inputs, results) = (self.precision.input_bytes(), self.precision.output_bytes());
        (m * k + k * n) * u128::from(inputs) + m * n * u128::from(results)
    }

    fn lent(&self) -> Lent {
        self.memory_gb.lent(self.matrix_bytes())
    }

    /// That DRAM holds them.
    fn check_memory(&self) -> Result<(), NoMemory> {
        self.lent().check("A, B and C", "a smaller product")
    }

    /// What the array is programmed with, if it can be, where a byte of B takes `b_share` in DRAM.
    fn program(&self, b_share: f64) -> Result<Program, StudyError> {
        let design = self.design();
        let (l1, l2) = design.check(&self.device)?;
        let kernel = Kernel::new(&self.device, self.precision, design.tile, self.output_buffers)?;
        let schedule = Schedule::new(&self.device, &design, &kernel, self.size(), b_share)?;
        Chains::check(&self.device, &design, self.size())?;
        Ok(Program { design, l1, l2, kernel, schedule })
    }

    /// The answer where a byte of B as it is multiplied takes `b_share` bytes in DRAM, from which cores make it.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31, times to a day")]
    pub(super) fn answer_with(&self, b_share: f64) -> Result<GemmAnswer, StudyError> {
        let device = &self.device;
        let Program { design, l1, l2, kernel, schedule } = self.program(b_share)?;
        let times = times(&schedule, self.engine);

        let [m, k, n] = self.size().map(|it| it as f64);
        let padded = design.padded(device, self.size());
        let [padded_m, padded_k, padded_n] = padded.map(|it| it as f64);
        let input = f64::from(self.precision.input_bytes());
        let output = f64::from(self.precision.output_bytes());
        let macs_per_cycle = kernel.reached(self.measured_macs_per_cycle);
        let peak_tops = device.tops(macs_per_cycle);
        let operations = 2.0 * m * k * n;
        let time_ns = times.total().as_ns();

        let (read, write) = equations::dram_bytes(device, &design, padded);
        let rows_of_blocks = padded_m / design.native(device)[0] as f64;
        let read = read + rows_of_blocks * padded_k * padded_n * input * (b_share - 1.0);
        let capacity = f64::from(device.l2_bytes.get()) * f64::from(device.columns.get());
        Ok(GemmAnswer {
            tops: operations / time_ns * 1e-3,
            time_ns,
            compute_ns: times.ns(GemmPart::Compute),
            input_wait_ns: times.ns(GemmPart::InputWait),
            output_wait_ns: times.ns(GemmPart::OutputWait),
            epilogue_ns: times.ns(GemmPart::Epilogue),
            dispatch_ns: times.ns(GemmPart::Dispatch),
            bottleneck: schedule.bottleneck(),
            macs_per_cycle,
            efficiency: macs_per_cycle / kernel.mmul.macs_per_cycle(),
            peak_tops,
            arithmetic_intensity: operations / ((m * k + k * n) * input + m * n * output),
            eq9_compute_ns: equations::compute_ns(device, macs_per_cycle, self.size()),
            eq10_memory_ns: equations::memory_ns(device, &design, self.size()),
            dram_read_bytes: read,
            dram_write_bytes: write,
            dram_read_gb_s: read / schedule.reading().as_ns(),
            padded_m: padded[0],
            padded_k: padded[1],
            padded_n: padded[2],
            useful_share: operations / (2.0 * padded_m * padded_k * padded_n),
            l1_bytes: l1.total(),
            l1_share: l1.total() as f64 / f64::from(device.l1_bytes.get()),
            l2_bytes: l2.total,
            l2_share: l2.total as f64 / capacity,
            l2_fullest_bytes: l2.fullest,
            l2_shared: l2.shares(device),
            lent: self.lent(),
            occupancy: Occupancy::of(device, &design, &kernel.mmul),
        })
    }
}

impl Study for GemmStudy {
    const NAME: &'static str = "npu.gemm";
    const SUMMARY: &'static str = "One matrix product on a Ryzen AI NPU, from DRAM to DRAM";
    type Answer = GemmAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("time_ns", &["compute_ns", "input_wait_ns", "output_wait_ns", "epilogue_ns", "dispatch_ns"])];

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("time_ns")),
        effects: &[
            laws::DEVICE,
            &[
                slower("m"),
                slower("k"),
                slower("n"),
                either("m_ct", laws::TILE),
                either("k_ct", laws::TILE),
                either("n_ct", laws::TILE),
                either("k_mt", laws::STEP),
                neutral("memory_gb"),
                faster("measured_macs_per_cycle"),
                neutral("device.l1_bytes"),
                either("device.l1_bank_bytes", laws::BANKS).only(UNMEASURED),
                either("device.stack_bytes", laws::BANKS).only(UNMEASURED),
                neutral("device.l2_bytes"),
                faster("device.int8.*").only(laws::INT8),
                faster("device.bf16.*").only(laws::BF16),
                slower("device.pipeline_cycles").only(UNMEASURED_ROUNDED),
                unused("device.reconfiguration_ns", "one product needs one design"),
                unused("device.dram.energy.*", laws::NO_ENERGY),
            ],
        ],
        engines: Some(Engines::closed_and_events(laws::ENGINES)),
        limits: &[
            Limit { grow: &[("device.clock_mhz", 1e6)], vanish: &["compute_ns"] },
            Limit { grow: &[("device.dispatch_ns", 1e-6)], vanish: &["dispatch_ns"] },
        ],
        ..Laws::NONE
    };

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> =
        Some(|study, recorder| {
            let schedule = study.schedule()?;
            study.check_memory()?;
            events::record(&schedule, recorder);
            Ok(())
        });

    fn answer(&self) -> Result<GemmAnswer, StudyError> {
        let answer = self.answer_with(1.0)?;
        self.check_memory()?;
        Ok(answer)
    }

    fn bounds(&self) -> Vec<Bound> {
        let Ok(mmul) = self.device.mmul(self.precision) else { return Vec::new() };
        let floors = laws::Floors::of(&self.device, mmul, self.precision, self.size(), None);
        let dispatch = self.device.dispatch_ns.as_f64();
        vec![
            Bound::at_least("compute_ns", floors.compute, "products at the instruction's peak"),
            Bound::at_least("time_ns", dispatch + floors.read, "A and B once through the port to DRAM"),
            Bound::at_least("time_ns", dispatch + floors.write, "C once through the port to DRAM"),
            Bound::at_least("time_ns", dispatch + floors.bus, "A, B and C once over the DRAM's bus"),
            Bound::at_most("l1_bytes", laws::l1_bytes(&self.device), "L1 without the stack"),
            Bound::at_most("l2_share", 1.0, "all memory tiles"),
            Bound::at_most("memory_bytes", float(self.lent().memory_limit_bytes), "what the host lends"),
        ]
    }

    fn slots() -> Vec<Slot> {
        vec![slots::design(), slots::device()]
    }
}

/// Where the kernel model gives the core's pace.
const UNMEASURED: &[When] = &[When::is("measured_macs_per_cycle", &["null"])];

/// Where it also waits for sums that are rounded.
const UNMEASURED_ROUNDED: &[When] = &[UNMEASURED[0], laws::ROUNDED[0]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_design_fits_its_device() {
        for design in DESIGNS.all() {
            let KernelDesign { device, precision, m_ct, k_ct, n_ct, k_mt, output_buffers } =
                design.parameters;
            let default = GemmStudy::default();
            let study = GemmStudy { device, precision, m_ct, k_ct, n_ct, k_mt, output_buffers, ..default };
            assert!(study.answer().is_ok(), "{}: {}", design.name, study.answer().unwrap_err());
        }
    }

    fn check(change: impl FnOnce(&mut GemmStudy), expected: &str) {
        let mut study = GemmStudy::default();
        change(&mut study);
        assert_eq!(study.answer().unwrap_err().to_string(), expected);
    }

    /// One block is read, multiplied and written, and shares the bus with nobody.
    #[test]
    fn the_first_reads_and_the_last_writes_have_the_bus_for_themselves() {
        let design = DESIGNS.get("xdna2-int8-int32");
        let KernelDesign { device, precision, m_ct, k_ct, n_ct, k_mt, output_buffers } = *design;
        let one = NonZeroU64::MIN;
        let default = GemmStudy::default();
        let mut study = GemmStudy {
            device,
            precision,
            m: one,
            k: one,
            n: one,
            m_ct,
            k_ct,
            n_ct,
            k_mt,
            output_buffers,
            ..default
        };
        // 50 GB/s, as much as a port takes by itself.
        study.device.dram.data_rate_mt_s = memscape_units::MtPerS::new(3125.0).unwrap();
        let port = 50.0;
        let c = 4.0 * 4.0 * 8.0 * f64::from(m_ct.get()) * f64::from(n_ct.get());
        let (written, answer) = (c / port, study.answer().unwrap());
        let drain = 4.0 * f64::from(m_ct.get()) * f64::from(n_ct.get()) / 8.0 / 1.8;
        assert!((answer.epilogue_ns / (drain + written) - 1.0).abs() < 1e-6, "{answer:?}");
        // A second block is read while the first leaves, but nothing comes while it leaves itself.
        let two = GemmStudy { n: NonZeroU64::new(8 * u64::from(n_ct.get()) + 1).unwrap(), ..study };
        assert!((two.answer().unwrap().epilogue_ns / answer.epilogue_ns - 1.0).abs() < 1e-12);
        let [first, second] = [0, 1].map(|it| two.schedule().unwrap().transfers(it));
        assert!(first[0] < second[0] && first[1] > second[1]);
        let events = GemmStudy { engine: CostEngine::Events, ..study }.answer().unwrap();
        assert!((events.time_ns / answer.time_ns - 1.0).abs() < 1e-12);
    }

    #[test]
    fn descriptors_that_nobody_writes_anew_bind_nothing() {
        let mut study = GemmStudy::default();
        study.device.bd_cycles = memscape_units::Cycles::new(1e9).unwrap();
        let block = |it: u16, count: u64| NonZeroU64::new(4 * u64::from(it) * count).unwrap();
        let of = |blocks: u64| {
            let (m, n) = (block(study.m_ct.get(), blocks), block(study.n_ct.get(), 1));
            GemmStudy { m, n, ..study }.answer().unwrap().bottleneck
        };
        assert_ne!(of(5), Bottleneck::Commands, "five blocks ahead");
        assert_eq!(of(6), Bottleneck::Commands);
    }

    #[test]
    fn a_product_of_one_element_is_bound_by_handing_it_over() {
        let one = NonZeroU64::MIN;
        let mut study = GemmStudy { m: one, k: one, n: one, ..GemmStudy::default() };
        assert_eq!(study.answer().unwrap().bottleneck, Bottleneck::Dispatch);
        study.device.dispatch_ns = memscape_units::Nanoseconds::ZERO;
        assert_eq!(study.answer().unwrap().bottleneck, Bottleneck::Compute);
    }

    #[test]
    fn matrices_that_memory_does_not_hold_are_refused() {
        let size = |it: u64| NonZeroU64::new(it).unwrap();
        let study = GemmStudy { m: size(1_000_000), k: size(100_000), ..GemmStudy::default() };
        let error = study.answer().unwrap_err().to_string();
        assert_eq!(
            error,
            "A, B and C take 104.4 GB, but `memory_gb` allows 32.00 GB: 72.44 GB are missing; use `memory_gb` = \
             104.436 at least, or a smaller product"
        );
        let memory_gb = serde_json::from_value(serde_json::json!(104.436)).unwrap();
        GemmStudy { memory_gb, ..study }.answer().unwrap();
    }

    /// What binds few blocks is told over all of them: one set of descriptors of six, reads beside which nothing leaves.
    #[test]
    fn what_binds_few_blocks_is_no_more_than_they_have() {
        let size = |it: u64| NonZeroU64::new(it).unwrap();
        let of = |m, k, n| GemmStudy { m: size(m), k: size(k), n: size(n), ..GemmStudy::default() };
        let six = of(2688, 448, 448);
        let mut without = six;
        without.device.bd_cycles = memscape_units::Cycles::ZERO;
        let [six, without] = [six, without].map(|it| it.answer().unwrap());
        assert_eq!((six.time_ns, six.bottleneck), (without.time_ns, Bottleneck::Compute));
        let mut one = of(100, 4032, 100);
        one.device.dram.data_rate_mt_s = memscape_units::MtPerS::new(1000.0).unwrap();
        assert_eq!(one.answer().unwrap().bottleneck, Bottleneck::Compute);
    }

    /// Each tile of A has a descriptor, on whichever column it is streamed.
    #[test]
    fn rows_that_share_a_column_share_no_descriptor() {
        let set = |change: fn(&mut GemmStudy)| {
            let bds_in_flight = NonZeroU8::MIN;
            let mut study = GemmStudy { bds_in_flight, ..GemmStudy::default() };
            change(&mut study);
            (study.schedule().unwrap().descriptors, study.answer().unwrap().occupancy.descriptor_share)
        };
        let (set_of_12, share) = set(|_| ());
        assert!((share - 3.0 / 16.0).abs() < 1e-12);
        let (moved, share) = set(|it| it.device.a_column_stride = NonZeroU8::new(4).unwrap());
        assert_eq!(moved, set_of_12);
        assert!((share - 6.0 / 16.0).abs() < 1e-12, "four tiles of A on one column");
        let (narrow, share) = set(|it| {
            it.device.columns = NonZeroU8::new(2).unwrap();
            it.k_mt = NonZeroU16::new(224).unwrap();
        });
        assert_eq!(narrow * 3, set_of_12 * 2);
        assert!((share - 4.0 / 16.0).abs() < 1e-12);
    }

    /// A core that was measured alone waits for its tiles in the array.
    #[test]
    fn no_measurement_outruns_the_dma() {
        let some = |it| NonZeroU16::new(it).unwrap();
        let measured = |measured_macs_per_cycle| {
            GemmStudy {
                precision: Precision::Int8Int32,
                m_ct: some(48),
                k_ct: some(280),
                n_ct: some(48),
                k_mt: some(280),
                output_buffers: OutputBuffers::Single,
                measured_macs_per_cycle,
                ..GemmStudy::default()
            }
            .answer()
        };
        let [fed, above, below] = [192.0, 256.0, 100.0].map(|it| measured(Some(it)).unwrap());
        assert_eq!(above, fed);
        assert!((above.macs_per_cycle - 192.0).abs() < 1e-9 && below.compute_ns > 1.9 * fed.compute_ns);
    }

    #[test]
    fn bad_designs_are_told_with_their_budget() {
        let some = |it| NonZeroU16::new(it).unwrap();
        check(
            |it| it.k_mt = some(300),
            "`k_mt` is 300, which is not a multiple of `k_ct` = 112; use 336 or 224",
        );
        check(
            |it| it.k_mt = some(2240),
            "`k_mt` = 2240 needs 1.005 MiB in the fullest memory tile (490 KiB for A and 490 KiB for B, two \
             buffers each, 49 KiB for C) and 2.01 MiB with its neighbour, but it holds 512 KiB; use a `k_mt` \
             of at most 1008 or a smaller tile",
        );
        check(
            |it| it.bds_in_flight = NonZeroU8::new(6).unwrap(),
            "`bds_in_flight` is 6: with 6 times 3 descriptors (1 for A, one each for B and C) an interface tile \
             needs 18, but it has 16; use 1 to 5, or more `device.shim_bds`",
        );
        // Four rows on two columns: two tiles of A each.
        check(
            |it| {
                (it.k, it.k_mt) = (NonZeroU64::new(224).unwrap(), some(224));
                it.device.columns = NonZeroU8::new(2).unwrap();
            },
            "`bds_in_flight` is 5: with 5 times 4 descriptors (2 for A, one each for B and C) an interface tile \
             needs 20, but it has 16; use 1 to 4, or more `device.shim_bds`",
        );
        check(
            |it| it.measured_macs_per_cycle = Some(300.0),
            "`measured_macs_per_cycle` is 300; it must be above 0 and at most 256, the peak of one core for \
             `int8-int8`",
        );
        check(
            |it| it.m = NonZeroU64::MAX,
            "`m` is 18446744073709551615; a GEMM's dimensions must be from 1 to 2147483648",
        );
    }
}
