//! The code of `notebooks/rust/02_riscv_kernels.ipynb`, compiled and run.

use std::error::Error;

use memscape::prelude::*;
use memscape::riscv::CensusStudy;
use memscape::riscv::census::{Census, Observed};
use memscape::riscv::kernels::{Code, Kernel};
use memscape::riscv::quant::{quantise_q4_0, quantise_q8_0};

fn code(kernel: Kernel) -> Code {
    Code::as_printed(kernel)
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn kernels_run_and_are_counted() -> Result<(), Box<dyn Error>> {
    let numbers =
        |count: usize| -> Vec<f32> { (0..count).map(|it| (it * 37 % 101) as f32 / 50.0 - 1.0).collect() };
    let (rows, blocks) = (4, 8);
    let weights = quantise_q4_0(&numbers(rows * blocks * 32))?;
    let vector = quantise_q8_0(&numbers(blocks * 32))?;
    let mut first = Vec::new();
    for kernel in [Kernel::Default, Kernel::Vector, Kernel::Simple, Kernel::Complex] {
        let (results, counts) = code(kernel).multiply(&weights, &vector, rows, blocks)?;
        assert!(counts.instructions() > 0);
        first.push(results[0]);
    }
    assert!(first.iter().all(|it| (it - first[0]).abs() < 1e-4), "{first:?}");
    for vlen_bits in [64, 128, 256, 512] {
        for lmul in [1, 2, 4] {
            assert!(Code { vlen_bits, lmul, ..code(Kernel::Complex) }.per_tile()?.vector_loads > 0);
        }
    }
    Ok(())
}

#[test]
fn sweeps_figures_and_the_census_backwards() -> Result<(), Box<dyn Error>> {
    let sweep = Sweep::of(parameters! { "kernel" => "complex" })
        .axis("core.vlen_bits", [128, 256, 512])
        .axis("lmul", [1, 2, 4]);
    let table = study("riscv.kernel")?.sweep(&sweep, &())?.without_errors()?;
    let columns =
        ["core.vlen_bits", "lmul", "gops", "core_cycles_per_block", "arithmetic_cycles", "load_cycles"];
    assert_eq!(table.select(&columns)?.height(), 9);

    let fig5_1 = experiment("riscv-sg2042.fig5_1")?;
    assert!(fig5_1.plot(&fig5_1.table()?)?.svg()?.contains("LMUL 4"));

    let census_study = CensusStudy::default();
    let census = Census::of(&census_study.model, census_study.projections, &census_study.run());
    let observed = Observed {
        model: *census_study.model,
        projections: census_study.projections,
        counts: census.by_shape(),
    };
    let runs = memscape::Runs {
        repetitions: 1..=6,
        prompt_tokens: 1..=32,
        generated_tokens: 1..=128,
        warm_up_tokens: 2,
        kv_padding: census_study.kv_padding,
        ubatch_tokens: census_study.ubatch_tokens,
        output_rows: census_study.output_rows,
    };
    assert_eq!(memscape::explain_census(&observed, &runs).unwrap(), [census_study.run()]);

    let threads = Sweep::of(Parameters::new())
        .axis("policy", ["no-balancing", "interleave"])
        .axis("threads", [8, 16, 32, 64]);
    let columns = ["policy", "threads", "generation_tokens_per_s", "prompt_tokens_per_s", "bound_by"];
    let table = study("riscv.inference")?.sweep(&threads, &())?.without_errors()?;
    assert_eq!(table.select(&columns)?.height(), 8);
    Ok(())
}
