//! A CXL memory expander: what its link can carry, and what a model pays for it.
//! The example of how a system's figures and printed numbers are added.

mod layers;
mod link;

use crate::experiment::Experiment;
use crate::paper::Paper;

pub const PAPER: Paper = Paper {
    id: "cxl",
    experiments: &[
        Experiment::new(
            "cxl.link",
            "What a link carries, both directions",
            "PCI Express 5.0 and 6.0.",
            link::table,
            link::plot,
        ),
        Experiment::new(
            "cxl.layers",
            "Tokens per second with layers in the expander, by format",
            "Llama 2 70B, batch 1, prompt 128, reply 128; an accelerator with a CXL memory expander.",
            layers::table,
            layers::plot,
        ),
    ],
    published: include_str!("../../../../data/published/cxl.toml"),
};
