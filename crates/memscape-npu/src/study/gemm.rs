//! The study `npu.gemm`: one matrix product on the whole array.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU64};
use std::sync::LazyLock;

use memscape_study::{CostEngine, Filling, PresetParameter, Study, StudyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::array::{BLayout, BdReconfiguration, Bottleneck, Design, DramSharing, Schedule};
use crate::device::{Device, Precision};
use crate::kernel::{Kernel, L1Rule, OutputBuffers, Tile};
use crate::{closed, events};

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
    /// Whether reading and writing DRAM share one bandwidth
    pub dram_sharing: DramSharing,
    /// Multiply-accumulates per cycle of one core as measured, instead of the kernel model's
    pub measured_macs_per_cycle: Option<f64>,
    /// Closed form, or event by event
    pub engine: CostEngine,
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
    /// What takes longest per block of C
    pub bottleneck: Bottleneck,
    /// Throughput of one core in multiply-accumulates per cycle
    pub macs_per_cycle: f64,
    /// Throughput of one core over its peak
    pub efficiency: f64,
    /// Throughput of the array if nothing but the cores took time
    pub peak_tops: f64,
    /// Operations per byte of A, B and C
    pub arithmetic_intensity: f64,
    /// Compute time of Eq. 9
    pub eq9_compute_ns: f64,
    /// Memory time of Eq. 10, at the bandwidth of long runs
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
}

/// A throughput that no core can have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "`measured_macs_per_cycle` is {given}; it must be above 0 and at most {peak}, the peak of one core for \
     `{precision}`"
)]
pub struct BadMeasurement {
    /// As given.
    given: f64,
    /// The peak.
    peak: f64,
    /// The precision.
    precision: Precision,
}

impl Default for GemmStudy {
    /// A square int8 product of about 4K on XDNA, with the paper's balanced kernel.
    fn default() -> Self {
        static BASELINE: LazyLock<GemmStudy> = LazyLock::new(|| {
            let mut tree = find_design(DEFAULT_DESIGN).expect("the default design is built in").parameters;
            let rest = serde_json::json!({
                "m": 4032, "k": 4032, "n": 4032, "b_layout": "column-major", "l1_rule": "below",
                "bd_reconfiguration": "overlapped", "bds_in_flight": 5, "dram_sharing": "duplex",
                "measured_macs_per_cycle": null, "engine": "closed",
            });
            for (key, value) in rest.as_object().expect("an object") {
                tree[key] = value.clone();
            }
            serde_json::from_value(tree).expect("the baseline is checked by tests")
        });
        *BASELINE
    }
}

impl GemmStudy {
    /// What is chosen for the array, without the size of the product.
    #[must_use]
    pub fn design(&self) -> Design {
        Design {
            precision: self.precision,
            tile: Tile { m: self.m_ct.get().into(), k: self.k_ct.get().into(), n: self.n_ct.get().into() },
            k_mt: self.k_mt.get().into(),
            b_layout: self.b_layout,
            output_buffers: self.output_buffers,
            l1_rule: self.l1_rule,
            bd_reconfiguration: self.bd_reconfiguration,
            bds_in_flight: self.bds_in_flight.get().into(),
            dram_sharing: self.dram_sharing,
            measured_macs_per_cycle: self.measured_macs_per_cycle,
        }
    }

    /// Rows of A, columns of A, columns of B.
    #[must_use]
    pub fn size(&self) -> [u64; 3] {
        [self.m.get(), self.k.get(), self.n.get()]
    }

    /// The product cut for the array, and its kernel.
    ///
    /// # Errors
    /// [`StudyError`] says what does not fit.
    pub fn schedule(&self) -> Result<(Schedule, Kernel), StudyError> {
        let (kernel, ..) = self.design().check(&self.device)?;
        self.check_measurement(&kernel)?;
        Ok((Schedule::new(&self.device, &self.design(), &kernel, self.size())?, kernel))
    }

    fn check_measurement(&self, kernel: &Kernel) -> Result<(), BadMeasurement> {
        let peak = f64::from(kernel.mmul.macs()) / f64::from(kernel.mmul.issue_cycles.get());
        match self.measured_macs_per_cycle {
            Some(given) if !(given > 0.0 && given <= peak) => {
                Err(BadMeasurement { given, peak, precision: self.precision })
            }
            _ => Ok(()),
        }
    }
}

impl Study for GemmStudy {
    const NAME: &'static str = "npu.gemm";
    const SUMMARY: &'static str = "One matrix product on a Ryzen AI NPU, from DRAM to DRAM";
    type Answer = GemmAnswer;

    fn presets() -> Vec<PresetParameter> {
        presets()
    }

    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^32, times to a day")]
    fn answer(&self) -> Result<GemmAnswer, StudyError> {
        let (device, design) = (&self.device, self.design());
        let (kernel, l1, l2) = design.check(device)?;
        self.check_measurement(&kernel)?;
        let schedule = Schedule::new(device, &design, &kernel, self.size())?;
        let times = match self.engine {
            CostEngine::Closed => closed::count(&schedule),
            CostEngine::Events => events::walk(&schedule, &mut |_| ()),
        };

        let [m, k, n] = self.size().map(|it| it as f64);
        let native = design.native(device);
        let padded = [0, 1, 2].map(|it| self.size()[it].next_multiple_of(native[it]));
        let [padded_m, padded_k, padded_n] = padded.map(|it| it as f64);
        let input = f64::from(self.precision.input_bytes());
        let output = f64::from(self.precision.output_bytes());
        let macs_per_cycle = self.measured_macs_per_cycle.unwrap_or_else(|| kernel.macs_per_cycle());
        let peak_tops = device.tops(macs_per_cycle);
        let operations = 2.0 * m * k * n;
        let time_ns = times.total.as_ns();

        // Eq. 6 to 8.
        let [native_m, _, native_n] = native.map(|it| it as f64);
        let traffic =
            |m: f64, k: f64, n: f64| (m * k * n * input * (1.0 / native_n + 1.0 / native_m), m * n * output);
        let (read, write) = traffic(padded_m, padded_k, padded_n);
        let (asked_read, asked_write) = traffic(m, k, n);
        let capacity = f64::from(device.l2_bytes.get()) * f64::from(device.columns.get());
        Ok(GemmAnswer {
            tops: operations / time_ns * 1e-3,
            time_ns,
            compute_ns: times.compute.as_ns(),
            input_wait_ns: times.input_wait.as_ns(),
            output_wait_ns: times.output_wait.as_ns(),
            epilogue_ns: times.epilogue.as_ns(),
            dispatch_ns: times.dispatch.as_ns(),
            bottleneck: schedule.bottleneck(),
            macs_per_cycle,
            efficiency: macs_per_cycle * f64::from(kernel.mmul.issue_cycles.get())
                / f64::from(kernel.mmul.macs()),
            peak_tops,
            arithmetic_intensity: operations / ((m * k + k * n) * input + m * n * output),
            eq9_compute_ns: operations / peak_tops * 1e-3,
            eq10_memory_ns: (asked_read + asked_write) / device.dram.read_gb_s.as_f64(),
            dram_read_bytes: read,
            dram_write_bytes: write,
            dram_read_gb_s: read / (schedule.load * (schedule.steps * schedule.blocks)).as_ns(),
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
        })
    }
}

/// A kernel that the paper names, with its device and step.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedDesign {
    /// Device, precision, and what it is if not the balanced one, for example
    /// `xdna2-int8-int16`.
    pub name: String,
    /// Name of the device.
    pub device: String,
    /// Types.
    pub precision: Precision,
    /// Rows of A and C in L1.
    pub m_ct: u16,
    /// Columns of A and rows of B in L1.
    pub k_ct: u16,
    /// Columns of B and C in L1.
    pub n_ct: u16,
    /// Length of the reduction in memory tiles.
    pub k_mt: u16,
    /// Buffers of C in L1.
    pub output_buffers: OutputBuffers,
    /// Where tile and step come from.
    pub source: String,
}

static DESIGNS: LazyLock<Vec<NamedDesign>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        design: Vec<NamedDesign>,
    }
    let text = include_str!("../../../data/hardware/npu/designs.toml");
    toml::from_str::<File>(text).expect("the built-in designs are checked by tests").design
});

/// The design of [`GemmStudy::default`].
pub const DEFAULT_DESIGN: &str = "xdna-int8-int8";

/// The built-in designs.
#[must_use]
pub fn designs() -> &'static [NamedDesign] {
    &DESIGNS
}

fn design_names() -> Vec<&'static str> {
    DESIGNS.iter().map(|it| it.name.as_str()).collect()
}

/// What a design fills in: device, precision, tile, step and buffers of C.
#[must_use]
pub fn find_design(name: &str) -> Option<Filling> {
    let design = DESIGNS.iter().find(|it| it.name == name)?;
    let device = Device::filling(&design.device)?;
    let mut sources: std::collections::BTreeMap<_, _> =
        device.sources.into_iter().map(|(path, source)| (format!("device.{path}"), source)).collect();
    for key in ["precision", "m_ct", "k_ct", "n_ct", "k_mt", "output_buffers"] {
        sources.insert(key.to_owned(), design.source.clone());
    }
    Some(Filling {
        parameters: serde_json::json!({
            "device": device.parameters,
            "precision": design.precision,
            "m_ct": design.m_ct,
            "k_ct": design.k_ct,
            "n_ct": design.n_ct,
            "k_mt": design.k_mt,
            "output_buffers": design.output_buffers,
        }),
        sources,
    })
}

/// The presets of studies that name a design.
pub(crate) fn presets() -> Vec<PresetParameter> {
    let meaning = "Kernel of the paper that fills `device.*`, `precision`, tile, step and buffers of C";
    vec![design_preset(meaning, find_design), Device::preset()]
}

/// The presets of studies of one core, which have no step.
pub(crate) fn kernel_presets() -> Vec<PresetParameter> {
    let find = |name: &str| {
        let mut filling = find_design(name)?;
        filling.parameters.as_object_mut()?.remove("k_mt");
        filling.sources.remove("k_mt");
        Some(filling)
    };
    let meaning = "Kernel of the paper that fills `device.*`, `precision`, tile and buffers of C";
    vec![design_preset(meaning, find), Device::preset()]
}

fn design_preset(meaning: &'static str, find: fn(&str) -> Option<Filling>) -> PresetParameter {
    PresetParameter { name: "design", meaning, fills: "", default: DEFAULT_DESIGN, names: design_names, find }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_design_fits_its_device() {
        for design in designs() {
            let mut tree = serde_json::to_value(GemmStudy::default()).unwrap();
            for (key, value) in find_design(&design.name).unwrap().parameters.as_object().unwrap() {
                tree[key] = value.clone();
            }
            let study: GemmStudy = serde_json::from_value(tree).unwrap();
            assert!(study.answer().is_ok(), "{}: {}", design.name, study.answer().unwrap_err());
        }
    }

    fn check(change: impl FnOnce(&mut GemmStudy), expected: &str) {
        let mut study = GemmStudy::default();
        change(&mut study);
        assert_eq!(study.answer().unwrap_err().to_string(), expected);
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
            "`bds_in_flight` is 6: with 6 descriptors each for A, B and C an interface tile needs 18, but it \
             has 16; use 1 to 5",
        );
        check(
            |it| it.measured_macs_per_cycle = Some(300.0),
            "`measured_macs_per_cycle` is 300; it must be above 0 and at most 256, the peak of one core for \
             `int8-int8`",
        );
        check(
            |it| it.m = NonZeroU64::MAX,
            "`m` is 18446744073709551615; a GEMM's dimensions must be from 1 to 4294967296",
        );
    }
}
