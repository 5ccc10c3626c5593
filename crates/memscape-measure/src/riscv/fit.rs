//! The SG2042 model's parameters for this machine.

use std::num::NonZeroU32;

use memscape_dram::Dram;
use memscape_explore::{FitMethod, FitParameter, Residual};
use memscape_riscv::InferenceStudy;
use memscape_riscv::cost::memory::{Hierarchy, channel_line};
use memscape_riscv::hardware::{Distances, LINE_BYTES};
use memscape_riscv::kernels::Kernel;
use memscape_riscv::placement::{Bind, Placed, Policy, place};
use memscape_riscv::quant::BLOCK;
use memscape_units::{GbPerS, MtPerS, Nanoseconds, UnitError};
use serde::Serialize;

use super::kernels::HostKernel;
use super::measure::Measurement;
use crate::fit::FitError;

/// The model of this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostFit {
    /// `riscv.inference` with the fitted memory and kernel: one node, one channel
    /// that stands for all
    pub study: InferenceStudy,
    /// Time of one thread per 32 weights in the first-level cache, by kernel
    pub block_ns: Vec<(HostKernel, f64)>,
    /// What one thread reads alone
    pub core_gb_s: f64,
    /// What all threads read at most
    pub shared_gb_s: f64,
    /// Whether some threads read as much, so that more would not read more; if not, they read that at least
    pub shared_is_met: bool,
    /// Measurement, model and roofline, point by point
    pub table: Vec<FittedPoint>,
    /// The plain reads, in the same way
    pub stream: Vec<FittedStream>,
    /// Root mean square of all these errors
    pub rms_error: f64,
}

/// One point, three times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FittedPoint {
    /// The kernel
    pub kernel: HostKernel,
    /// Threads that ran it
    pub threads: usize,
    /// As measured
    pub measured_gops: f64,
    /// As the model has it: computing and reading one after the other
    pub model_gops: f64,
    /// As the roofline has it: the slower of the two alone
    pub roofline_gops: f64,
    /// The model's time over the measured one, less 1
    pub error: f64,
}

/// A plain read, twice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FittedStream {
    /// Threads that read
    pub threads: usize,
    /// As measured
    pub measured_gb_s: f64,
    /// As the model has it
    pub model_gb_s: f64,
    /// The model's time over the measured one, less 1
    pub error: f64,
}

/// Fits what one thread reads alone, what all read together, and each kernel's time
/// per block: the least sum of squared relative errors of all times.
///
/// # Errors
/// [`FitError`] if there is nothing to fit to, or the search fails.
pub fn fit(measured: &Measurement) -> Result<HostFit, FitError> {
    if measured.points.is_empty() || measured.stream.is_empty() {
        return Err(FitError::NoPoints);
    }
    let most = measured.points.iter().map(|it| it.threads).max().unwrap_or(1);
    let host = Host { study: host(most)?, measured };
    // From a thousandth to a million: any machine.
    let free = |key: &str| FitParameter::new(key, 1e-3, 1e6).logarithmic().starting_at(10.0);
    // Rates in GB/s, then times in ns.
    let mut parameters = vec![free("core_gb_s"), free("shared_gb_s").starting_at(20.0)];
    parameters.extend(HostKernel::ALL.map(|it| free(&format!("block_ns of {it:?}"))));
    let found = memscape_explore::fit(&parameters, &FitMethod::MEASURED, &(), |it| host.residuals(it))?;
    let mut point = found.values();
    // A rate that bounds nothing could be any: the least that does is told, which is what was read or a little more.
    let shared_is_met = found.parameters[1].identified;
    if !shared_is_met {
        let most = point[1];
        point[1] = measured.stream.iter().map(|it| it.gb_s).fold(0.0, f64::max);
        while point[1] < most && host.fitted(&point, shared_is_met)?.rms_error > found.rms + 1e-3 {
            point[1] *= 1.05;
        }
        point[1] = point[1].min(most);
    }
    host.fitted(&point, shared_is_met)
}

/// A machine of one node whose memory and kernels are yet to be found.
fn host(cores: usize) -> Result<InferenceStudy, FitError> {
    let count = |it: usize| u32::try_from(it).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let mut study =
        InferenceStudy { threads: count(cores), policy: Policy::NoBalancing, ..InferenceStudy::default() };
    study.numa.nodes = NonZeroU32::MIN;
    study.numa.cores_per_node = count(cores);
    study.numa.distances = Distances::uniform(20).map_err(|it| FitError::Model(it.to_string()))?;
    study.memory.channels = NonZeroU32::MIN;
    // What is measured has passed all caches.
    let unlimited = |it: UnitError| FitError::Model(it.to_string());
    study.cache.slc_ns = Nanoseconds::new(0.01).map_err(unlimited)?;
    study.cache.slc_gb_s_per_node = GbPerS::new(1e6).map_err(unlimited)?;
    Ok(study)
}

/// A memory that delivers `gb_s` to any number of threads at once, of whose energy nothing is known.
fn ideal(memory: &Dram, gb_s: f64) -> Result<Dram, FitError> {
    let bytes = f64::from(memory.bus_bits.get()) / 8.0;
    let data_rate_mt_s = MtPerS::new(gb_s * 1e3 / bytes).map_err(|it| FitError::Model(it.to_string()))?;
    let (none, tck) = (Nanoseconds::ZERO, data_rate_mt_s.time_of(2));
    Ok(Dram {
        data_rate_mt_s,
        transfers_per_clock: const { NonZeroU32::new(2).unwrap() },
        tck_ns: None,
        trcd_ns: none,
        trp_ns: none,
        trp_ab_ns: none,
        tras_ns: none,
        trc_ns: None,
        trtp_ns: none,
        cl_ns: tck,
        cwl_ns: tck,
        tccd_s_ns: None,
        tccd_l_ns: None,
        trrd_s_ns: none,
        trrd_l_ns: none,
        tfaw_ns: none,
        trfc_ab_ns: none,
        // Of no chip that there is.
        energy: None,
        ..*memory
    })
}

/// What threads placed so read together from memory.
fn dram_gb_s(study: &InferenceStudy, placed: &Placed) -> f64 {
    let InferenceStudy { core, cache, numa, memory, controller, .. } = study;
    Hierarchy { core, cache, numa, memory, controller }.dram(placed).as_f64()
}

/// The model and what it is held against.
struct Host<'a> {
    study: InferenceStudy,
    measured: &'a Measurement,
}

impl Host<'_> {
    /// The study with these rates.
    fn with_rates(&self, core_gb_s: f64, shared_gb_s: f64) -> Result<InferenceStudy, FitError> {
        let mut study = self.study;
        // What all read together is measured as it is: no rows close each other and nothing
        // is refreshed.
        study.memory = ideal(&study.memory, shared_gb_s)?;
        // One thread has so many lines on the way, and waits for them as long as it reads.
        let line = channel_line(&study.memory, 1.0);
        let way = float(usize::try_from(LINE_BYTES).unwrap_or(64)) / core_gb_s - line.busy.as_f64();
        let way = way * f64::from(study.core.line_fills.get()) - line.latency.as_f64();
        study.controller.path_ns =
            Nanoseconds::new(way.max(0.0)).map_err(|it| FitError::Model(it.to_string()))?;
        Ok(study)
    }

    fn placed(&self, threads: usize) -> Result<Placed, FitError> {
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        place(Policy::NoBalancing, threads, Bind::default(), &self.study.numa, &self.study.cache)
            .map_err(|it| FitError::Model(it.to_string()))
    }

    /// Time to read `bytes`, and to compute, in seconds.
    fn times(
        &self,
        study: &InferenceStudy,
        kernel: HostKernel,
        threads: usize,
        block_ns: f64,
    ) -> Result<(f64, f64), FitError> {
        let blocks = float(self.measured.rows * self.measured.columns / BLOCK);
        let placed = self.placed(threads)?;
        let rate = dram_gb_s(study, &placed);
        let read = blocks * float(kernel.block_bytes()) / rate * 1e-9;
        Ok((read, blocks * block_ns * 1e-9 / f64::from(placed.threads)))
    }

    /// Relative errors of all times, and of the times that rates stand for.
    fn residuals(&self, point: &[f64]) -> Result<Vec<Residual>, FitError> {
        let study = self.with_rates(point[0], point[1])?;
        let mut all = Vec::new();
        for it in &self.measured.stream {
            let rate = dram_gb_s(&study, &self.placed(it.threads)?);
            all.push(Residual::new(it.gb_s / rate - 1.0));
        }
        for it in &self.measured.points {
            let block_ns = point[2 + it.kernel as usize];
            let (read, compute) = self.times(&study, it.kernel, it.threads, block_ns)?;
            all.push(Residual::new((read + compute) / it.seconds - 1.0));
        }
        Ok(all)
    }

    fn fitted(&self, point: &[f64], shared_is_met: bool) -> Result<HostFit, FitError> {
        let (core_gb_s, shared_gb_s) = (point[0], point[1]);
        let mut study = self.with_rates(core_gb_s, shared_gb_s)?;
        let block_ns: Vec<_> = HostKernel::ALL.map(|it| (it, point[2 + it as usize])).to_vec();
        // The study's kernel is the counted one, times the factor that this machine needs.
        let code = memscape_riscv::KernelStudy { kernel: Kernel::Complex, ..Default::default() }.code();
        let counts = code.per_tile().map_err(|it| FitError::Model(it.to_string()))?;
        let (rows, blocks) = code.tile();
        let cycles = study.core.cycles(&counts).total.as_f64();
        let counted = cycles * study.core.cycle().as_f64() / float(rows * blocks);
        study.compiler_factor = block_ns[HostKernel::TwoRows as usize].1 / counted;
        let operations = 2.0 * float(self.measured.rows * self.measured.columns) * 1e-9;
        let table = self.measured.points.iter().map(|it| {
            let (read, compute) =
                self.times(&study, it.kernel, it.threads, block_ns[it.kernel as usize].1)?;
            Ok(FittedPoint {
                kernel: it.kernel,
                threads: it.threads,
                measured_gops: it.gops,
                model_gops: operations / (read + compute),
                roofline_gops: operations / read.max(compute),
                error: (read + compute) / it.seconds - 1.0,
            })
        });
        let table = table.collect::<Result<Vec<_>, FitError>>()?;
        let stream = self.measured.stream.iter().map(|it| {
            let model_gb_s = dram_gb_s(&study, &self.placed(it.threads)?);
            let error = it.gb_s / model_gb_s - 1.0;
            Ok(FittedStream { threads: it.threads, measured_gb_s: it.gb_s, model_gb_s, error })
        });
        let stream = stream.collect::<Result<Vec<_>, FitError>>()?;
        let errors = || table.iter().map(|it| it.error).chain(stream.iter().map(|it| it.error));
        let rms_error = (errors().map(|it| it * it).sum::<f64>() / float(errors().count())).sqrt();
        Ok(HostFit { study, block_ns, core_gb_s, shared_gb_s, shared_is_met, table, stream, rms_error })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::{Point, StreamPoint};

    /// Times made by the model give the model's parameters back.
    #[test]
    fn a_fit_finds_the_parameters_that_made_the_times() {
        let truth = [7.0, 40.0, 9.0, 5.0, 3.0];
        let empty = Measurement { rows: 4096, columns: 4096, points: Vec::new(), stream: Vec::new() };
        let model = Host { study: host(16).unwrap(), measured: &empty };
        let study = model.with_rates(truth[0], truth[1]).unwrap();
        let mut measured = empty.clone();
        for threads in [1, 2, 4, 8, 16] {
            let rate = dram_gb_s(&study, &model.placed(threads).unwrap());
            measured.stream.push(StreamPoint { threads, gb_s: rate });
            for kernel in HostKernel::ALL {
                let (read, compute) =
                    model.times(&study, kernel, threads, truth[2 + kernel as usize]).unwrap();
                let seconds = read + compute;
                let gops = 2.0 * float(4096 * 4096) / seconds * 1e-9;
                measured.points.push(Point { kernel, threads, seconds, gops, gb_s: 0.0 });
            }
        }
        let fitted = fit(&measured).unwrap();
        assert!(fitted.rms_error < 1e-3, "{fitted:?}");
        assert!((fitted.core_gb_s / truth[0] - 1.0).abs() < 0.01, "{}", fitted.core_gb_s);
        assert!((fitted.shared_gb_s / truth[1] - 1.0).abs() < 0.01, "{}", fitted.shared_gb_s);
        assert!(fitted.shared_is_met);
        for (kernel, found) in &fitted.block_ns {
            assert!((found / truth[2 + *kernel as usize] - 1.0).abs() < 0.01, "{kernel:?}: {found}");
        }
        for it in &fitted.table {
            assert!(it.model_gops <= it.roofline_gops, "adding up is slower than the roofline");
        }
        // One thread alone never meets what all share: that is what it reads, at least.
        measured.points.retain(|it| it.threads == 1);
        measured.stream.retain(|it| it.threads == 1);
        let alone = fit(&measured).unwrap();
        assert!(!alone.shared_is_met && alone.rms_error < 1e-3, "{alone:?}");
        assert!((0.99..2.0).contains(&(alone.shared_gb_s / truth[0])), "{}", alone.shared_gb_s);
    }
}
