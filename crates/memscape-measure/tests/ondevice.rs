//! Is a run functionally right, and does the fit find what is there? Nothing here
//! depends on how fast the machine is.

use std::num::NonZeroU64;

use memscape_measure::ondevice::{
    CopyPoint, Measurement, Overlap, PrefillPoint, Request, RunError, Setup, SetupError, Weights, fit,
    measure, run,
};
use memscape_ondevice::PrefillStudy;
use memscape_ondevice::cost::threads::Task;
use memscape_ondevice::mapping::Scheme;
use memscape_study::{Study, Timeline};
use memscape_workload::Element;

fn setup(element: Element, gemm: usize, copy: usize, owr: usize) -> Setup {
    Setup {
        model: "qwen3-0.6b".parse().unwrap(),
        layers: 2,
        element,
        gemm_threads: gemm,
        copy_threads: copy,
        owr_threads: owr,
        ..Setup::default()
    }
}

fn bits(outputs: &[Vec<f32>]) -> Vec<u32> {
    outputs.iter().flatten().map(|it| it.to_bits()).collect()
}

/// Outputs of every scheme are the reference's, bit for bit, with any threads.
#[test]
fn schemes_compute_what_the_reference_does() {
    for (element, gemm, copy, owr) in [
        (Element::Bf16, 1, 1, 1),
        (Element::Bf16, 2, 3, 2),
        (Element::Fp16, 3, 2, 4),
        (Element::Int8, 2, 1, 3),
        (Element::Fp32, 1, 2, 1),
    ] {
        let setup = setup(element, gemm, copy, owr);
        let weights = Weights::random(&setup, 7).unwrap();
        for tokens in [1, 5] {
            let reference = run(&setup, &weights, Scheme::WeightDuplication, tokens).unwrap();
            assert!(reference.outputs.iter().flatten().all(|it| it.is_finite()));
            assert!(reference.outputs.iter().flatten().any(|it| *it != 0.0));
            for scheme in [Scheme::Ddb, Scheme::Owr] {
                let run = run(&setup, &weights, scheme, tokens).unwrap();
                assert!(bits(&run.outputs) == bits(&reference.outputs), "{scheme:?} {element} {tokens}");
            }
        }
    }
}

/// One GEMM thread or several: the same outputs, row by row.
#[test]
fn outputs_do_not_depend_on_threads() {
    let (one, two) = (setup(Element::Bf16, 1, 1, 1), setup(Element::Bf16, 2, 1, 1));
    let weights = Weights::random(&one, 3).unwrap();
    let of = |setup| run(setup, &weights, Scheme::WeightDuplication, 3).unwrap().outputs;
    let (whole, halves) = (of(&one), of(&two));
    let rows = |matrix: usize| usize::try_from(weights.matrices[matrix].1.m()).unwrap();
    let (mut at, mut at_half) = (0, 0);
    for matrix in (0..weights.matrices.len()).chain(0..weights.matrices.len()) {
        let half = rows(matrix) / 2 * 3;
        let joined: Vec<f32> = halves.iter().flat_map(|it| it[at_half..][..half].to_vec()).collect();
        assert!(joined == whole[0][at..][..2 * half], "matrix {matrix}");
        (at, at_half) = (at + 2 * half, at_half + half);
    }
}

/// Stages in order, every GEMM and copy seen, and nobody passes a meeting early.
#[test]
fn the_timeline_of_a_run_is_the_plan() {
    let setup = setup(Element::Bf16, 2, 1, 1);
    let weights = Weights::random(&setup, 1).unwrap();
    let run = run(&setup, &weights, Scheme::Ddb, 2).unwrap();
    let of = |thread: usize| run.timeline.spans.iter().filter(move |it| it.track.index() == thread);
    assert_eq!(of(0).count(), 1 + 14 - 1, "the preload, and all stages but the last");
    assert!(of(0).all(|it| it.category == Task::COPY) && of(1).all(|it| it.category == Task::GEMM));
    assert_eq!((of(1).count(), of(2).count()), (14, 14));
    let stages = |thread: usize| of(thread).map(|it| (&it.name, &it.details)).collect::<Vec<_>>();
    assert_eq!(stages(1), stages(2));
    for (first, next) in of(1).zip(of(2).skip(1)) {
        assert!(first.end <= next.start);
    }
    assert!(of(0).zip(of(0).skip(1)).all(|(a, b)| a.end <= b.start));
}

#[test]
fn a_measurement_has_every_point() {
    let request = Request { setup: setup(Element::Bf16, 1, 1, 2), tokens: vec![1, 3], repeats: 1 };
    let it = measure(&request, |_| ()).unwrap();
    assert!(it.outputs_equal);
    assert_eq!((it.copies.len(), it.prefills.len()), (2, 6));
    assert!(it.prefills.iter().all(|it| it.ttft_s > 0.0) && it.peak_gflops > 0.0 && it.plain_copy_gb_s > 0.0);
    assert!(!it.timeline.spans.is_empty());
    let fitted = fit(&request.setup, &it).unwrap();
    fitted.study.cpu.check().unwrap();
    assert!(fitted.rms_error.is_finite());
}

/// From times that the model itself made, the fit finds the parameters again.
#[test]
fn the_fit_finds_what_made_the_times() {
    let setup = setup(Element::Bf16, 3, 2, 5);
    let empty = Measurement {
        peak_gflops: 40.0,
        plain_copy_gb_s: 9.0,
        copies: Vec::new(),
        prefills: vec![PrefillPoint {
            scheme: Scheme::WeightDuplication,
            tokens: 1,
            ttft_s: 1.0,
            overlap: None,
        }],
        outputs_equal: true,
        timeline: Timeline::default(),
    };
    let mut truth = fit(&setup, &empty).unwrap().study;
    let cpu = &mut truth.cpu;
    (cpu.copy_gb_s, cpu.step_ms, cpu.gemm_efficiency) = (3.7, 0.2, 0.63);
    cpu.gemm_block_tokens = 5.0;
    let mut made = Measurement { prefills: Vec::new(), ..empty };
    for tokens in [4, 16, 64, 256] {
        for scheme in [Scheme::WeightDuplication, Scheme::Owr, Scheme::Ddb] {
            let study =
                PrefillStudy { scheme, prompt_tokens: NonZeroU64::new(tokens).unwrap(), ..truth.clone() };
            let ttft_s = study.answer().unwrap().ttft_s;
            let overlap = (scheme == Scheme::Ddb).then(|| Overlap::of(&study.timeline().unwrap()));
            let tokens = usize::try_from(tokens).unwrap();
            made.prefills.push(PrefillPoint { scheme, tokens, ttft_s, overlap });
        }
    }
    for threads in 1..=5 {
        let bytes = 1 << 30;
        let seconds = f64::from(1 << 30) / (3.7e9 * f64::from(threads));
        made.copies.push(CopyPoint { threads: usize::try_from(threads).unwrap(), bytes, seconds });
    }
    let found = fit(&setup, &made).unwrap();
    assert!(found.rms_error < 1e-3, "{}", found.rms_error);
    let pairs = [
        (found.study.cpu.copy_gb_s, 3.7),
        (found.study.cpu.step_ms, 0.2),
        (found.study.cpu.gemm_efficiency, 0.63),
        (found.study.cpu.gemm_block_tokens, 5.0),
    ];
    for (found, expected) in pairs {
        // Times are whole picoseconds, and the search stops when it hardly gains.
        assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    let none = Setup { copy_threads: 0, ..Setup::default() };
    assert_eq!(none.check().unwrap_err().to_string(), "0 copy threads were asked for; use 1 to 1024");
    let deep = Setup { layers: 99, ..Setup::default() };
    assert_eq!(deep.check().unwrap_err(), SetupError::Layers { given: 99, available: 16 });
    let many = Setup { gemm_threads: 5000, ..Setup::default() };
    assert_eq!(many.beyond_machine().map(|it| it.0), Some(5001));
    let endless = Setup { copy_threads: usize::MAX, ..many };
    assert!(endless.beyond_machine().is_some() && endless.check().is_err());
    let request = Request { setup: Setup::default(), tokens: vec![1], repeats: 0 };
    assert_eq!(measure(&request, |_| ()).unwrap_err(), RunError::NoRepeats);
    let setup = setup(Element::Bf16, 1, 1, 1);
    let weights = Weights::random(&setup, 1).unwrap();
    let error = |scheme, tokens| run(&setup, &weights, scheme, tokens).unwrap_err().to_string();
    assert!(error(Scheme::FacilO, 4).starts_with("FacilO needs hardware"));
    assert!(error(Scheme::Ddb, 0).starts_with("a prompt of no tokens"));
    let nibbles = Setup { element: Element::Int4, ..setup };
    assert!(Weights::random(&nibbles, 1).is_err());
}
