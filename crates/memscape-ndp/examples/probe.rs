//! scratch
use memscape_ndp::*;
use memscape_ndp::inference::*;
use memscape_ndp::online::Strategy;
use memscape_study::Study;
use std::time::Instant;
fn st(model: &str) -> InferenceStudy { InferenceStudy{ model: Some(serde_json::from_value(model.into()).unwrap()), ..Default::default()} }
fn main() {
    for m in ["opt-13b","opt-30b","opt-66b","llama-2-13b","falcon-40b","llama-2-70b"] {
        for s in [System::Hermes, System::HermesHost, System::HermesBase, System::Accelerate, System::Flexgen, System::DejaVu] {
            let mut q = st(m); q.system = s;
            let t = Instant::now();
            match q.answer() { Ok(a) => println!("{m:12} {s:?}: {:.3} tok/s prompt {:.2}s step {:.2} fc {:.2} att {:.2} comm {:.2} pred {:.3} gpu {:.2} cold {:.2} hot {:.3} gread {:.3} imb {:.3} swaps {:.0} pcie {:.3}, predc {:.3} linkmig {:.5} hostmig {:.4} {:?}", a.tokens_per_s,a.prompt_s,a.step_ms,a.fc_ms,a.attention_ms,a.communication_ms,a.predictor_ms,a.gpu_ms,a.cold_ms,a.hot_share_used,a.gpu_read_share,a.imbalance,a.swaps_per_token,a.pcie_run_share,a.predictor_compute_share,a.link_migration_share,a.host_migration_share,t.elapsed()), Err(e) => println!("{m} {s:?}: {e}") }
        }
    }
    let only: Vec<String> = std::env::args().skip(1).collect();
    let models: Vec<&str> = if only.is_empty() { vec!["opt-13b","opt-66b","llama-2-70b"] } else { only.iter().map(|s| s.as_str()).collect() };
    for m in models {
        for s in [Strategy::Random, Strategy::Partition, Strategy::Token, Strategy::Layer, Strategy::Adjustment, Strategy::Full, Strategy::Oracle] {
            for e in [Engine::Closed, Engine::Trace] {
            let mut q = st(m); q.strategy = s; q.engine = e;
            let t = Instant::now();
            match q.answer() { Ok(a) => println!("{m:12} {s:?} {e:?}: {:.3} tok/s step {:.2} mlp {:.2} fc {:.2} comm {:.2} gpu {:.2} cold {:.2} hot {:.3} gread {:.3} imb {:.3} swaps {:.0} moves {:.0} acc {:?} rec {:?} mig {:.5} {:.4} {:?}", a.tokens_per_s,a.step_ms,a.mlp_ms,a.fc_ms,a.communication_ms,a.gpu_ms,a.cold_ms,a.hot_share_used,a.gpu_read_share,a.imbalance,a.swaps_per_token,a.moves_per_token,a.prediction_accuracy,a.prediction_recall,a.link_migration_share,a.host_migration_share,t.elapsed()), Err(e) => println!("{m} {s:?}: {e}") }
            }
        }
    }
}
