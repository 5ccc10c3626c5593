//! How the studies are asked here.

use std::borrow::Borrow;
use std::num::{NonZeroU32, NonZeroU64};

use memscape_riscv::kernels::Kernel;
use memscape_riscv::placement::Policy;
use memscape_riscv::{InferenceAnswer, InferenceStudy};
use memscape_study::Study;
use memscape_workload::Model;
use proptest::prelude::*;

pub fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

pub fn tokens(value: u64) -> NonZeroU64 {
    NonZeroU64::new(value).unwrap()
}

pub fn ask(study: impl Borrow<InferenceStudy>) -> InferenceAnswer {
    study.borrow().answer().unwrap()
}

pub fn token_ns(study: impl Borrow<InferenceStudy>) -> f64 {
    ask(study).headline.token_ns
}

pub fn ttft_s(study: impl Borrow<InferenceStudy>) -> f64 {
    ask(study).headline.ttft_s
}

pub fn error(study: impl Borrow<InferenceStudy>) -> String {
    study.borrow().answer().unwrap_err().to_string()
}

pub fn policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(Policy::ALL.to_vec())
}

pub fn kernel() -> impl Strategy<Value = Kernel> {
    prop::sample::select(Kernel::ALL.to_vec())
}

prop_compose! {
    pub fn study()(
        policy in policy(), kernel in kernel(), threads in 1..65_u32, prompt in 1..200_u64, generated in 1..200_u64,
        model in prop::sample::select(Model::all().filter(|it| it.parameters() < if it.experts.is_some() { 50_000_000_000 } else { 20_000_000_000 }).collect::<Vec<_>>()),
    ) -> InferenceStudy {
        InferenceStudy {
            policy,
            kernel,
            threads: count(threads),
            prompt_tokens: tokens(prompt),
            generated_tokens: tokens(generated),
            model,
            ..InferenceStudy::default()
        }
    }
}

pub fn base_model() -> Model {
    InferenceStudy::default().model
}
