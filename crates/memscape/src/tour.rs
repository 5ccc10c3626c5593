//! Where each system's algorithms are, with an example of each that runs.
//!
//! Studies answer with numbers; below them lie the papers' algorithms as values that can be printed,
//! tested and executed. Each system is a crate under this one ([`pim`](crate::pim),
//! [`ondevice`](crate::ondevice), [`npu`](crate::npu), [`riscv`](crate::riscv), [`ndp`](crate::ndp)), in the
//! order in which data flows: `hardware` (what is built), `mapping` (what is chosen for it), `cost`
//! (what that takes), and the studies that ask.
//!
//! | algorithm | where |
//! |---|---|
//! | [placement of a matrix over banks](#placement) | [`pim::mapping::placement`](crate::pim::mapping::placement), [`pim::Plan`](crate::pim::Plan) |
//! | [swizzled copy](#swizzled-copy) | [`ondevice::Swizzle`](crate::ondevice::Swizzle) |
//! | [search for a tile](#tile-search) | [`npu::search`](crate::npu::search) |
//! | [chains of DMA channels](#dma-chains) | [`npu::mapping::chain`](crate::npu::mapping::chain), [`npu::mapping::machine`](crate::npu::mapping::machine) |
//! | [census of matrix products](#census) | [`riscv::census`](crate::riscv::census), [`explain_census`](crate::explain_census) |
//! | [dispatch](#dispatch) | [`riscv::dispatch`](crate::riscv::dispatch) |
//! | [kernels](#kernels) | [`riscv::kernels`](crate::riscv::kernels), [`riscv::quant`](crate::riscv::quant) |
//! | [partition of neurons](#partition) | [`ndp::partition`](crate::ndp::partition) |
//! | [predictor](#predictor) | [`ndp::scheduler::planes`](crate::ndp::scheduler::planes), [`ndp::PredictorStudy`](crate::ndp::PredictorStudy) |
//!
//! # Placement
//!
//! PIMnast, algorithms 1 to 3: a tile shape, the order of tiles, how many row-blocks share a pass. The
//! [`Plan`](crate::pim::Plan) says where each weight lies, and its command stream runs on real numbers.
//!
//! ```
//! use memscape::pim::GemvStudy;
//! use memscape::pim::mapping::Plan;
//! use memscape::pim::mapping::execute::{Memory, Operands, execute};
//! use memscape::pim::mapping::placement::{TileShape, tile_shape};
//! use memscape::workload::{Format, Gemv};
//!
//! assert_eq!(tile_shape(16_384, 128, 256, |rows| rows <= 128), TileShape { m: 128, k: 2 });
//!
//! let study = GemvStudy::default();
//! let plan = Plan::new(Gemv::new(256, 64)?, Format::INT8, &study.machine(), &study.policy())?;
//! let (one, other) = (plan.place(0, 0), plan.place(255, 63));
//! assert_ne!(one, other);
//! assert_eq!(plan.element_at(other), Some((255, 63)));
//!
//! let weights: Vec<f32> = (0..256 * 64).map(|it| (it % 7) as f32).collect();
//! let inputs = vec![1.0; 64];
//! let operands = Operands { weights: &weights, inputs: &inputs, weight_scales: &[], input_scales: &[] };
//! let sums = execute(&plan, &Memory::place(&plan, &operands)?, &operands)?;
//! assert_eq!(sums[3], f64::from(weights[3 * 64..4 * 64].iter().sum::<f32>()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Swizzled copy
//!
//! PIM-SHERPA: a matrix lies once, as PIM wants it, at addresses that any invertible map of bits gives;
//! any range of it is copied out in the host's order, bit for bit.
//!
//! ```
//! use memscape::ondevice::mapping::layout::{HostOrder, Layout, Placement};
//! use memscape::ondevice::{LayoutStudy, Swizzle};
//! use memscape::workload::{Element, Gemv};
//!
//! let phone = LayoutStudy::default();
//! let matrix = Gemv::new(48, 10)?;
//! let layout = Layout::new(matrix, Element::Bf16, Placement::ColumnBursts, &phone.memory, &phone.pim, 0)?;
//! let map = phone.address_map.map(layout.dims)?;
//! let swizzle = Swizzle::new(layout, &map, HostOrder::ColumnMajor)?;
//!
//! let host: Vec<u8> = (0..swizzle.host_bytes()).map(|it| it as u8).collect();
//! let mut image = vec![0; swizzle.image_bytes()];
//! swizzle.convert(&host, &mut image)?;
//! let mut part = vec![0; 2 * 100];
//! swizzle.copy(&image, 50..150, &mut part)?;
//! assert_eq!(part, host[100..300]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Tile search
//!
//! Ryzen AI NPUs: every tile that a core's memory holds, ranked by what is asked for.
//!
//! ```
//! use memscape::npu::{DEVICES, Precision, SearchStudy};
//!
//! let search = SearchStudy::default().search()?;
//! let best = search.best(DEVICES.get("xdna2"), Precision::Int8Int32, 3)?;
//! let tile = best[0].tile;
//! assert_eq!((tile.m, tile.k, tile.n), (48, 280, 48));
//! assert!(best[0].macs_per_cycle() >= best[1].macs_per_cycle());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # DMA chains
//!
//! The address pattern of each channel between DRAM and a core's memory, within what a buffer descriptor
//! can say; and an array that multiplies real matrices through them.
//!
//! ```
//! use memscape::npu::mapping::chain::{Chains, table};
//! use memscape::npu::mapping::design::BLayout;
//! use memscape::npu::mapping::machine::{PartialSums, Rounding, execute};
//! use memscape::npu::{DEVICES, Precision, Tile};
//!
//! let tile = Tile { m: 16, k: 16, n: 16 };
//! let chains = Chains::new(DEVICES.get("xdna"), Precision::Int8Int16, tile, 32, BLayout::RowMajor)?;
//! let a = chains.a(chains.pad([64, 64, 64])?, 0);
//! assert!(table(&a.transfers()).contains("memory tile MM2S"));
//!
//! let rounding = Rounding { shift: 0, partial_sums: PartialSums::Wide };
//! let product = execute::<i16>(&chains, [2, 3, 2], &[1, 2, 3, 4, 5, 6], &[1, 0, 0, 1, 1, 1], rounding)?;
//! assert_eq!(product, [4, 5, 10, 11]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Census
//!
//! llama.cpp on the SG2042: which matrix products a run makes, in closed form; and backwards, which run
//! explains counts that somebody logged.
//!
//! ```
//! use memscape::riscv::CensusStudy;
//! use memscape::riscv::census::{Census, Shape};
//!
//! let study = CensusStudy::default();
//! let census = Census::of(&study.model, study.projections, &study.run());
//! assert_eq!(census.count(Shape { shared: 4096, dst0: 4096, dst1: 1 }), 11904);
//! assert_eq!(census.total(), census.rows().map(|(_, _, count)| count).sum::<u64>());
//! ```
//!
//! # Dispatch
//!
//! The thesis' algorithm 1 as a pure function, every criterion a parameter.
//!
//! ```
//! use memscape::riscv::census::Shape;
//! use memscape::riscv::dispatch::{Criteria, Path, Product, dispatch};
//! use memscape::workload::GgmlType;
//!
//! let shape = Shape { shared: 4096, dst0: 4096, dst1: 1 };
//! let token =
//!     Product { shape, format: GgmlType::Q4_0, first_contiguous: true, second_contiguous: true, indexed: false };
//! assert_eq!(dispatch(&token, &Criteria::default()), Path::Default);
//! assert_eq!(dispatch(&token, &Criteria { custom: true, ..Criteria::default() }), Path::Custom);
//! ```
//!
//! # Kernels
//!
//! The thesis' listings on a vector machine that executes and counts, on blocks that are ggml's bit for bit.
//!
//! ```
//! use memscape::riscv::kernels::{Code, Kernel};
//! use memscape::riscv::quant::{quantise_q4_0, quantise_q8_0};
//!
//! let matrix = quantise_q4_0(&[8.0; 2 * 64])?;
//! let vector = quantise_q8_0(&[1.0; 64])?;
//! let run = |kernel| Code::as_printed(kernel).multiply(&matrix, &vector, 2, 2);
//! let (sums, counts) = run(Kernel::Complex)?;
//! assert!(sums.iter().all(|it| (it - 512.0).abs() < 0.5));
//! let (scalar_sums, scalar) = run(Kernel::Default)?;
//! assert!(scalar_sums.iter().all(|it| (it - 512.0).abs() < 0.5));
//! assert!(counts.instructions() < scalar.instructions());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Partition
//!
//! Hermes: which neurons lie on the GPU and which on what DIMM, with a lower bound that is proven.
//!
//! ```
//! use memscape::ndp::partition::{Block, Devices, Sizes, solve};
//! use memscape::units::Nanoseconds;
//!
//! let frequency = [0.9, 0.5, 0.1, 0.1];
//! let (bytes, gpu_fixed) = (Sizes::Equal(1e6), Nanoseconds::ZERO);
//! let block = Block { bytes, frequency: &frequency, multiplied: None, gpu_fixed };
//! let devices = Devices {
//!     gpu_bandwidth: 800e9,
//!     gpu_multiplies: f64::INFINITY,
//!     gpu_capacity: 2e6,
//!     dimm_bandwidth: vec![50e9; 2],
//!     dimm_multiplies: f64::INFINITY,
//!     dimm_capacity: vec![8e6; 2],
//! };
//! let partition = solve(&[block], &devices)?;
//! assert_eq!(partition.device[0][..2], [0, 0]);
//! assert!(partition.lower_bound.as_f64() <= partition.objective.as_f64());
//! # Ok::<(), memscape::ndp::partition::PartitionError>(())
//! ```
//!
//! # Predictor
//!
//! Four bits of state for each neuron, updated for 64 neurons at once; and what the scheduler makes of
//! them, walked token by token.
//!
//! ```
//! use memscape::ndp::PredictorStudy;
//! use memscape::ndp::scheduler::planes::{above, saturate};
//! use memscape::study::Study;
//! use memscape::workload::Model;
//!
//! let (mut state, active) = ([0; 4], 0b101);
//! for _ in 0..3 {
//!     saturate(&mut state, active, 4);
//! }
//! assert_eq!(above(&state, 10), active, "neurons 0 and 2 are in state 12");
//!
//! let study = PredictorStudy {
//!     model: Some(Model::named("opt-125m")?),
//!     layers: Some(1.try_into()?),
//!     generated_tokens: 16.try_into()?,
//!     ..PredictorStudy::default()
//! };
//! let answer = study.answer()?;
//! assert!(answer.accuracy > 0.5 && answer.density < 0.5);
//! # Ok::<(), memscape::study::StudyError>(())
//! ```
