//! What the paper's Sec. 3 to 6 print that follows without a fit, and what the
//! studies refuse.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::Dram;
use memscape_ondevice::cost::energy::PimEnergy;
use memscape_ondevice::cost::gemv::PimMemory;
use memscape_ondevice::cost::token::token;
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::mapping::layout::Placement;
use memscape_ondevice::{
    CapacityStudy, DecodeStudy, GemvStudy, InferenceAnswer, InferenceStudy, LayoutStudy, PrefillStudy,
};
use memscape_study::{BoundBy, CostEngine, Study};
use memscape_workload::{Experts, Llm, Model, Reply};

/// Sec. 6: K and V of Llama 3.2 1B fill half a row tile each, the LM head all but
/// 2816 rows of 16 times 8192.
#[test]
fn padding_is_that_of_k_v_and_the_lm_head() {
    let answer = CapacityStudy::default().answer().unwrap();
    assert_eq!(answer.weight_bytes, 2_471_628_800);
    assert_eq!(answer.tile_rows, 1024);
    assert_eq!(answer.padding_bytes, 16 * 2 * 512 * 2048 * 2 + 2816 * 2048 * 2);
    assert_eq!(answer.one_buffer_bytes, 32 << 20);
    let three = CapacityStudy { model: "llama-3.2-3b".parse().unwrap(), ..CapacityStudy::default() };
    let three = three.answer().unwrap();
    assert_eq!((three.weight_bytes, three.one_buffer_bytes), (6_425_499_648, 48 << 20));
}

#[test]
fn schemes_keep_what_they_say() {
    let of = |scheme| CapacityStudy { scheme, ..CapacityStudy::default() }.answer().unwrap();
    let [wd, facil, ddb, owr, host] =
        [Scheme::WeightDuplication, Scheme::FacilO, Scheme::Ddb, Scheme::Owr, Scheme::CacheableGemm].map(of);
    assert_eq!(wd.total_bytes, wd.duplication_bytes);
    assert_eq!(wd.saving.to_bits(), 0.0_f64.to_bits());
    assert_eq!(ddb.total_bytes - owr.total_bytes, 32 << 20);
    assert_eq!(owr.total_bytes - facil.total_bytes, 32 << 20);
    assert_eq!(host.total_bytes, host.weight_bytes);
    // Untied: the input table is the host's alone.
    let untied = |kept| {
        let model = "qwen3-8b".parse().unwrap();
        let it = CapacityStudy {
            model,
            scheme: Scheme::FacilO,
            pim_copies_embedding: kept,
            ..CapacityStudy::default()
        };
        it.answer().unwrap()
    };
    assert_eq!(untied(true).total_bytes, untied(false).total_bytes);
    assert_eq!(untied(true).pim_bytes - untied(false).pim_bytes, 151_936 * 4096 * 2);
}

/// Of Gemma 3's first six layers the last attends to everything, the others to 512 tokens.
#[test]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn the_first_layers_take_the_attention_and_cache_of_their_own_kinds() {
    let of = |layers, tokens, engine| {
        let study = PrefillStudy {
            model: Model::named("gemma-3-1b").unwrap(),
            layers: NonZeroU64::new(layers),
            prompt_tokens: NonZeroU64::new(tokens).unwrap(),
            scheme: Scheme::FacilO,
            engine,
            ..PrefillStudy::default()
        };
        study.answer().unwrap()
    };
    let (one, tokens) = (of(1, 30_000, CostEngine::Closed), 30_000_u64);
    let windowed = 512 * tokens - 512 * 511 / 2;
    let global = tokens * (tokens + 1) / 2;
    // All operations are alike, so that times are as the pairs of tokens.
    let six = of(6, tokens, CostEngine::Closed);
    let pairs = 5.0 + global as f64 / windowed as f64;
    assert!(
        (six.attention_s / one.attention_s / pairs - 1.0).abs() < 1e-3,
        "{} {}",
        six.attention_s,
        one.attention_s
    );
    // Two bytes for each of 256 keys and values, and of gate and up, or of the head for one token.
    let (gate_up, head) = (2 * (1152 + 2 * 6912), 2 * (1152 + 262_144));
    let weights = six.memory_bytes - 2 * 2 * 256 * (5 * 512 + tokens) - gate_up * tokens;
    assert_eq!(weights, of(6, 1, CostEngine::Closed).memory_bytes - 6 * 2 * 2 * 256 - head);
    let walked = of(6, tokens, CostEngine::Events);
    assert!((walked.ttft_s / six.ttft_s - 1.0).abs() < 1e-9);
}

#[test]
fn bad_input_is_told_what_to_change() {
    let base = PrefillStudy::default();
    let error = |study: &PrefillStudy| study.answer().unwrap_err().to_string();
    let small = PrefillStudy { buffer_bytes: NonZeroU64::new(1 << 20), ..base.clone() };
    assert_eq!(
        error(&small),
        "gate of a layer takes 33554432 B, but a cacheable buffer has 1048576 B; give `buffer_bytes` = 33554432 at least, \
         null for just as many, or a narrower `format`"
    );
    let owr =
        |bytes| PrefillStudy { scheme: Scheme::Owr, buffer_bytes: NonZeroU64::new(bytes), ..base.clone() };
    // The largest of its matrices, not the first that is larger than the buffer.
    assert!(error(&owr(1000)).starts_with("gate of a layer takes 33554432 B"), "{}", error(&owr(1000)));
    let raised = [Scheme::Owr, Scheme::Ddb].map(|scheme| PrefillStudy { scheme, ..owr(33_554_432) });
    assert!(raised.iter().all(|it| it.answer().is_ok()));
    let layers = PrefillStudy { layers: NonZeroU64::new(17), ..base.clone() };
    assert_eq!(error(&layers), "`layers` is 17, but the model has 16");
    let mut threads = base.clone();
    threads.cpu.middle_high.gemm_threads = 1;
    assert_eq!(
        error(&threads),
        "`cpu.middle_high` has 1 GEMM and 2 copy threads on 2 cores; a thread needs a core of its own: raise \
         `cpu.middle_high.cores` to 3 at least, or use fewer threads"
    );
    threads.cpu.middle_high.copy_threads = 0;
    assert_eq!(error(&threads), "there are 0 copy threads; give `cpu.middle_high.copy_threads` = 1");
    threads.cpu.middle_high.copy_threads = 1;
    assert!(threads.answer().is_ok(), "{:?}", threads.answer());
    threads.cpu.middle_high.gemm_threads = 2;
    threads.cpu.middle_high.copy_threads = 0;
    assert_eq!(
        error(&threads),
        "there are 0 copy threads; all cores have other threads: raise `cpu.*.cores` and give `cpu.*.copy_threads` = 1"
    );
    let mut none = base.clone();
    none.cpu.middle_high.copy_threads = 0;
    assert_eq!(error(&none), "there are 0 copy threads; give `cpu.middle_high.copy_threads` from 1 to 2");
    let mut rates = base.clone();
    rates.cpu.uncached_slowdown = f64::NAN;
    assert_eq!(error(&rates), "`cpu.uncached_slowdown` is NaN; it must be from 1 to 1000");
    let mut slow = PrefillStudy { prompt_tokens: NonZeroU64::new(1 << 17).unwrap(), ..base.clone() };
    slow.cpu.gemm_efficiency = 1e-3;
    assert!(error(&slow).contains("beyond the model's clock"), "{}", error(&slow));
    // Keys and values beyond the memory are told as that, however long they would take.
    let long = PrefillStudy { prompt_tokens: NonZeroU64::new(1 << 24).unwrap(), ..base.clone() };
    assert!(error(&long).contains("but `memory` has 12 GiB"), "{}", error(&long));
    let endless = PrefillStudy { prompt_tokens: NonZeroU64::MAX, ..base.clone() };
    assert!(error(&endless).contains("it must have 1 to 268435456"), "{}", error(&endless));
    assert!(serde_json::from_value::<PrefillStudy>(serde_json::json!({ "prompt_tokens": 0 })).is_err());

    let mut ranks = GemvStudy::default();
    ranks.memory.ranks = NonZeroU32::new(2).unwrap();
    assert!(ranks.answer().unwrap_err().to_string().starts_with("`memory.ranks` is 2"));
    let scaled = GemvStudy { format: "mx-int8-b32".parse().unwrap(), ..GemvStudy::default() };
    assert!(scaled.answer().unwrap_err().to_string().contains("no scale factors"));
    let half = GemvStudy { m: NonZeroU64::new(8), ..GemvStudy::default() };
    assert!(half.answer().unwrap_err().to_string().contains("go together"));
    let experts = Llm { experts: Some(Experts { count: 8, active: 2 }), ..*base.model };
    let model = Model::of(experts).unwrap();
    assert!(error(&PrefillStudy { model, ..base }).starts_with("the model has 8 experts in each layer"));
    for refused in [
        CapacityStudy { model, ..CapacityStudy::default() }.answer().err(),
        DecodeStudy { model, ..DecodeStudy::default() }.answer().err(),
        InferenceStudy { model, ..InferenceStudy::default() }.answer().err(),
    ] {
        assert!(refused.unwrap().to_string().contains("use a model without experts"));
    }
    // Less of what does not fit would not help: experts are told first, of every scheme.
    let mixtral = Model::named("mixtral-8x7b").unwrap();
    for scheme in [Scheme::CacheableGemm, Scheme::Ddb, Scheme::NonCacheableGemm] {
        let prefill = PrefillStudy { model: mixtral, scheme, ..base.clone() };
        let whole = InferenceStudy { model: mixtral, scheme, ..InferenceStudy::default() };
        for text in [error(&prefill), whole.answer().unwrap_err().to_string()] {
            assert!(
                text.starts_with("the model has 8 experts in each layer, of which a router picks"),
                "{text}"
            );
        }
    }
    let odd = Model::of(Llm { hidden_size: 2047, ..*base.model }).unwrap();
    let (scheme, format) = (Scheme::CacheableGemm, "q8_0".parse().unwrap());
    let odd = InferenceStudy { model: odd, scheme, format, ..InferenceStudy::default() };
    assert!(odd.answer().unwrap_err().to_string().contains("no block divides it"));
    // Formats are told where they can be used.
    let mut given = serde_json::to_value(&base).unwrap();
    given["format"] = "q4_k".into();
    let text = serde_json::from_value::<PrefillStudy>(given).unwrap_err().to_string();
    assert!(
        text.contains("use fp32, bf16, fp16, int8 or int4, or with `scheme` = \"cacheable-gemm\""),
        "{text}"
    );
    let mut given = serde_json::to_value(GemvStudy::default()).unwrap();
    given["format"] = "q4_k".into();
    let text = serde_json::from_value::<GemvStudy>(given).unwrap_err().to_string();
    assert!(text.ends_with("so use fp32, bf16, fp16, int8 or int4"), "{text}");
    let mut tiny = GemvStudy::default();
    tiny.memory.rows = NonZeroU32::new(16).unwrap();
    assert!(tiny.answer().unwrap_err().to_string().contains("needs DRAM rows 0 to"));
}

/// What does not fit is refused, by every study that answers with a time.
#[test]
fn what_does_not_fit_is_refused() {
    let model: Model = "qwen3-32b".parse().unwrap();
    let small = "weights, buffers and key-value cache take 6";
    for refused in [
        PrefillStudy { model, ..PrefillStudy::default() }.answer().err(),
        DecodeStudy { model, ..DecodeStudy::default() }.answer().err(),
        InferenceStudy { model, ..InferenceStudy::default() }.answer().err(),
    ] {
        let error = refused.unwrap().to_string();
        assert!(error.starts_with(small) && error.contains("`memory` has 12 GiB: "), "{error}");
    }
    // Two copies of Llama 3.2 3B leave room for a short reply alone.
    let long = InferenceStudy {
        model: "llama-3.2-3b".parse().unwrap(),
        scheme: Scheme::WeightDuplication,
        ..InferenceStudy::default()
    };
    assert!(long.answer().is_err());
    let one = InferenceStudy { scheme: Scheme::Ddb, ..long };
    assert!(one.answer().is_ok());
    let mut threads = PrefillStudy::default();
    threads.cpu.owr_threads = NonZeroU32::new(7).unwrap();
    assert!(threads.answer().unwrap_err().to_string().starts_with("`cpu.owr_threads` is 7, but there are 6"));
    let cached = PrefillStudy {
        scheme: Scheme::NonCacheableGemm,
        region: memscape_ondevice::hardware::Region::Cacheable,
        ..PrefillStudy::default()
    };
    assert!(cached.answer().unwrap_err().to_string().contains("past the caches"));
}

/// What a GEMV gains is bounded by banks over command rate, and halved where two
/// banks share a PIM block.
#[test]
fn gains_are_below_their_peak() {
    let one = GemvStudy::default().answer().unwrap();
    assert!((one.peak_bandwidth_gain - 8.0).abs() < 0.01, "{}", one.peak_bandwidth_gain);
    assert!(one.bandwidth_gain < one.peak_bandwidth_gain);
    let mut shared = GemvStudy::default();
    shared.pim.banks_per_block = NonZeroU32::new(2).unwrap();
    let shared = shared.answer().unwrap();
    assert!((shared.peak_bandwidth_gain - 4.0).abs() < 0.01);
    assert!(shared.bandwidth_gain < one.bandwidth_gain);
    // 512 rows fill half of the lanes.
    let narrow = GemvStudy { gemv: memscape_workload::Matrix::K, ..GemvStudy::default() }.answer().unwrap();
    assert!((narrow.padding_share - 0.5).abs() < 1e-12);
}

/// Strictly in the host's order, neighbours in a column lie in other DRAM rows of the
/// same banks, so that each burst is one of the four activates that a window allows; columns together share an open row.
#[test]
fn columns_together_share_dram_rows() {
    let at = |together| {
        let together = NonZeroU64::new(together).unwrap();
        LayoutStudy { together, ..LayoutStudy::default() }.answer().unwrap()
    };
    let (one, eight) = (at(1), at(8));
    let memory = LayoutStudy::default().memory;
    let a_window = f64::from(memory.channels.get() * 4 * memory.column_bytes()) / memory.tfaw_ns.as_f64();
    assert!((one.read_gb_s / a_window - 1.0).abs() < 0.01, "{} {a_window}", one.read_gb_s);
    assert!(2.0 * one.read_gb_s < eight.read_gb_s, "{} {}", one.read_gb_s, eight.read_gb_s);
    assert!((one.run_bursts - 1.0).abs() < 1e-9 && (eight.run_bursts - 4.0).abs() < 0.1);
    assert!(eight.read_efficiency <= 1.0);
}

/// PIM takes a batch one after the other; the host reads and copies weights once. Caches lie side by
/// side.
#[test]
fn a_batch_shares_weights_on_the_host_alone() {
    let of = |scheme, batch| {
        let batch = NonZeroU64::new(batch).unwrap();
        InferenceStudy { scheme, batch, ..InferenceStudy::default() }.answer().unwrap()
    };
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    let [alone, all] = [1, 3].map(|it| of(Scheme::CacheableGemm, it));
    assert!(all.headline.token_ns < 2.0 * alone.headline.token_ns);
    let [one, three] = [1, 3].map(|it| of(Scheme::Ddb, it));
    // The host hands over seven products of 16 layers and the head once for all.
    let handing = 113.0 * InferenceStudy::default().cpu.product_overhead_us * 1e3;
    let on_pim = |it: &InferenceAnswer| it.headline.token_ns - handing;
    assert!(on_pim(&one) > 0.5 * one.headline.token_ns);
    close(3.0 * on_pim(&one), on_pim(&three));
    // Three prompts are copied for once, and multiplied as one.
    assert!(three.headline.ttft_s < 3.0 * one.headline.ttft_s);
    assert!(three.headline.ttft_s > 2.0 * one.headline.ttft_s);
    // 16 layers, 8 heads of 64, keys and values, 256 tokens of two bytes; gate and up of 128.
    let (cache, product) = (16 * 8 * 64 * 2 * 256 * 2, 128 * (2048 + 2 * 8192) * 2);
    assert_eq!(three.headline.memory_bytes - one.headline.memory_bytes, 2 * (cache + product));
    let capacity = CapacityStudy::default().answer().unwrap();
    assert!(capacity.total_bytes < one.headline.memory_bytes);
    assert_eq!(one.headline.memory_limit_bytes, Some(capacity.dram_bytes));
}

/// PIM reads weights, rows opened for it among that, unless the host takes longer, or small registers
/// make PIM do other things.
#[test]
fn what_binds_is_what_takes_most() {
    let mut study = InferenceStudy::default();
    let bound = |study: &InferenceStudy| study.answer().unwrap().headline.bound_by;
    assert_eq!(bound(&study), BoundBy::DramBandwidth);
    study.cpu.product_overhead_us *= 2.0;
    assert_eq!(bound(&study), BoundBy::Host);
    study.cpu.product_overhead_us = 0.0;
    assert_eq!(bound(&study), BoundBy::DramBandwidth);
    (study.pim.input_registers, study.pim.output_registers) = (NonZeroU32::MIN, NonZeroU32::MIN);
    study.placement = Placement::RowBursts;
    assert_eq!(bound(&study), BoundBy::CommandIssue);
    study.scheme = Scheme::CacheableGemm;
    assert_eq!(bound(&study), BoundBy::DramBandwidth);
}

/// Rows of 64 bytes in one bank of each channel: all weights of Llama 3.2 1B wait for 60 ns per row.
#[test]
fn the_host_waits_for_rows_to_open() {
    let of = |memory: Dram| {
        let study = InferenceStudy {
            memory,
            scheme: Scheme::CacheableGemm,
            generated_tokens: NonZeroU64::MIN,
            ..InferenceStudy::default()
        };
        study.answer().unwrap().headline.token_ns
    };
    let phone = InferenceStudy::default().memory;
    let count = |it| NonZeroU32::new(it).unwrap();
    let (one, row_bytes) = (count(1), count(64));
    let rows = phone.capacity().0 / (64 * u64::from(phone.channels.get()));
    let rows = count(u32::try_from(rows).unwrap());
    let narrow = Dram { banks_per_channel: one, bank_groups: one, row_bytes, rows, ..phone };
    let bytes = 2_471_628_800.0;
    let floor = bytes / (64.0 * f64::from(phone.channels.get())) * phone.trc().as_f64();
    assert!(of(narrow) > floor && of(phone) < 0.2 * floor, "{} {} {floor}", of(narrow), of(phone));
}

/// What the lanes of a register hold of one row the host reads, and adds up.
#[test]
fn the_host_reads_the_partial_sums_of_rows() {
    let (m, k) = (NonZeroU64::new(65536), NonZeroU64::new(128));
    let of = |placement| GemvStudy { m, k, placement, ..GemvStudy::default() }.answer().unwrap();
    let (columns, rows) = (of(Placement::ColumnBursts), of(Placement::RowBursts));
    // A burst of 32 bytes for each row, at four channels of 17.07 GB/s.
    assert_eq!(columns.host_sums_ns.to_bits(), 0.0_f64.to_bits());
    assert!((rows.host_sums_ns - 65536.0 * 32.0 / 68.264).abs() < 1.0, "{}", rows.host_sums_ns);
    // Refreshes take their share of that, too: of the commands as without row bursts, and of the reads.
    let share = GemvStudy::default().memory.refresh_share();
    let commands = columns.refresh_ns / columns.busy_ns * (rows.busy_ns - rows.host_sums_ns);
    let waited = rows.refresh_ns - commands;
    assert!((waited - rows.host_sums_ns * share / (1.0 - share)).abs() < 2.0, "{waited}");

    let mut decode = DecodeStudy { placement: Placement::RowBursts, ..DecodeStudy::default() };
    let layers_ns = |it: &DecodeStudy| it.answer().unwrap().layers_ns;
    let (whole, efficiency) = (layers_ns(&decode), decode.cpu.memory_efficiency);
    decode.cpu.memory_efficiency /= 2.0;
    let bytes = 16.0 * f64::from(2048 + 2 * 512 + 2048 + 2 * 8192 + 2048) * 32.0;
    let by_hand = bytes / (68.264 * efficiency);
    assert!(((layers_ns(&decode) - whole) / by_hand - 1.0).abs() < 1e-5, "{whole} {by_hand}");
    // Their energy is that of as many bytes of keys and values.
    let DecodeStudy { model, memory, pim, format, placement, refresh, cpu, .. } = decode;
    let on = PimMemory { memory, pim, format, placement, refresh };
    let token = token(&model, &on, &cpu, Reply { prompt: 1, tokens: NonZeroU64::MIN }, 1).unwrap();
    let mac_pj_per_bit = InferenceStudy::default().mac_pj_per_bit;
    let energy = |it: &memscape_ondevice::cost::token::Token, on| {
        PimEnergy { memory: &memory, pim: &pim, mac_pj_per_bit, refresh }.of_token(it, Some(on)).unwrap()
    };
    let sums = *token.on_pim().unwrap();
    let (mut moved, mut none) = (token.clone(), sums);
    none.host_sum_bytes = 0;
    moved.cache_bytes += bytes + 128_256.0 * 32.0;
    let ratio = energy(&token, &sums).total().value / energy(&moved, &none).total().value;
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
}

/// Who decodes on the host asks nothing of PIM blocks, and loses only what is compared with them.
#[test]
fn a_scheme_without_pim_takes_blocks_that_hold_no_weights() {
    let base = InferenceStudy { scheme: Scheme::CacheableGemm, ..InferenceStudy::default() };
    let mut odd = base.clone();
    odd.pim.banks_per_block = NonZeroU32::new(3).unwrap();
    let mut ranks = base.clone();
    ranks.memory.ranks = NonZeroU32::new(2).unwrap();
    let whole = base.answer().unwrap();
    assert!(whole.of_facil_o.is_some());
    for study in [odd, ranks] {
        let it = study.answer().unwrap();
        let [times, alone] =
            [it, whole].map(|it| (it.headline.ttft_s, it.headline.token_ns, it.host_total_s));
        assert_eq!((times, it.headline.memory_bytes), (alone, whole.headline.memory_bytes));
        assert_eq!(it.of_facil_o, None);
        assert_eq!(study.operators().unwrap(), base.operators().unwrap());
        for scheme in [Scheme::Ddb, Scheme::FacilO, Scheme::NonCacheableGemm] {
            let on_pim = InferenceStudy { scheme, ..study.clone() };
            assert!(on_pim.answer().is_err() && on_pim.operators().is_err(), "{scheme:?}");
        }
    }
}

/// A prompt is refused for its length by what it takes: weights are read once for a block of tokens.
#[test]
#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn a_long_prompt_on_a_slow_memory_is_as_long_as_it_takes() {
    let mut study =
        PrefillStudy { prompt_tokens: NonZeroU64::new(100_000).unwrap(), ..PrefillStudy::default() };
    study.cpu.memory_efficiency = 0.02;
    let it = study.answer().unwrap();
    assert!(it.ttft_s < 1e5, "{}", it.ttft_s);
    // Weights read anew for each token would alone be beyond the clock.
    let each_token_s = study.prompt_tokens.get() as f64 * it.copied_bytes / (0.02 * 68.264e9);
    assert!(each_token_s > 1e5, "{each_token_s}");
}

/// A sum of thousands of products is wider than what is multiplied.
#[test]
fn sums_of_narrow_weights_have_sixteen_bits() {
    let of = |format: &str| GemvStudy { format: format.parse().unwrap(), ..GemvStudy::default() };
    for (format, registers) in [("bf16", 1), ("fp32", 1), ("int8", 2), ("int4", 4)] {
        let layout = of(format).layout().unwrap();
        assert_eq!((layout.line_registers, layout.lines_per_pass), (registers, 8 / registers), "{format}");
        let it = of(format).answer().unwrap();
        assert_eq!(it.output_tiles, layout.unit_lines().div_ceil(8 / registers), "{format}");
        assert_eq!(it.sum_writes, layout.unit_lines() * registers, "{format}");
    }
    let mut few = of("int4");
    few.pim.output_registers = NonZeroU32::new(3).unwrap();
    assert_eq!(
        few.answer().unwrap_err().to_string(),
        "sums have 16 bits at least, so that those of a burst of int4 elements fill 4 registers, but \
         `pim.output_registers` is 3; use more, or a wider format"
    );
}

/// 128 times 16 layers of 60.8 million weights of two bytes, for as long as that GEMM takes.
#[test]
fn the_bandwidth_of_a_gemm_past_the_caches_is_its_own() {
    let it = PrefillStudy { scheme: Scheme::NonCacheableGemm, ..PrefillStudy::default() }.answer().unwrap();
    let bytes = 128.0 * 16.0 * f64::from(2048 * (2 * 2048 + 2 * 512 + 3 * 8192)) * 2.0;
    let by_hand = bytes / (it.gemm_s + it.exposed_s) / 68.264e9;
    assert!((it.gemm_bandwidth_share / by_hand - 1.0).abs() < 1e-4, "{}", it.gemm_bandwidth_share);
    assert!((it.gemm_bandwidth_share - 0.032).abs() < 1e-3, "{}", it.gemm_bandwidth_share);
}

/// A memory that does nothing but refresh is told as that, of a matrix or of a token.
#[test]
fn refreshes_leave_time_or_are_refused() {
    let slow = |rate: f64, trefi: f64| {
        let mut memory = GemvStudy::default().memory;
        memory.data_rate_mt_s = memscape_units::MtPerS::new(rate).unwrap();
        memory.trefi_ns = memscape_units::Nanoseconds::new(trefi).unwrap();
        let gemv = GemvStudy { memory, ..GemvStudy::default() }.answer();
        let decode = DecodeStudy { memory, ..DecodeStudy::default() }.answer();
        [gemv.map(|it| it.time_ns), decode.map(|it| it.token_ns)].map(|it| it.map_err(|it| it.to_string()))
    };
    let given = GemvStudy::default().memory;
    let (rate, trefi) = (given.data_rate_mt_s.as_f64(), given.trefi_ns.as_f64());
    for it in slow(1.0, trefi) {
        let found = it.unwrap_err();
        assert!(found.starts_with("in each `memory.trefi_ns` of "), "{found}");
        assert!(found.ends_with("raise `memory.data_rate_mt_s` or `memory.trefi_ns`"), "{found}");
    }
    // Either does, as is advised.
    assert!(slow(1.0, 1e6).iter().chain(&slow(rate, trefi)).all(Result::is_ok));
}

/// What is true of all matrices does not begin with one of them.
#[test]
fn a_memory_of_several_ranks_is_told_of_no_matrix() {
    let mut study = DecodeStudy::default();
    study.memory.ranks = NonZeroU32::new(2).unwrap();
    let found = study.answer().unwrap_err().to_string();
    assert!(found.starts_with("`memory.ranks` is 2"), "{found}");
}
