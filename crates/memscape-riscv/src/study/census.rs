//! The study `riscv.census`: what is multiplied, and by whom.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{Aim, Laws, Slot, Study, StudyError, faster, neutral, slower};
use memscape_units::float;
use memscape_workload::{AS_STACKED, FileType, MODELS, Model, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::inferred;
use crate::mapping::census::{Census, OutputRows, Run, check_dense, check_length};
use crate::mapping::dispatch::{Criteria, shares};
use crate::mapping::quant::{FILE_FORMAT, check_stored};
use crate::number::long;

/// The model of the thesis.
const DEFAULT_MODEL: &str = "llama-2-7b";

/// The matrix products of a llama.cpp run, and who makes them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CensusStudy {
    /// Language model
    pub model: Model,
    /// Whether Q, K and V (and gate and up) are one matrix; as in the model's files (one in Phi-3 and Falcon) unless
    /// given
    pub projections: Projections,
    /// File of llama.cpp's quantiser: how most weights are stored, and by its rule the others; as a GGUF file is, if
    /// it is one of these, unless given
    pub format: FileType,
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated
    #[schemars(range(min = 1, max = 16_777_216))]
    pub generated_tokens: NonZeroU64,
    /// How often the run is made, or each product logged
    #[schemars(range(min = 1, max = 1_048_576))]
    pub repetitions: NonZeroU32,
    /// Tokens of the warm-up; 0 without one
    #[schemars(range(min = 0, max = 16_777_216))]
    pub warm_up_tokens: u64,
    /// Cells that the attended part of the cache is rounded up to
    #[schemars(range(min = 1, max = 16_777_216), extend("unit" = "cells"))]
    pub kv_padding: NonZeroU64,
    /// Most columns of one graph (llama.cpp's `n_ubatch`)
    #[schemars(range(min = 1, max = 16_777_216))]
    pub ubatch_tokens: NonZeroU64,
    /// Rows that the last layer computes after its attention
    pub output_rows: OutputRows,
    /// What is asked of a product before BLAS or the custom kernel may have it
    pub dispatch: Criteria,
}

/// What `riscv.census` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CensusAnswer {
    /// Matrix products of the run
    pub products: u64,
    /// Different shapes among them
    pub shapes: u64,
    /// Share of products with one column: matrix-vector products
    pub vector_share: f64,
    /// Share of products with the columns of the warm-up's first graph
    pub warm_up_share: f64,
    /// Share of products with the columns of the prompt's first graph
    pub prompt_share: f64,
    /// Share made by BLAS
    pub blas_share: f64,
    /// Share made by the thesis' kernel
    pub custom_share: f64,
    /// Share made by llama.cpp's own code
    pub default_share: f64,
    /// Share kept from BLAS by a dimension alone
    pub dimension_only_share: f64,
    /// Share kept from BLAS by contiguity alone
    pub contiguity_only_share: f64,
    /// Share kept from BLAS by both
    pub dimension_and_contiguity_share: f64,
}

impl Default for CensusStudy {
    /// The run of Table 4.2.
    fn default() -> Self {
        Self {
            model: Model::named(DEFAULT_MODEL).expect("a built-in model"),
            projections: Projections::Separate,
            format: FileType::Q4_0,
            prompt_tokens: long(6),
            generated_tokens: inferred("table4_2", "generated_tokens"),
            repetitions: NonZeroU32::try_from(inferred("table4_2", "repetitions")).expect("a few"),
            warm_up_tokens: 2,
            kv_padding: long(32),
            ubatch_tokens: long(512),
            output_rows: OutputRows::Last,
            dispatch: Criteria::default(),
        }
    }
}

impl CensusStudy {
    /// What llama.cpp is asked to do.
    #[must_use]
    pub const fn run(&self) -> Run {
        Run {
            prompt_tokens: self.prompt_tokens,
            generated_tokens: self.generated_tokens,
            repetitions: self.repetitions,
            warm_up_tokens: self.warm_up_tokens,
            kv_padding: self.kv_padding,
            ubatch_tokens: self.ubatch_tokens,
            output_rows: self.output_rows,
        }
    }
}

impl CensusStudy {
    /// Whether the run can be counted.
    ///
    /// # Errors
    /// [`StudyError`] if the model has experts, or the run is too long.
    pub fn check(&self) -> Result<(), StudyError> {
        check_dense(&self.model)?;
        check_length(self.prompt_tokens.get().max(self.warm_up_tokens), self.generated_tokens.get())?;
        Ok(self.run().check()?)
    }
}

impl Study for CensusStudy {
    const NAME: &'static str = "riscv.census";
    const SUMMARY: &'static str = "Which matrix products a llama.cpp run makes, and which code ggml chooses";
    type Answer = CensusAnswer;

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("products")),
        effects: &[&[
            slower("prompt_tokens"),
            slower("generated_tokens"),
            slower("repetitions"),
            slower("warm_up_tokens"),
            neutral("kv_padding"),
            faster("ubatch_tokens"),
            neutral("dispatch.min_rows"),
            neutral("dispatch.min_columns"),
            neutral("dispatch.min_shared"),
        ]],
        ..Laws::NONE
    };

    fn slots() -> Vec<Slot> {
        vec![Slot::part("model", &MODELS, DEFAULT_MODEL).implying(&[FILE_FORMAT, AS_STACKED])]
    }

    fn answer(&self) -> Result<CensusAnswer, StudyError> {
        check_stored(self.format, &self.model, self.projections)?;
        self.check()?;
        let run = self.run();
        let census = Census::of(&self.model, self.projections, &run);
        let total = float(census.total());
        let columns = |tokens: u64| {
            let columns = tokens.min(self.ubatch_tokens.get());
            if columns == 0 { 0.0 } else { float(census.with_columns(columns)) / total }
        };
        let shares = shares(&self.model, self.projections, &run, self.format, &self.dispatch);
        Ok(CensusAnswer {
            products: census.total(),
            shapes: census.by_shape().len() as u64,
            vector_share: columns(1),
            warm_up_share: columns(self.warm_up_tokens),
            prompt_share: columns(self.prompt_tokens.get()),
            blas_share: shares.blas,
            custom_share: shares.custom,
            default_share: shares.default,
            dimension_only_share: shares.dimension_only,
            contiguity_only_share: shares.contiguity_only,
            dimension_and_contiguity_share: shares.dimension_and_contiguity,
        })
    }
}
