//! Sec. 3.1.3, 4.1.2 and 4.2: the evaluated machine, as the model has it.

use memscape_explore::{Parameters, Table, read};
use memscape_riscv::InferenceStudy;
use memscape_riscv::dispatch::Criteria;
use memscape_riscv::quant::BLOCK;

use super::common::without;
use crate::error::Error;
use crate::quantities;

#[expect(clippy::cast_precision_loss, reason = "small counts")]
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let it: InferenceStudy = read(&without(changed, &[]))?;
    let (mib, kib) = (f64::from(1 << 20), 1024.0);
    let cores = f64::from(it.numa.all_cores());
    let clusters = cores / f64::from(it.cache.cores_per_cluster.get());
    let slc = it.cache.slc_bytes_per_node as f64 * f64::from(it.numa.nodes.get()) / mib;
    let rows = [
        ("cores", cores, ""),
        ("clusters", clusters, ""),
        ("cores per cluster", f64::from(it.cache.cores_per_cluster.get()), ""),
        ("NUMA nodes", f64::from(it.numa.nodes.get()), ""),
        ("cores per node", f64::from(it.numa.cores_per_node.get()), ""),
        ("clock", it.core.frequency_mhz.as_f64() * 1e-3, "GHz"),
        ("vector register", f64::from(it.core.vlen_bits), "bit"),
        ("vector load and store", f64::from(it.core.load_bits.get()), "bit"),
        ("L1 data cache", it.cache.l1_bytes as f64 / kib, "KiB"),
        ("L2 cache per cluster", it.cache.l2_bytes as f64 / mib, "MiB"),
        ("system-level cache", slc, "MiB"),
        ("system-level cache per cluster", slc / clusters, "MiB"),
        ("memory controllers", f64::from(it.memory.channels.get()), ""),
        ("data rate", it.memory.data_rate_mt_s.as_f64(), "MT/s"),
        ("peak per controller", it.memory.channel_gb_s().as_f64(), "GB/s"),
        ("weights per block", BLOCK as f64, ""),
        ("least dimension for BLAS", Criteria::default().min_rows as f64, ""),
    ];
    quantities::table(&rows)
}
