//! scratch
use memscape_ndp::*;
use memscape_ndp::inference::*;
use memscape_ndp::hardware::Interleave;
use memscape_ndp::online::Strategy;
use memscape_study::Study;
fn st(model: &str) -> InferenceStudy { InferenceStudy{ model: Some(serde_json::from_value(model.into()).unwrap()), ..Default::default()} }
fn n(v: u32) -> std::num::NonZeroU32 { std::num::NonZeroU32::new(v).unwrap() }
fn main() {
  for (il, cyc) in [(Interleave::RowByRow,16),(Interleave::RowByRow,32),(Interleave::BankGroups,16),(Interleave::BankGroups,32)] {
    let mk = |m: &str, dn: f64, dr: f64| { let mut q = st(m); q.dimm.interleave = il; q.dimm.cycles_per_multiply = n(cyc); q.activity.native_density = dn.try_into().unwrap(); q.activity.relufied_density = dr.try_into().unwrap(); q };
    let fit = |m: &str, target: f64| { let (mut lo, mut hi) = (0.03, 0.6); for _ in 0..25 { let mid = 0.5*(lo+hi); if mk(m, mid, mid).answer().unwrap().tokens_per_s > target { lo = mid } else { hi = mid } } lo };
    let (dn, dr) = (fit("opt-66b", 20.37), fit("llama-2-70b", 13.75));
    println!("== {il:?} {cyc}: native {dn:.3} relufied {dr:.3}");
    let all = ["opt-13b","opt-30b","opt-66b","llama-2-13b","falcon-40b","llama-2-70b"];
    let rate = |m: &str, f: &dyn Fn(&mut InferenceStudy)| { let mut q = mk(m, dn, dr); f(&mut q); q.answer().map(|a| (a.tokens_per_s, a.mlp_ms, a.step_ms, a.gpu_ms, a.cold_ms)) };
    for m in all {
        let h = rate(m, &|_| ()).unwrap();
        let host = rate(m, &|q| { q.system = System::HermesHost; q.strategy = Strategy::Partition }).unwrap();
        let base = rate(m, &|q| q.system = System::HermesBase).unwrap();
        let acc = rate(m, &|q| q.system = System::Accelerate).unwrap();
        let mlp = |s: Strategy| rate(m, &|q| q.strategy = s).unwrap().1;
        let p = mlp(Strategy::Partition);
        let gap: Vec<String> = [1,2,4,8,16].iter().map(|b| { let h = rate(m, &|q| q.batch = n(*b)).unwrap(); let ba = rate(m, &|q| {q.batch = n(*b); q.system = System::HermesBase}).unwrap(); format!("{:.2}", h.0/ba.0)}).collect();
        let dimms = [4,8,16].map(|d| rate(m, &|q| q.dimms = n(d)).map_or(0.0, |a| a.0));
        let mult: Vec<String> = [32,64,128,256,512].iter().map(|x| format!("{:.1}", rate(m, &|q| q.dimm.multipliers = n(*x)).unwrap().0)).collect();
        println!("{m:12} {:.2} tok/s step {:.1} gpu {:.1} cold {:.1} host {:.2}x base {:.2}x acc {:.0}x base/acc {:.0} host/acc {:.0} | rnd/part {:.2} tok {:.2} lay {:.2} adj {:.2} full {:.2} orc {:.2} | gap {gap:?} | dimms {dimms:?} | mult {mult:?}", h.0,h.2,h.3,h.4, h.0/host.0, h.0/base.0, h.0/acc.0, base.0/acc.0, host.0/acc.0, mlp(Strategy::Random)/p, p/mlp(Strategy::Token), p/mlp(Strategy::Layer), p/mlp(Strategy::Adjustment), p/mlp(Strategy::Full), p/mlp(Strategy::Oracle));
    }
  }
}
