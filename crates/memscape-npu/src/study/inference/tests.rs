//! A prompt and a reply on the NPU alone, held to what they are made of.

use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

use memscape_study::{BoundBy, Headline, OperatorCost, Pass, Study};
use memscape_units::{Bytes, GbPerS, Nanoseconds};
use memscape_workload::{Format, Matrix, Model};

use super::prompt::{By, HeadOn, Plan};
use super::question::{Handed, InferenceStudy};
use crate::hardware::precision::Precision;
use crate::mapping::design::BLayout;
use crate::mapping::designs::DESIGNS;
use crate::study::attention::PromptAttention;
use crate::study::memory::{Gb, MemoryGb};
use crate::study::pass::PassPart;
use crate::study::search::SearchStudy;
use crate::study::workload::{Strategy, WorkloadStudy};

#[test]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn a_token_streams_every_weight_it_meets_once_and_the_cache_after_them() {
    let study = InferenceStudy::default();
    let of = |context: u64| {
        let prompt_tokens = NonZeroU64::new(context).unwrap();
        InferenceStudy { prompt_tokens, ..study }.answer().unwrap()
    };
    let (short, long) = (of(1024), of(2048));
    let port = study.device.dram.port_gb_s();
    let kv = study.model.kv_cache_elements(1024) as f64 * 2.0;
    assert!(((long.attention_ns - short.attention_ns) * port / kv - 1.0).abs() < 1e-3);
    // The head is the embedding, and a token looks up one row of it beside.
    let weights = study.format.of(&study.model).unwrap().total_bytes().0 as f64;
    assert!((short.weights_ns * port / weights - 1.0).abs() < 5e-3, "{}", short.weights_ns * port / weights);
}

/// Of Gemma 3 1B 22 layers of 26 see no more than 512 tokens, which fill after half of the reply.
#[test]
fn a_reply_takes_as_long_as_its_tokens_one_by_one() {
    let of = |prompt: u64, generated: u64| {
        let study = InferenceStudy {
            model: Model::named("gemma-3-1b").unwrap(),
            prompt_tokens: NonZeroU64::new(prompt).unwrap(),
            generated_tokens: NonZeroU64::new(generated).unwrap(),
            batch: NonZeroU32::new(32).unwrap(),
            ..InferenceStudy::default()
        };
        let (step, [bytes, _], _) = study.step().unwrap();
        [step.ns(PassPart::Attention), step.total().as_ns(), bytes]
    };
    let reply = of(1, 1023);
    let each: Vec<_> = (1..=1023).map(|it| of(it, 1)).collect();
    for (part, reply) in reply.into_iter().enumerate() {
        let ratio = reply / (each.iter().map(|it| it[part]).sum::<f64>() / 1023.0);
        assert!((ratio - 1.0).abs() < 1.5e-3, "{part}: {ratio}");
    }
}

#[test]
fn what_interface_tiles_do_not_take_in_binds_as_a_link() {
    let of = |clock_mhz| {
        let mut study = InferenceStudy { generated_tokens: NonZeroU64::MIN, ..InferenceStudy::default() };
        study.device.clock_mhz = memscape_units::Megahertz::new(clock_mhz).unwrap();
        study.answer().unwrap().headline.bound_by
    };
    // Eight channels of four bytes a cycle: 3.2 GB/s, and 32 GB/s, of a port of less.
    assert_eq!((of(100.0), of(1000.0)), (BoundBy::Link, BoundBy::DramBandwidth));
}

#[test]
fn what_takes_longest_of_three_binds() {
    let of = |dispatch_ns| {
        let mut study = InferenceStudy {
            batch: NonZeroU32::new(256).unwrap(),
            strategy: Strategy::BestPerSize,
            handed: Handed::Operators,
            prompt_tokens: NonZeroU64::new(16).unwrap(),
            generated_tokens: NonZeroU64::MIN,
            ..InferenceStudy::default()
        };
        study.device.dispatch_ns = Nanoseconds::new(dispatch_ns).unwrap();
        let (_, _, computing) = study.step().unwrap();
        let answer = study.answer().unwrap();
        let streaming = answer.headline.token_ns - answer.dispatch_ns - computing.as_f64();
        (answer.headline.bound_by, [answer.dispatch_ns, computing.as_f64(), streaming])
    };
    // 16 layers of four products and attention, and the head: 81 times 1.2 ms.
    let (bound, [dispatch, computing, streaming]) = of(1.2e6);
    assert!((dispatch - 81.0 * 1.2e6).abs() < 1.0 && dispatch > computing && computing > streaming);
    assert!(dispatch < computing + streaming, "less than half of a step");
    assert_eq!((bound, of(0.6e6).0), (BoundBy::Host, BoundBy::Compute));
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn a_step_multiplies_as_fast_as_its_kernel() {
    // Memory tiles hold 8192 inputs of each.
    let batch = NonZeroU32::new(248).unwrap();
    let prompt_tokens = NonZeroU64::MIN;
    let mut study = InferenceStudy { prompt_tokens, batch, ..InferenceStudy::default() };
    study.device.l2_bytes = NonZeroU32::new(1 << 20).unwrap();
    let layer: u64 = study.model.layer_gemvs(study.projections).map(|it| it.1.macs()).sum();
    let head = study.model.gemv(Matrix::LmHead).unwrap().macs();
    let macs = u64::from(study.model.layers) * layer + head;
    let tops = |strategy| {
        let answer = InferenceStudy { strategy, ..study }.answer().unwrap();
        2.0 * f64::from(batch.get()) * macs as f64 / answer.weights_ns * 1e-3
    };
    // Of the kernel alone, which the array does not reach where it waits or pads.
    let given = study.products().gemm(NonZeroU64::MIN, study.model.gemv(Matrix::Qkv).unwrap());
    let given = given.answer().unwrap().peak_tops;
    let fastest = SearchStudy::default().answer().unwrap().peak_tops;
    assert!((tops(Strategy::OneDesign) / given - 1.0).abs() < 1e-9);
    assert!((tops(Strategy::BestPerSize) / fastest - 1.0).abs() < 1e-9);
    assert!(given < fastest && fastest < 0.95 * study.device.peak_tops(&study.device.int8.unwrap()));
}

/// Vectors that memory tiles do not hold at once take turns, or are a matrix like a prompt's where that is
/// faster.
#[test]
fn a_step_of_many_sequences_takes_turns_or_is_a_prompt_of_as_many_tokens() {
    let in_tiles = |l2_bytes, batch| {
        let mut study = InferenceStudy {
            batch: NonZeroU32::new(batch).unwrap(),
            prompt_tokens: NonZeroU64::MIN,
            generated_tokens: NonZeroU64::MIN,
            ..InferenceStudy::default()
        };
        study.device.l2_bytes = NonZeroU32::new(l2_bytes).unwrap();
        study
    };
    let (small, whole) = (300 << 10, 512 << 10);
    let weights = |l2_bytes, batch| in_tiles(l2_bytes, batch).answer().unwrap().weights_ns;
    let turns = |batch| {
        let streams = in_tiles(whole, batch).streams_of_step(|_| true).unwrap();
        streams.iter().map(|it| it.turns).fold(0.0, f64::max)
    };
    // Two turns begin where the widest matrix' inputs do not fit beside B and C.
    let one = in_tiles(whole, 1);
    let qkv = one.model.gemv(Matrix::Qkv).unwrap();
    let kept = one.products().gemm(NonZeroU64::MIN, qkv).design().l2(&one.device);
    let fit = u32::try_from(4 * (u64::from(whole) - kept.b - kept.c) / 8192).unwrap();
    assert!((100..256).contains(&fit) && turns(fit).total_cmp(&1.0).is_eq(), "{fit}");
    assert!(turns(fit + 1).total_cmp(&2.0).is_eq());
    for l2_bytes in [small, whole] {
        let all = [64, 128, fit, fit + 1, 256, 300, 448, 512, 600, 1024, 2048, 4032];
        for (batch, next) in all.iter().zip(&all[1..]) {
            assert!(weights(l2_bytes, *batch) <= weights(l2_bytes, *next), "{batch}");
            // Rows of an instruction, and turns, may be full or not.
            let ratio = weights(l2_bytes, 2 * batch) / weights(l2_bytes, *batch);
            assert!(ratio <= 2.02, "{batch} twice: {ratio}");
        }
    }
    // Of 1344 rows, three whole blocks, products read weights as often.
    let many = in_tiles(small, 1344);
    let stored = many.format.of(&many.model).unwrap();
    let rows = NonZeroU64::from(many.batch);
    let mut prompt = WorkloadStudy { prompt_tokens: rows, ..many.products() };
    // The host hands over layers, not products.
    prompt.device.dispatch_ns = Nanoseconds::ZERO;
    let prompt = prompt.solve(rows, Some(stored), &[]).unwrap();
    let step = weights(small, 1344);
    assert!((step / prompt.answer.time_ns - 1.0).abs() < 1e-12, "{step} {}", prompt.answer.time_ns);
    assert!(weights(whole, 1344) < step);
    // Products touch lines in part, as a prompt's do.
    let bytes = |l2_bytes| in_tiles(l2_bytes, 1344).step().unwrap().1;
    assert!(bytes(whole)[0].total_cmp(&bytes(whole)[1]).is_eq() && bytes(small)[0] < bytes(small)[1]);
    // Operator by operator, too.
    let told = many.operators(HeadOn::Array).unwrap();
    let products = |it: &&OperatorCost| {
        let of_weights = ["qkv", "out", "gate_up", "down", "lm_head", "reconfiguration"];
        it.pass == Pass::Token && of_weights.contains(&it.operator.as_str())
    };
    let sum: f64 = told.iter().filter(products).flat_map(|it| &it.parts).map(|it| it.1).sum();
    assert!((sum / step - 1.0).abs() < 1e-9, "{sum} {step}");
}

#[test]
fn sequences_share_the_stream_of_weights() {
    let one = InferenceStudy::default();
    let eight = InferenceStudy { batch: NonZeroU32::new(8).unwrap(), ..one };
    let (one, eight) = (one.answer().unwrap(), eight.answer().unwrap());
    // What they write and read beside is a per cent.
    assert!(eight.weights_ns < 1.02 * one.weights_ns);
    assert!(eight.attention_ns > 7.9 * one.attention_ns);
}

/// Tokens of several sequences meet more experts than one does, and the host waits for each router.
#[test]
fn a_step_streams_the_experts_that_its_tokens_meet() {
    let model = Model::named("mixtral-8x7b").unwrap();
    let of = |batch, handed| InferenceStudy {
        model,
        format: Format::INT8.into(),
        prompt_tokens: NonZeroU64::MIN,
        batch: NonZeroU32::new(batch).unwrap(),
        handed,
        memory_gb: MemoryGb(64.0),
        ..InferenceStudy::default()
    };
    let weights = |batch| {
        let streams = of(batch, Handed::Layers).streams_of_step(|_| true).unwrap();
        let products = streams.iter().filter(|it| it.part == PassPart::Weights);
        products.map(|it| it.bytes).sum::<f64>()
    };
    // Two experts, and 3.5, of three matrices of 4096 by 14 336 in each layer; a per cent of vectors beside.
    let expert = f64::from(3 * 4096 * 14_336);
    let more = (weights(2) - weights(1)) / (32.0 * 1.5 * expert);
    assert!((more - 1.0).abs() < 1e-2, "{more}");
    let all = weights(64) / (32.0 * 8.0 * expert);
    assert!((1.0..1.06).contains(&all), "all eight, and 3 % of attention: {all}");
    let dispatches = |handed| {
        let study = of(2, handed);
        study.answer().unwrap().dispatch_ns / study.device.dispatch_ns.as_f64()
    };
    assert!((dispatches(Handed::Layers) - 65.0).abs() < 1e-6);
    // Q with K and V, output, router, attention; two matrices of 3.5 experts; and the head.
    assert!((dispatches(Handed::Operators) - (32.0 * (4.0 + 7.0) + 1.0)).abs() < 1e-6);
    let error = of(1, Handed::Token).answer().unwrap_err().to_string();
    assert!(error.contains("8 experts") && error.contains("`handed` = layers"), "{error}");
}

#[test]
fn each_sequence_of_a_batch_asks_the_head_once() {
    // As many tokens in one prompt or in many: the same but for the head.
    let prompt = |prompt_tokens, batch| {
        let prompt_tokens = NonZeroU64::new(prompt_tokens).unwrap();
        let batch = NonZeroU32::new(batch).unwrap();
        InferenceStudy { prompt_tokens, batch, ..InferenceStudy::default() }.prompt(HeadOn::Array).unwrap()
    };
    let (one, many) = (prompt(1 << 15, 1), prompt(1 << 5, 1 << 10));
    assert_eq!(one.layers.time, many.layers.time);
    let ratio = many.outside.time.as_f64() / one.outside.time.as_f64();
    assert!(ratio > 2.0, "1024 vectors are more than a tile of them: {ratio}");
}

/// What configures the array is billed once, with the products.
#[test]
fn attention_of_a_prompt_does_not_pay_for_configuring() {
    let base = InferenceStudy { model: Model::named("qwen3-0.6b").unwrap(), ..InferenceStudy::default() };
    let of = |strategy, ns| {
        let mut study = InferenceStudy { strategy, ..base };
        study.device.reconfiguration_ns = Nanoseconds::new(ns).unwrap();
        study.prompt(HeadOn::Array).unwrap()
    };
    let once = of(Strategy::OneDesign, 1e6);
    let anew = of(Strategy::Reconfigured, 1e6);
    assert!(anew.weights > once.weights);
    assert_eq!(anew.attention, once.attention);
    // Where it makes all share a design, attention is computed in that, too.
    let [cheap, dear] = [0.0, 1e9].map(|ns| of(Strategy::BestPerSize, ns));
    assert!(cheap.weights < dear.weights && dear.weights.as_f64() < 1.05 * cheap.weights.as_f64());
    assert!(cheap.attention <= dear.attention && dear.attention.as_f64() < 1.05 * cheap.attention.as_f64());
    // Operator by operator, too.
    let told = InferenceStudy { strategy: Strategy::Reconfigured, ..base }.operators(HeadOn::Array).unwrap();
    let attention = |all: &[OperatorCost]| -> f64 {
        let of = |it: &&OperatorCost| it.pass == Pass::Prompt && it.operator.starts_with("attention_s");
        all.iter().filter(of).flat_map(|it| &it.parts).map(|it| it.1).sum()
    };
    assert!(attention(&told) > 0.0);
    assert!((attention(&told) / attention(&base.operators(HeadOn::Array).unwrap()) - 1.0).abs() < 1e-12);
}

#[test]
fn a_prompt_takes_the_energy_of_what_its_products_move() {
    let of = |study: &InferenceStudy| study.answer().unwrap().headline.energy;
    let certain = |[least, most]: [f64; 2]| (least / most - 1.0).abs() < 1e-12;
    let base = InferenceStudy { generated_tokens: NonZeroU64::MIN, ..InferenceStudy::default() };
    let mut wide = base;
    wide.device.dram.bus_bytes = NonZeroU16::new(64).unwrap();
    assert_eq!(of(&wide), of(&base), "a bus that moves nothing more");
    let mut slow = base;
    slow.device.clock_mhz = memscape_units::Megahertz::new(500.0).unwrap();
    assert_eq!(of(&slow).energy_access_j, of(&base).energy_access_j, "the same bytes, later");
    // Weights of a byte leave open but the lines that chunks of 112 bytes of C do not fill, or of B where rows are
    // its runs: what `npu.gemm` says of each product.
    let bytes = InferenceStudy { format: Format::INT8.into(), ..base };
    let in_rows = InferenceStudy { b_layout: BLayout::RowMajor, ..bytes };
    let [prompt, in_rows] = [bytes, in_rows].map(|it| it.prompt(HeadOn::Array).unwrap());
    let ([stored, lines], [same, more]) = (prompt.moved_bytes(), in_rows.moved_bytes());
    assert!(certain([stored, same]) && stored < lines && lines < 1.05 * stored, "{stored} {lines}");
    // Half of what is read is B.
    assert!(1.14 * lines < more && more < stored / 0.7, "{lines} {more}");
    let products = base.products();
    let layer = base.model.layer_gemvs(base.projections);
    let read = |weights| products.gemm(products.prompt_tokens, weights).answer().unwrap().dram_read_bytes;
    let read: f64 = layer.map(|it| read(it.1)).sum::<f64>() * f64::from(base.model.layers);
    assert!(certain([prompt.layers.read_bytes, read]));
    // Half a byte and its scales leave open less than half; two bytes are read as such.
    let [stored, widened] = base.prompt(HeadOn::Array).unwrap().moved_bytes();
    assert!(stored < widened && widened < 2.0 * stored, "{stored} {widened}");
    let [stored, lines] =
        InferenceStudy { format: Format::FP16.into(), ..base }.prompt(HeadOn::Array).unwrap().moved_bytes();
    assert!(stored > widened && lines < 1.05 * stored);
}

#[test]
fn a_prompt_reads_activations_beside_weights_wider_than_they_are_multiplied() {
    let prompt = |format: Format, tokens| {
        let prompt_tokens = NonZeroU64::new(tokens).unwrap();
        let (format, generated_tokens) = (format.into(), NonZeroU64::MIN);
        let study = InferenceStudy { format, prompt_tokens, generated_tokens, ..InferenceStudy::default() };
        study.prompt(HeadOn::Processor).unwrap().weights.as_f64()
    };
    // One row of blocks of 448 rows, in bytes: A anew for each block of C, B once, padded to steps of 224 and
    // blocks of 448; of one layer's Q with K and V, output, gate with up, and down.
    let (layers, blocks) = (16.0, [7.0, 5.0, 37.0, 5.0]);
    let steps = [2240.0, 2240.0, 2240.0, 8288.0];
    let of = |it: usize| 448.0 * blocks[it] * steps[it];
    let b = layers * (of(0) + of(1) + of(2) + of(3));
    let (a, device) = (b, InferenceStudy::default().device);
    let floor = (a + 2.0 * b) / device.dram.port_gb_s() + 64.0 * device.dispatch_ns.as_f64();
    assert!(floor > 0.2e9 && prompt(Format::FP16, 448) > floor, "{} {floor}", prompt(Format::FP16, 448));
    let attention = |format: Format| {
        let prompt_tokens = NonZeroU64::new(4096).unwrap();
        let it = InferenceStudy { format: format.into(), prompt_tokens, ..InferenceStudy::default() };
        it.answer().unwrap().prompt_attention_s
    };
    assert!((attention(Format::FP16) / attention(Format::INT8) - 1.0).abs() < 1e-12, "it reads no weights");
    // A byte and its scale are a sixteenth wider than a byte, four bits and theirs are narrower.
    let of = |format| prompt(format, 449);
    assert!(of(Format::Q8_0) > of(Format::INT8) && of(Format::INT8) > of(Format::Q4_0));
}

#[test]
fn memory_holds_inputs_and_results_of_the_largest_product() {
    let of = |prompt_tokens, memory_gb| {
        let prompt_tokens = NonZeroU64::new(prompt_tokens).unwrap();
        let memory_gb = MemoryGb(memory_gb);
        InferenceStudy { prompt_tokens, memory_gb, ..InferenceStudy::default() }
    };
    let study = of(100_000, 32.0);
    // A byte each of 2048 inputs and 2 * 8192 results of gate and up.
    let product = 100_000 * (2048 + 16_384);
    let weights = study.format.of(&study.model).unwrap().total_bytes().0;
    let cache = study.model.kv_cache_elements(100_128) * 2;
    assert_eq!(study.answer().unwrap().headline.memory_bytes, weights + cache + product);
    let error = of(100_000, 4.0).answer().unwrap_err().to_string();
    let missing = Gb(Bytes(weights + cache + product - 4_000_000_000));
    assert!(error.contains(&format!("{missing} are missing")), "{error}");
    // One token asks the head for more than any layer: 128 256 results.
    assert_eq!(of(1, 32.0).product_bytes().unwrap(), Bytes(2048 + 128_256));
}

#[test]
fn more_rows_than_a_product_has_are_refused_by_name() {
    let study = InferenceStudy {
        prompt_tokens: NonZeroU64::new(1 << 24).unwrap(),
        batch: NonZeroU32::new(200).unwrap(),
        ..InferenceStudy::default()
    };
    let text = "`prompt_tokens` = 16777216 of each of `batch` = 200 sequences are 3355443200 rows of a product, which \
                must be from 1 to 2147483648; use fewer of either";
    assert_eq!(study.answer().unwrap_err().to_string(), text);
    assert_eq!(study.prompt(HeadOn::Array).unwrap_err().to_string(), text);
    assert_eq!(study.operators(HeadOn::Array).unwrap_err().to_string(), text);
}

#[test]
fn what_does_not_fit_is_refused_with_what_is_missing() {
    let model = Model::named("llama-2-70b").unwrap();
    let error = InferenceStudy { model, ..InferenceStudy::default() }.answer().unwrap_err().to_string();
    assert!(error.contains("`memory_gb`") && error.contains("are missing"), "{error}");
    // In the unit that memory is asked in, and as much as it takes.
    let of =
        |memory_gb| InferenceStudy { memory_gb: MemoryGb(memory_gb), ..InferenceStudy::default() }.answer();
    let error = of(0.79).unwrap_err().to_string();
    let text = "weights, key-value cache and the largest product take 0.7976 GB, 0.06711 GB of it for keys and values and \
                0.03539 GB for the product's inputs and results, but `memory_gb` allows 0.7900 GB: 0.007644 GB are \
                missing; use `memory_gb` = 0.798 at least, or fewer bits, tokens or sequences";
    assert_eq!(error, text);
    assert!(of(0.798).is_ok());
}

#[test]
fn memory_that_is_advised_is_enough_to_the_byte() {
    for bytes in
        [1, 999_999, 1_000_000, 1_000_001, 797_000_000, 1_001_000_000, 4_035_000_000, 999_999_999_999_999]
    {
        let advised = MemoryGb::of(Bytes(bytes)).unwrap();
        assert!((bytes..=bytes + 2_000_000).contains(&advised.bytes().0), "{bytes} {advised:?}");
        let typed: f64 = advised.0.to_string().parse().unwrap();
        assert_eq!(MemoryGb(typed), advised);
    }
    assert_eq!(MemoryGb::of(Bytes(u64::MAX)), None);
}

/// A prompt of few tokens is a step of as many sequences: weights stream past their vectors, and pad no tile.
#[test]
fn a_short_prompt_streams_as_a_step_does() {
    let of = |strategy, prompt_tokens, batch| {
        let prompt_tokens = NonZeroU64::new(prompt_tokens).unwrap();
        let (batch, generated_tokens) = (NonZeroU32::new(batch).unwrap(), NonZeroU64::MIN);
        InferenceStudy { prompt_tokens, generated_tokens, batch, strategy, ..InferenceStudy::default() }
    };
    for strategy in [Strategy::OneDesign, Strategy::Reconfigured, Strategy::BestPerSize] {
        // One token of a prompt is one of a reply: the same weights, handed over the same way.
        let one = of(strategy, 1, 1).answer().unwrap();
        let step = (one.weights_ns + one.dispatch_ns) * 1e-9;
        assert!((one.prompt_weights_s / step - 1.0).abs() < 1e-9, "{} {step}", one.prompt_weights_s);
        // Sixteen more are vectors beside; only the head is asked for one.
        let many = of(strategy, 16, 1).answer().unwrap();
        assert!((1.0..1.05).contains(&(many.prompt_weights_s / one.prompt_weights_s)));
        // A long one is products.
        let long = of(strategy, 4096, 1);
        let plan = Plan::best(&long, HeadOn::Array).unwrap().0;
        assert_eq!((plan.layers, plan.head), (By::Products, Some(By::Stream)));
    }
    // Each of Qwen3's 128 experts meets 28 or 29 of 449 tokens: they stream though the tokens are more than a block.
    let mixture = |tokens| {
        let model = Model::named("qwen3-30b-a3b").unwrap();
        let memory_gb = MemoryGb(64.0);
        let study = InferenceStudy { model, memory_gb, ..of(Strategy::OneDesign, tokens, 1) };
        let (plan, cost) = Plan::best(&study, HeadOn::Array).unwrap();
        ((plan.layers, plan.experts), cost.total())
    };
    let (few, some, many) = (mixture(448), mixture(449), mixture(16_384));
    assert_eq!([few.0, some.0], [(By::Stream, By::Stream), (By::Products, By::Stream)]);
    assert!(few.1 < some.1 && some.1 < few.1 * 1.5, "{:?} {:?}", few.1, some.1);
    assert_eq!(many.0, (By::Products, By::Products));
    // Whatever is in between, more tokens are never faster.
    let ttft = |tokens| of(Strategy::OneDesign, tokens, 1).answer().unwrap().headline.ttft_s;
    let all = [1, 2, 16, 64, 100, 200, 300, 448, 449, 700, 1000, 1344, 4096].map(ttft);
    assert!(all.is_sorted(), "{all:?}");
}

/// The head of a prompt's last token is a token's: it pads no tile, whatever the layers do.
#[test]
fn the_head_of_a_prompt_costs_what_it_does_of_a_token() {
    for strategy in [Strategy::OneDesign, Strategy::BestPerSize] {
        let study = InferenceStudy { strategy, ..InferenceStudy::default() };
        let [array, beside] = [HeadOn::Array, HeadOn::Processor].map(|it| study.prompt(it).unwrap());
        assert_eq!(array.layers, beside.layers);
        let head =
            study.streams_of_step(|_| true).unwrap().into_iter().find(|it| it.name == "lm_head").unwrap();
        let around = match strategy {
            Strategy::OneDesign => study.device.dispatch_ns,
            // The array is configured for it.
            _ => study.device.dispatch_ns + study.device.reconfiguration_ns,
        };
        let ns = head.time() + around.as_f64();
        let took = (array.weights.as_f64() - beside.weights.as_f64()) / ns;
        match strategy {
            Strategy::OneDesign => assert!((took - 1.0).abs() < 1e-6, "{took}"),
            // Or streams past the vectors of a design that the products take.
            _ => assert!((0.5..1.0 + 1e-6).contains(&took), "{took}"),
        }
        // Operator by operator, too.
        let sum = |head| -> f64 {
            let of_prompt = |it: &OperatorCost| it.pass == Pass::Prompt;
            let told = study.operators(head).unwrap().into_iter().filter(of_prompt);
            told.flat_map(|it| it.parts).map(|it| it.1).sum()
        };
        for (head, cost) in [(HeadOn::Array, array), (HeadOn::Processor, beside)] {
            assert!((sum(head) / cost.total().as_f64() - 1.0).abs() < 1e-9);
        }
    }
}

/// A better machine has other designs that are fastest, none of which may forbid what was faster; one more token is
/// not twice as long.
#[test]
fn the_best_way_is_best() {
    let of = |precision, tokens| InferenceStudy {
        strategy: Strategy::BestPerSize,
        precision,
        prompt_tokens: NonZeroU64::new(tokens).unwrap(),
        generated_tokens: NonZeroU64::MIN,
        ..InferenceStudy::default()
    };
    let ttft = |it: &InferenceStudy| it.answer().unwrap().headline.ttft_s;
    for (precision, tokens) in
        [(Precision::Int8Int8, 130), (Precision::Bf16Bf16, 100), (Precision::Int8Int32, 200)]
    {
        let mut before = f64::INFINITY;
        for dma_bytes_per_cycle in [4, 5, 8, 12, 16] {
            let mut study = of(precision, tokens);
            study.device.dma_bytes_per_cycle = NonZeroU16::new(dma_bytes_per_cycle).unwrap().into();
            let now = ttft(&study);
            assert!(now <= before * (1.0 + 1e-9), "{precision:?} {dma_bytes_per_cycle}: {before} {now}");
            before = now;
        }
    }
    let xdna2 = |tokens| {
        let device = crate::DEVICES.find("xdna2").unwrap().parameters;
        ttft(&InferenceStudy { device, ..of(Precision::Bf16Bf16, tokens) })
    };
    let tokens =
        [1, 8, 64, 96, 128, 191, 192, 193, 256, 320, 384, 448, 449, 512, 600, 768, 1024, 2048].map(xdna2);
    assert!(tokens.windows(2).all(|it| it[0] <= it[1] * (1.0 + 1e-9)), "{tokens:?}");
    assert!(xdna2(192) < 1.05 * xdna2(191));
    // No design but those that are chosen: what is given is not asked.
    let given =
        |k_mt| InferenceStudy { k_mt: NonZeroU16::new(k_mt).unwrap(), ..of(Precision::Int8Int8, 130) };
    for prompt_attention in [PromptAttention::Fused, PromptAttention::Products] {
        let of = |k_mt| ttft(&InferenceStudy { prompt_attention, ..given(k_mt) });
        assert!(of(224).total_cmp(&of(448)).is_eq());
    }
    // Nor is one design for all faster, whose tile a user finds.
    let best = ttft(&of(Precision::Bf16Bf16, 512));
    for it in DESIGNS.all().iter().map(|it| it.parameters).filter(|it| it.precision == Precision::Bf16Bf16) {
        let of = of(Precision::Bf16Bf16, 512);
        let one = InferenceStudy {
            strategy: Strategy::OneDesign,
            m_ct: it.m_ct,
            k_ct: it.k_ct,
            n_ct: it.n_ct,
            k_mt: it.k_mt,
            ..of
        };
        assert!(one.answer().map_or(f64::INFINITY, |it| it.headline.ttft_s) >= best * (1.0 - 1e-9));
    }
}

/// Of whichever resource an array has more, what is best is never slower: not by a kernel whose block leaves memory
/// tiles less room, nor by a design that prompt and attention do not share.
#[test]
fn more_is_never_slower() {
    let more: [(&str, fn(&mut InferenceStudy, u32)); 5] = [
        ("l1_bytes", |it, times| times_more(&mut it.device.l1_bytes, times)),
        ("l2_bytes", |it, times| times_more(&mut it.device.l2_bytes, times)),
        ("port_bytes_per_cycle", |it, times| times_more(&mut it.device.port_bytes_per_cycle, times)),
        ("dma_bytes_per_cycle", |it, times| times_more(&mut it.device.dma_bytes_per_cycle, times)),
        ("read_gb_s", |it, times| {
            let read = &mut it.device.dram.read_gb_s;
            *read = GbPerS::new(read.as_f64() * f64::from(times) / 4.0).unwrap();
        }),
    ];
    let asked = [
        (Precision::Int8Int32, PromptAttention::Fused, 200, 1),
        (Precision::Int8Int8, PromptAttention::Products, 130, 1),
        (Precision::Int8Int8, PromptAttention::Fused, 4, 449),
    ];
    for (precision, prompt_attention, tokens, batch) in asked {
        for (name, of) in more {
            let answers = [4, 5, 6, 8, 16].map(|quarters| {
                let mut study = InferenceStudy {
                    strategy: Strategy::BestPerSize,
                    precision,
                    prompt_attention,
                    prompt_tokens: NonZeroU64::new(tokens).unwrap(),
                    batch: NonZeroU32::new(batch).unwrap(),
                    generated_tokens: NonZeroU64::MIN,
                    ..InferenceStudy::default()
                };
                of(&mut study, quarters);
                let Headline { ttft_s, token_ns, .. } = study.answer().unwrap().headline;
                [ttft_s, token_ns]
            });
            for it in answers.windows(2) {
                let falls = (0..2).any(|at| it[1][at] > it[0][at] * (1.0 + 1e-9));
                assert!(!falls, "{name} at {precision:?}, {tokens} tokens of {batch}: {answers:?}");
            }
        }
    }
}

/// So many quarters of it.
fn times_more(it: &mut NonZeroU32, quarters: u32) {
    *it = NonZeroU32::new(it.get() / 4 * quarters).unwrap();
}
