//! The study `ondevice.roofline`: what rearranging weights online costs at peak
//! rates, from arithmetic intensity alone (Table 2 and Sec. 7).

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{Filling, Preset, PresetParameter, Study, StudyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// DRAM transactions per byte of weights of a swizzled copy: read the weight, read
/// the destination into the cache, write it back.
pub const COPY_TRANSACTIONS: u32 = 3;

/// GEMM at peak rates beside an online rearrangement of its weights, in units of
/// the time `t` that reading the weights once takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RooflineStudy {
    /// Tokens of the prompt
    pub input_tokens: NonZeroU64,
    /// Peak compute rate over peak bandwidth, for weights of two bytes
    #[schemars(range(min = 1e-3, max = 1e6))]
    pub flop_per_byte: f64,
    /// DRAM transactions of the rearrangement per byte: 3 through caches, 2 with stores that
    /// bypass them, 1 to on-chip memory
    pub copy_transactions: NonZeroU32,
}

/// What `ondevice.roofline` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RooflineAnswer {
    /// GEMM, in units of `t`
    pub gemm_t: f64,
    /// Rearrangement, in units of `t`
    pub online_t: f64,
    /// One after the other (OWR), in units of `t`
    pub serial_t: f64,
    /// At the same time (DDB), in units of `t`
    pub overlapped_t: f64,
    /// One after the other over GEMM alone, in percent
    pub serial_percent: f64,
    /// At the same time over GEMM alone, in percent
    pub overlapped_percent: f64,
    /// Rate of prompt tokens one after the other, over that of GEMM alone
    pub serial_performance: f64,
    /// Rate of prompt tokens at the same time, over that of GEMM alone
    pub overlapped_performance: f64,
    /// Least prompt that hides the rearrangement
    pub hiding_tokens: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`flop_per_byte` is {0}; it must be from 0.001 to 1e6")]
pub struct FlopPerByteError(f64);

impl Default for RooflineStudy {
    /// 128 tokens on the paper's phone, as Table 2 rounds it.
    fn default() -> Self {
        Self {
            input_tokens: NonZeroU64::new(128).expect("not zero"),
            flop_per_byte: 4.0,
            copy_transactions: NonZeroU32::new(COPY_TRANSACTIONS).expect("not zero"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    flop_per_byte: f64,
    copy_transactions: NonZeroU32,
}

fn hosts() -> &'static [Preset<Host>] {
    static HOSTS: std::sync::LazyLock<Vec<Preset<Host>>> = std::sync::LazyLock::new(|| {
        [
            include_str!("../../../data/hardware/ondevice/hosts/galaxy-s24-plus-cpu.toml"),
            include_str!("../../../data/hardware/ondevice/hosts/jetson-agx-orin-gpu.toml"),
            include_str!("../../../data/hardware/ondevice/hosts/b100-gpu.toml"),
            include_str!("../../../data/hardware/ondevice/hosts/xdna2-npu.toml"),
        ]
        .iter()
        .map(|it| Preset::from_toml(it).expect("the built-in hosts are checked by tests"))
        .collect()
    });
    &HOSTS
}

/// Names of the built-in hosts, the paper's first.
#[must_use]
pub fn host_names() -> Vec<&'static str> {
    hosts().iter().map(|it| it.name.as_str()).collect()
}

fn find_host(name: &str) -> Option<Filling> {
    let host = hosts().iter().find(|it| it.name == name)?;
    let parameters = serde_json::to_value(host.parameters).ok()?;
    Some(Filling { parameters, sources: host.sources.clone() })
}

impl Study for RooflineStudy {
    const NAME: &'static str = "ondevice.roofline";
    const SUMMARY: &'static str =
        "What rearranging weights online costs at peak rates, by prompt and FLOP per byte";
    type Answer = RooflineAnswer;

    fn presets() -> Vec<PresetParameter> {
        vec![PresetParameter {
            name: "host",
            meaning: "Processor that fills `flop_per_byte` and `copy_transactions`",
            fills: "",
            default: "galaxy-s24-plus-cpu",
            names: host_names,
            find: find_host,
        }]
    }

    #[expect(clippy::cast_precision_loss, reason = "prompts stay far below 2^53")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    fn answer(&self) -> Result<RooflineAnswer, StudyError> {
        if !(1e-3..=1e6).contains(&self.flop_per_byte) {
            return Err(FlopPerByteError(self.flop_per_byte).into());
        }
        let online = f64::from(self.copy_transactions.get());
        let gemm = (self.input_tokens.get() as f64 / self.flop_per_byte).max(1.0);
        let (serial, overlapped) = (gemm + online, gemm.max(online));
        Ok(RooflineAnswer {
            gemm_t: gemm,
            online_t: online,
            serial_t: serial,
            overlapped_t: overlapped,
            serial_percent: 100.0 * serial / gemm,
            overlapped_percent: 100.0 * overlapped / gemm,
            serial_performance: gemm / serial,
            overlapped_performance: gemm / overlapped,
            hiding_tokens: if online <= 1.0 { 1 } else { (online * self.flop_per_byte).ceil() as u64 },
        })
    }
}
