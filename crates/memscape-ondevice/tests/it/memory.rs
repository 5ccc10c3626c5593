//! Does the memory hold, and give, what is computed with?

use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroU64};

use memscape_ondevice::cost::footprint::PadTo;
use memscape_ondevice::hardware::{Cpu, PimBlocks};
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::mapping::layout::{Layout, Placement};
use memscape_ondevice::{CapacityStudy, DecodeStudy, InferenceStudy, PrefillStudy};
use memscape_study::Study;
use memscape_units::Nanoseconds;
use memscape_workload::{Element, Gemv, Model};

use crate::count;

fn tokens(it: u64) -> NonZeroU64 {
    NonZeroU64::new(it).unwrap()
}

/// Arithmetic that takes no time.
fn endless(cpu: &mut Cpu) {
    for kind in [&mut cpu.big, &mut cpu.middle_high, &mut cpu.middle_low] {
        kind.peak_gflops = 1e9;
    }
}

#[test]
fn inputs_and_results_of_the_largest_product_have_room() {
    let of = |prompt, batch| {
        let (prompt_tokens, batch) = (tokens(prompt), tokens(batch));
        let scheme = Scheme::FacilO;
        InferenceStudy {
            prompt_tokens,
            generated_tokens: tokens(1),
            batch,
            scheme,
            ..InferenceStudy::default()
        }
    };
    let bytes = |prompt| of(prompt, 1).answer().unwrap().headline.memory_bytes;
    // Gate and up of a token, and 16 layers' keys and values of eight heads of 64, 16 bit each.
    assert_eq!(bytes(1001) - bytes(1000), (2048 + 2 * 8192) * 2 + 16 * 2 * 8 * 64 * 2);
    let told = of(2000, 128).answer().unwrap_err().to_string();
    assert!(told.contains("with 8.789 GiB of inputs and results of the largest product"), "{told}");
    let prefill = |prompt| {
        PrefillStudy { prompt_tokens: tokens(prompt), ..PrefillStudy::default() }
            .answer()
            .unwrap()
            .memory_bytes
    };
    assert_eq!(prefill(1001) - prefill(1000), bytes(1001) - bytes(1000));
}

/// A pass has no more lines than the matrix.
#[test]
fn registers_that_nothing_fills_take_no_memory() {
    let padding = |registers| {
        let mut study = CapacityStudy::default();
        study.pim.output_registers = count(registers);
        study.answer().unwrap().padding_bytes
    };
    // K and V fill half a row tile each. The head has 126 of these, which 8 do not divide and 126 do.
    let layers = 16 * 2 * 512 * 2048 * 2;
    let head = |tiles: u64| (tiles * 1024 - 128_256) * 2048 * 2;
    assert_eq!((padding(8), padding(126)), (layers + head(128), layers + head(126)));
    assert_eq!(padding(4096), padding(126));
}

/// What padding to full passes does not let the laws say.
#[test]
fn more_units_take_no_less_where_rows_are_padded_to_row_tiles() {
    let of = |model: &str, placement, change: fn(&mut CapacityStudy)| {
        let (layer_padding, lm_head_padding) = (PadTo::RowTile, PadTo::RowTile);
        let model = model.parse().unwrap();
        let study = CapacityStudy { model, placement, ..CapacityStudy::default() };
        let mut study = CapacityStudy { layer_padding, lm_head_padding, ..study };
        change(&mut study);
        study.answer().unwrap().total_bytes
    };
    let changes: [fn(&mut CapacityStudy); 4] = [
        |it| it.memory.channels = count(2 * it.memory.channels.get()),
        |it| it.memory.banks_per_channel = count(2 * it.memory.banks_per_channel.get()),
        |it| it.memory.bus_bits = count(2 * it.memory.bus_bits.get()),
        |it| it.memory.burst_length = count(2 * it.memory.burst_length.get()),
    ];
    for model in ["llama-3.2-1b", "qwen2.5-0.5b", "gemma-3-1b", "opt-125m"] {
        for placement in [Placement::ColumnBursts, Placement::RowBursts] {
            let least = of(model, placement, |_| ());
            for change in changes {
                assert!(least <= of(model, placement, change), "{model} {placement:?}");
            }
            let shared = of(model, placement, |it| it.pim.banks_per_block = count(2));
            assert!(shared <= least, "{model} {placement:?}");
        }
    }
}

/// By hand, in 64 banks of rows of 2 KB: a layer takes 61 of them, and the head 520.
#[test]
fn each_matrix_begins_in_a_row_of_its_own() {
    let (model, format): (Model, _) = ("qwen2.5-0.5b".parse().unwrap(), "int4".parse().unwrap());
    let placement = Placement::RowBursts;
    let study = CapacityStudy { model, format, placement, ..CapacityStudy::default() };
    let matrices = 24 * model.layer_matrix_parameters() + model.embedding_parameters();
    let rows = 24 * 61 + 520;
    assert_eq!(study.answer().unwrap().padding_bytes, u64::from(rows) * 64 * 2048 - matrices / 2);

    let of = |rows| {
        let (prompt_tokens, generated_tokens) = (tokens(1), tokens(1));
        let mut memory = study.memory;
        memory.rows = count(rows);
        let scheme = Scheme::FacilO;
        let study = InferenceStudy { model, format, placement, memory, scheme, ..InferenceStudy::default() };
        InferenceStudy { prompt_tokens, generated_tokens, ..study }.answer()
    };
    // Each of 151 936 sums fills four registers, those of a bank 149 rows.
    assert!(of(rows + 140).unwrap_err().to_string().contains("are missing") && of(rows + 160).is_ok());

    // Longer rows leave more of them empty.
    let padding = |row_bytes| {
        let mut study = CapacityStudy { model: "gemma-3-1b".parse().unwrap(), ..CapacityStudy::default() };
        study.memory.row_bytes = count(row_bytes);
        study.answer().unwrap().padding_bytes
    };
    assert!(padding(2048) < padding(8192));

    // What rows are padded to is whole DRAM rows too.
    let (layer_padding, lm_head_padding) = (PadTo::OutputTile, PadTo::OutputTile);
    let mut study = CapacityStudy { model, layer_padding, lm_head_padding, ..CapacityStudy::default() };
    study.memory.row_bytes = count(16_384);
    study.pim.output_registers = count(3);
    assert_eq!((study.answer().unwrap().padding_bytes + 2 * matrices) % (64 * 16_384), 0);
}

/// Each token's are written, and read at least once, whatever a window keeps of them.
#[test]
fn a_prompt_reads_keys_and_values_of_all_its_tokens() {
    let mut study = PrefillStudy {
        model: "gemma-3-1b".parse().unwrap(),
        prompt_tokens: tokens(8192),
        scheme: Scheme::FacilO,
        ..PrefillStudy::default()
    };
    endless(&mut study.cpu);
    study.cpu.gemm_block_tokens = 1e6;
    // 26 layers of one head of 256, 16 bit each.
    let bytes = 2.0 * 26.0 * 256.0 * 2.0 * 8192.0;
    let stream = study.memory.peak_gb_s().as_f64() * study.cpu.memory_efficiency;
    let attention_s = study.answer().unwrap().attention_s;
    assert!((attention_s / (bytes / stream * 1e-9) - 1.0).abs() < 1e-3, "{attention_s}");
}

/// Weights pass the pins once for each block of tokens; keys and values are written once, and read as
/// often, but never less than once. A swizzled copy passes them as often as it has transactions.
#[test]
#[expect(clippy::cast_precision_loss, reason = "parameters in ratio")]
fn a_prompt_pays_for_what_passes_the_pins() {
    let io_bytes = |scheme, block, transactions| {
        let mut study = InferenceStudy { scheme, prompt_tokens: tokens(16), ..InferenceStudy::default() };
        study.cpu.gemm_block_tokens = block;
        study.cpu.copy_transactions = count(transactions);
        let takes = study.memory.energy.unwrap().io_pj_per_bit.value * 8e-12;
        let [one, two] = [1, 2].map(|it| {
            study.generated_tokens = tokens(it);
            study.answer().unwrap().headline.energy.energy_io_j.unwrap() / takes
        });
        // Without its one token, of which the second reads as much and itself.
        2.0 * one - two
    };
    let model = InferenceStudy::default().model;
    let layers = f64::from(model.layers);
    let weights = 2.0 * layers * model.layer_matrix_parameters() as f64;
    let cached = 2.0 * 2.0 * layers * model.kv_size() as f64;
    for (scheme, block, transactions, weights_pass, tokens_read) in [
        (Scheme::CacheableGemm, 64.0, 2, 1.0, 16.0),
        (Scheme::CacheableGemm, 16.0, 2, 1.0, 16.0),
        (Scheme::CacheableGemm, 4.0, 2, 4.0, f64::from((1..=16).sum::<u32>()) / 4.0),
        (Scheme::Owr, 64.0, 2, 1.0 + 2.0, 16.0),
        (Scheme::Owr, 64.0, 5, 1.0 + 5.0, 16.0),
    ] {
        let bytes = weights_pass * weights + (16.0 + tokens_read - 1.0) * cached;
        let paid = io_bytes(scheme, block, transactions);
        assert!((paid / bytes - 1.0).abs() < 1e-9, "{scheme:?}, blocks of {block}: {paid}, not {bytes}");
    }
}

/// A token's own keys and values are written, besides those that it reads.
#[test]
fn a_token_pays_for_what_it_writes() {
    let of = |write: f64| {
        let mut study = InferenceStudy { scheme: Scheme::CacheableGemm, ..InferenceStudy::default() };
        study.memory.energy.as_mut().unwrap().write_pj_per_bit.value = write;
        study.answer().unwrap().headline.token_energy_j.unwrap()
    };
    let model = InferenceStudy::default().model;
    let written = u64::from(model.layers) * 2 * 2 * model.kv_size();
    #[expect(clippy::cast_precision_loss, reason = "bytes of a token")]
    let bits = 8.0 * written as f64;
    assert!(((of(2.0) - of(1.0)) / (bits * 1e-12) - 1.0).abs() < 1e-4);
}

/// PIM blocks take one sequence after the other, whose partial sums are the host's to read.
#[test]
fn a_batch_on_pim_passes_the_pins_as_often_as_it_has_sequences() {
    let io_j = |batch| {
        let [one, two] = [1, 2].map(|it| {
            let (scheme, placement) = (Scheme::Owr, Placement::RowBursts);
            let mut study = InferenceStudy { scheme, placement, ..InferenceStudy::default() };
            (study.prompt_tokens, study.generated_tokens, study.batch) =
                (tokens(1), tokens(it), tokens(batch));
            study.answer().unwrap().headline.energy.energy_io_j.unwrap()
        });
        two - one
    };
    assert!((io_j(8) / io_j(1) / 8.0 - 1.0).abs() < 1e-9, "{} {}", io_j(8), io_j(1));
}

/// A step's columns are a prompt's to a GEMM.
#[test]
fn a_step_of_many_reads_weights_as_often_as_a_prompt() {
    let of = |batch| {
        let mut study = InferenceStudy { scheme: Scheme::CacheableGemm, ..InferenceStudy::default() };
        endless(&mut study.cpu);
        (study.cpu.product_overhead_us, study.batch) = (0.0, tokens(batch));
        study.cpu.gemm_block_tokens = 4.0;
        (study.prompt_tokens, study.generated_tokens) = (tokens(1), tokens(1));
        study.answer().unwrap().host_token_ns
    };
    // Keys and values, which each sequence has of its own, are few.
    for (batch, reads) in [(1, 1.0), (4, 1.0), (8, 2.0), (64, 16.0)] {
        assert!((of(batch) / of(1) / reads - 1.0).abs() < 1e-3, "{batch}: {}", of(batch) / of(1));
    }
}

/// How many bursts a bank gives, in the mean, before it opens another row, where each column of bursts
/// is read over all lines, `together` columns of the matrix at once.
#[expect(clippy::cast_precision_loss, reason = "a few bursts")]
fn bursts_of_an_opening(layout: &Layout, together: u64) -> f64 {
    let bursts = together.div_ceil(layout.placement.burst_columns(layout.lanes)).min(layout.line_bursts());
    let (mut open, mut openings) = (HashMap::new(), 0);
    for first in (0..layout.line_bursts()).step_by(usize::try_from(bursts).unwrap()) {
        let columns = first..layout.line_bursts().min(first + bursts);
        for (line, burst) in (0..layout.lines()).flat_map(|line| columns.clone().map(move |it| (line, it))) {
            let at = layout.place(layout.slot(line, burst));
            openings += u64::from(open.insert((at.channel, at.bank), at.row) != Some(at.row));
        }
    }
    (layout.lines() * layout.line_bursts()) as f64 / openings as f64
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "a few bursts")]
fn a_copy_takes_as_many_bursts_of_a_row_as_lie_in_it() {
    let InferenceStudy { memory, pim, .. } = InferenceStudy::default();
    for placement in [Placement::ColumnBursts, Placement::RowBursts] {
        // Half a row of a bank has four lines of 16 bursts, if each has as many inputs.
        for input_registers in [8, 16] {
            let pim = PimBlocks { input_registers: count(input_registers), ..pim };
            let gemv = Gemv::new(8192, 2048).unwrap();
            let layout = Layout::new(gemv, Element::Bf16, placement, &memory, &pim, 0).unwrap();
            for together in [1, 8, 16, 32, 64] {
                let said = placement.run_bursts(together, 16, &memory, &pim).min(64);
                let counted = bursts_of_an_opening(&layout, together);
                assert!(
                    (counted / said as f64 - 1.0).abs() < 0.02,
                    "{placement:?} {together}: {said} {counted}"
                );
            }
        }
    }
}

/// Each of eight lines in a row gives a burst, which holds 16 columns, or one gives a burst of each of
/// eight columns.
#[test]
fn a_copy_of_row_bursts_is_as_fast_as_its_rows_give_it() {
    let of = |placement, together| {
        let together = tokens(together);
        let mut study = InferenceStudy { placement, together, ..InferenceStudy::default() };
        (study.cpu.copy_gb_s, study.cpu.memory_efficiency) = (1e3, 1.0);
        let prompt_j = |it: &InferenceStudy| {
            let no_reply = InferenceStudy { scheme: Scheme::FacilO, ..it.clone() };
            let energy =
                |it: &InferenceStudy| it.answer().unwrap().headline.energy.energy_activate_j.unwrap();
            energy(it) - energy(&no_reply)
        };
        (study.answer().unwrap().headline.ttft_s, prompt_j(&study))
    };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    let (rows, columns, one) =
        (of(Placement::RowBursts, 1), of(Placement::ColumnBursts, 8), of(Placement::ColumnBursts, 1));
    assert!(near(rows.0, columns.0) && near(rows.1, columns.1), "{rows:?} {columns:?}");
    assert!(rows.0 < one.0 && rows.1 < one.1, "{rows:?} {one:?}");
    let more = of(Placement::RowBursts, 17);
    assert!(more.0 <= rows.0 && more.1 < rows.1, "{more:?}");
}

#[test]
fn a_copy_that_dram_does_not_hold_is_refused() {
    let mut study = InferenceStudy::default();
    study.cpu.copy_transactions = count(1);
    let told = study.answer().unwrap_err().to_string();
    assert!(told.contains("on-chip memory") && told.contains("`ondevice.roofline`"), "{told}");
}

/// Where one bank gives all rows, each waits for the one before to close; PIM closes all banks together.
#[test]
fn rows_of_few_banks_wait_for_the_processor_to_close_them() {
    let one = NonZeroU32::MIN;
    let ns = |it: f64| Nanoseconds::new(it).unwrap();
    let of = |trp_ns| {
        let mut study = DecodeStudy::default();
        endless(&mut study.cpu);
        study.cpu.memory_efficiency = 1.0;
        study.refresh = false;
        let banks = study.memory.banks_per_channel.get();
        (study.memory.banks_per_channel, study.memory.bank_groups) = (one, one);
        study.memory.rows = NonZeroU32::new(study.memory.rows.get() * banks).unwrap();
        study.memory.trp_ns = ns(trp_ns);
        let row = study.memory.row_bytes.get() * study.memory.channels.get();
        (study.answer().unwrap(), f64::from(row))
    };
    let ((short, row), (long, _)) = (of(8.0), of(18.0));
    // Llama 3.2 1B's matrices in BF16, in rows of all channels.
    let rows = 1_235_746_816.0 * 2.0 / row;
    let more = (long.host_gemv_ns - short.host_gemv_ns) / rows;
    assert!((more / 10.0 - 1.0).abs() < 1e-3, "{more}");
    assert!(long.token_speedup > short.token_speedup);
}
