//! The study `ndp.partition`: where neurons lie before the first token.

use std::num::NonZeroU32;

use memscape_study::{Aim, Laws, Slot, Study, StudyError};
use memscape_units::float;
use memscape_workload::{Format, Model, WeightFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::laws;
use super::slots;
use super::sparse::SparseSystem;
use crate::activity::RecordingName;
use crate::cost::{Rates, hot_capacity, on_dimms};
use crate::error::NdpError;
use crate::hardware::{ActivityLaw, Dimm, Gpu, Host, MACHINES, Machine, Overhead, check_memory};
use crate::hermes::offline;
use crate::numbers::{Density, Share};
use crate::partition::{INSTANCES, InstanceName, Partition, solve};
use crate::work::{Activity, Shape, Work};

/// The offline partition of a model's neurons between GPU and DIMMs, with a
/// proven bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionStudy {
    /// An instance of one's own, by name or as an .npz file, which takes the place of all that follows; null for
    /// what follows
    pub instance: Option<InstanceName>,
    /// Language model; null for that of `trace`
    pub model: Option<Model>,
    /// How weights are stored: a format, a type of ggml such as `q4_k`, a mixture of llama.cpp's such as `q4_k_m`, or `stored`, as the model's file
    /// has them on average, which holds for a GGUF file unless given; they are multiplied as FP16 all the same
    pub format: WeightFormat,
    /// Who computes cold neurons
    pub system: SparseSystem,
    /// Sequences at the same time
    #[schemars(range(min = 1, max = 4096))]
    pub batch: NonZeroU32,
    /// The GPU
    pub gpu: Gpu,
    /// One NDP-DIMM
    pub dimm: Dimm,
    /// NDP-DIMMs
    #[schemars(range(min = 1, max = 1024))]
    pub dimms: NonZeroU32,
    /// The host
    pub host: Host,
    /// What kernels and software reach
    pub overhead: Overhead,
    /// How often neurons are active
    pub activity: ActivityLaw,
    /// Share of neurons that a token activates; null for that of the model's kind
    pub density: Option<Density>,
    /// Most of the sparse weights, as a share, that the GPU holds where more would fit; null for what fits
    pub hot_share: Option<Share>,
    /// Recording whose profile is taken: a name, an .npz file or a folder of them; null for the law
    pub trace: Option<RecordingName>,
    /// Seed of the law
    #[schemars(extend("maximum" = u64::MAX))]
    pub seed: u64,
}

/// What `ndp.partition` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PartitionAnswer {
    /// Sum over blocks of the slower of GPU, if it has anything to do, and slowest DIMM
    pub objective_ms: f64,
    /// No partition is faster than this
    pub lower_bound_ms: f64,
    /// Objective over bound, less 1
    pub gap: f64,
    /// Neurons of the model
    pub neurons: u64,
    /// Share of them on the GPU
    pub gpu_neuron_share: f64,
    /// Bytes on the GPU
    pub gpu_gb: f64,
    /// Bytes that fit the GPU beside what every token needs
    pub gpu_capacity_gb: f64,
    /// Bytes on the fullest DIMM
    pub fullest_dimm_gb: f64,
    /// Bytes on the emptiest DIMM
    pub emptiest_dimm_gb: f64,
}

impl Default for PartitionStudy {
    fn default() -> Self {
        let machine = *MACHINES.get("hermes");
        Self {
            instance: None,
            model: Some(Model::named("llama-2-70b").expect("a built-in model")),
            format: Format::FP16.into(),
            system: SparseSystem::Hermes,
            batch: NonZeroU32::MIN,
            gpu: machine.gpu,
            dimm: machine.dimm,
            dimms: machine.dimms,
            host: machine.host,
            overhead: machine.overhead,
            activity: machine.activity,
            density: None,
            hot_share: None,
            trace: None,
            seed: 0,
        }
    }
}

impl PartitionStudy {
    /// The partition itself: QKV and feed-forward neurons of each layer in turn.
    ///
    /// # Errors
    /// [`NdpError`] says what does not fit.
    pub fn partition(&self) -> Result<Partition, NdpError> {
        Ok(self.solve()?.0)
    }

    /// An instance has all that it needs, so that nothing else can be meant.
    fn check_alone(&self) -> Result<(), NdpError> {
        let fields = |it: &Self| match serde_json::to_value(it) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (given, plain) = (fields(self), fields(&Self::default()));
        let other =
            given.into_iter().find(|(name, value)| name != "instance" && plain.get(name) != Some(value));
        other.map_or(Ok(()), |(name, _)| Err(NdpError::BesideInstance(name)))
    }

    /// The partition, and bytes of sparse neurons that the GPU may hold.
    fn solve(&self) -> Result<(Partition, f64), NdpError> {
        if let Some(InstanceName { instance, .. }) = &self.instance {
            self.check_alone()?;
            return Ok((solve(&instance.blocks(), &instance.devices)?, instance.devices.gpu_capacity));
        }
        check_memory(&self.dimm.memory)?;
        let Self { gpu, dimm, dimms, host, overhead, .. } = *self;
        let machine = Machine { gpu, dimm, dimms, host, overhead, ..*MACHINES.get("hermes") };
        let shape = Shape::resolve(self.model.as_ref(), self.format, self.trace.as_ref())?;
        let rates = Rates::new(&machine, self.system.cold(), self.batch.get(), shape.weight_bytes);
        let capacity = hot_capacity(self.hot_share, &shape, &machine)?;
        let trace = self.trace.as_ref().map(|it| (it, 0));
        let activity = Activity::new(&shape, trace, self.activity, self.density, self.seed);
        // A profile is of no prompt and no reply.
        let work = Work { shape, prompt: 0, generated: 0, batch: self.batch.get(), activity };
        let held = on_dimms(&machine, &work)?;
        let room = (held.limit - (held.bytes - shape.sparse_bytes())) / rates.dimms;
        Ok((offline(&rates, &work.shape, &work.source()?, capacity, room)?, capacity))
    }
}

impl Study for PartitionStudy {
    const NAME: &'static str = "ndp.partition";
    const SUMMARY: &'static str =
        "Hot neurons on the GPU, cold ones on DIMMs: the offline partition, with a proven bound";
    type Answer = PartitionAnswer;

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("lower_bound_ms")),
        effects: &[laws::RANK, laws::SPARSE_ALONE, laws::PARTITION],
        slow: true,
        ..Laws::NONE
    };

    fn slots() -> Vec<Slot> {
        let mut slots = slots::of_machine();
        slots.push(Slot::part("instance", &INSTANCES, ""));
        slots
    }

    fn answer(&self) -> Result<PartitionAnswer, StudyError> {
        let (found, capacity) = self.solve()?;
        let neurons: u64 = found.device.iter().map(|it| it.len() as u64).sum();
        let hot: u64 = found.device.iter().flatten().map(|it| u64::from(*it == 0)).sum();
        let dimms = &found.bytes[1..];
        // A host's memory is one, interleaved over all DIMMs; an instance has as many as it says.
        let devices = float(dimms.len() as u64);
        let modules = if self.instance.is_some() { devices } else { float(u64::from(self.dimms.get())) };
        let each = 1e-9 / (modules / devices);
        Ok(PartitionAnswer {
            objective_ms: found.objective.as_f64() * 1e-6,
            lower_bound_ms: found.lower_bound.as_f64() * 1e-6,
            gap: found.gap(),
            neurons,
            gpu_neuron_share: float(hot) / float(neurons),
            gpu_gb: found.bytes[0] * 1e-9,
            gpu_capacity_gb: capacity * 1e-9,
            fullest_dimm_gb: dimms.iter().copied().fold(0.0, f64::max) * each,
            emptiest_dimm_gb: dimms.iter().copied().fold(f64::INFINITY, f64::min) * each,
        })
    }
}
