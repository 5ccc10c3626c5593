//! The study `ondevice.roofline`: what rearranging weights online costs at peak
//! rates, from arithmetic intensity alone (Table 2 and Sec. 7).

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{Bound, Laws, Slot, Study, StudyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws;
use crate::hardware::{HOSTS, Host};

/// GEMM at peak rates beside an online rearrangement of its weights, in units of
/// the time `t` that reading the weights once takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RooflineStudy {
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Peak compute rate over peak bandwidth, for weights of two bytes
    #[schemars(range(min = 1e-3, max = 1e6))]
    pub flop_per_byte: f64,
    /// DRAM transactions of the rearrangement per byte: 3 through caches, 2 with stores that
    /// bypass them, 1 to on-chip memory
    pub copy_transactions: NonZeroU32,
    /// What a rearrangement beside GEMM leaves GEMM of the bandwidth
    pub overlap: Overlap,
}

/// What a rearrangement and a GEMM at the same time take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// One memory serves both: GEMM reads what was rearranged, once, unless that lies on the chip.
    SharedBandwidth,
    /// The longer of both alone, as Table 2 has it: what GEMM reads is not counted.
    AsPrinted,
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

impl Default for RooflineStudy {
    /// 128 tokens on the paper's phone, as Table 2 rounds it.
    fn default() -> Self {
        let Host { flop_per_byte, copy_transactions } = *HOSTS.get(HOST);
        let prompt_tokens = NonZeroU64::new(128).expect("not zero");
        Self { prompt_tokens, flop_per_byte, copy_transactions, overlap: Overlap::SharedBandwidth }
    }
}

const HOST: &str = "galaxy-s24-plus-cpu";

impl RooflineStudy {
    /// What the memory moves while GEMM and rearrangement run at the same time, in units of `t`.
    fn moved_t(&self) -> f64 {
        let copies = f64::from(self.copy_transactions.get());
        let reads = self.overlap == Overlap::SharedBandwidth && self.copy_transactions > NonZeroU32::MIN;
        copies + if reads { 1.0 } else { 0.0 }
    }
}

impl Study for RooflineStudy {
    const NAME: &'static str = "ondevice.roofline";
    const SUMMARY: &'static str =
        "What rearranging weights online costs at peak rates, by prompt and FLOP per byte";
    type Answer = RooflineAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[("serial_t", &["gemm_t", "online_t"])];

    const LAWS: Laws = laws::ROOFLINE;

    /// Table 2's own sum is below it.
    fn bounds(&self) -> Vec<Bound> {
        let least =
            || Bound::at_least("overlapped_t", self.moved_t(), "what both move over one memory's peak");
        (self.overlap == Overlap::SharedBandwidth).then(least).into_iter().collect()
    }

    fn slots() -> Vec<Slot> {
        vec![Slot::whole("host", &HOSTS, HOST)]
    }

    #[expect(clippy::cast_precision_loss, reason = "prompts stay far below 2^53")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    fn answer(&self) -> Result<RooflineAnswer, StudyError> {
        let (flop_per_byte, copy_transactions) = (self.flop_per_byte, self.copy_transactions);
        Host { flop_per_byte, copy_transactions }.check()?;
        let online = f64::from(self.copy_transactions.get());
        let gemm = (self.prompt_tokens.get() as f64 / self.flop_per_byte).max(1.0);
        let (moved, serial) = (self.moved_t(), gemm + online);
        let overlapped = gemm.max(moved);
        Ok(RooflineAnswer {
            gemm_t: gemm,
            online_t: online,
            serial_t: serial,
            overlapped_t: overlapped,
            serial_percent: 100.0 * serial / gemm,
            overlapped_percent: 100.0 * overlapped / gemm,
            serial_performance: gemm / serial,
            overlapped_performance: gemm / overlapped,
            hiding_tokens: if moved <= 1.0 { 1 } else { (moved * self.flop_per_byte).ceil() as u64 },
        })
    }
}
