//! scratch
use memscape_ndp::*;
use memscape_ndp::inference::*;
use memscape_ndp::online::Strategy;
use memscape_study::Study;
use std::time::Instant;
fn st(model: &str) -> InferenceStudy { InferenceStudy{ model: Some(serde_json::from_value(model.into()).unwrap()), ..Default::default()} }
fn main() {
    for e in [Engine::Closed, Engine::Trace] { for m in ["llama-2-13b", "opt-13b"] { for d in [1, 10, 25] {
        let q = ActivityStudy { model: Some(serde_json::from_value(m.into()).unwrap()), engine: e, distance: std::num::NonZeroU32::new(d).unwrap(), ..Default::default()};
        let t = Instant::now(); println!("{m} {e:?} {d} {:?} {:?}", q.answer().unwrap(), t.elapsed());
    }}}
    let q = ActivityStudy { model: None, trace: Some("relu-6m".into()), engine: Engine::Trace, ..Default::default()};
    println!("{:?}", q.answer().unwrap());
    let mut q = st("opt-13b"); q.model = None; q.trace = Some("relu-6m".into()); q.engine = Engine::Trace; q.hot_share = Some(0.1.try_into().unwrap());
    for s in [Strategy::Random, Strategy::Partition, Strategy::Token, Strategy::Layer, Strategy::Adjustment, Strategy::Full, Strategy::Oracle] { q.strategy = s; println!("{s:?} {:?}", q.answer().unwrap()); }
    println!("{:?}", PredictorStudy(q.clone()).answer().unwrap());
    println!("{:?}", PartitionStudy(q.clone()).answer().unwrap());
    let t = Instant::now(); println!("{:?} {:?}", PartitionStudy(st("llama-2-70b")).answer().unwrap(), t.elapsed());
    let t = Instant::now(); println!("{:?} {:?}", PredictorStudy(st("llama-2-13b")).answer().unwrap(), t.elapsed());
    for stop in [remap::Stop::Level, remap::Stop::FivePercent] { let mut q = st("opt-66b"); q.engine = Engine::Trace; q.remap.stop = stop;
    let t = Instant::now(); println!("{:?} {:?}", q.answer().unwrap(), t.elapsed()); }
}
