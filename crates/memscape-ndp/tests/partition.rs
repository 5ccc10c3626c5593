//! The published instance.
use memscape_ndp::npz::Npz;
use memscape_ndp::partition::*;
#[test]
fn instance() {
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/partition/placement.npz")).unwrap();
    let mut npz = Npz::open(&bytes).unwrap();
    let mut get = |n: &str| npz.array(n).unwrap().floats(n).unwrap();
    let (size, freq, bw, cap) = (get("size"), get("freq"), get("bw"), get("cap"));
    let freq: Vec<f32> = freq.iter().map(|it| *it as f32).collect();
    let blocks: Vec<Block> = (0..40).map(|l| Block{bytes: Sizes::Each(&size[l*64..l*64+64]), frequency: &freq[l*64..l*64+64], gpu_fixed_s: 0.0}).collect();
    let t = std::time::Instant::now();
    let p = solve(&blocks, &Devices{gpu_bandwidth: bw[0], gpu_capacity: cap[0], dimm_bandwidth: bw[1..].to_vec(), dimm_capacity: cap[1..].to_vec()}).unwrap();
    println!("{} {} {:?} {:?}", p.objective_s*1e6, p.lower_bound_s*1e6, p.bytes, t.elapsed());
}
