//! What is to be placed, on what, and what a placement is.

use memscape_units::Nanoseconds;

/// One block of neurons that are computed together: a layer's QKV projection or
/// its feed-forward network.
#[derive(Debug, Clone, PartialEq)]
pub struct Block<'a> {
    /// Bytes of each neuron: one for all, or one each.
    pub bytes: Sizes<'a>,
    /// Share of tokens for which each neuron is active in any sequence and so is read, from 0 to 1.
    pub frequency: &'a [f32],
    /// How many sequences multiply each, per token; of two neurons the one that is read more often is
    /// multiplied more often, and more often per reading. None for one sequence.
    pub multiplied: Option<&'a [f32]>,
    /// Time of the GPU whatever it computes, such as synchronisation; none where it computes nothing.
    pub gpu_fixed: Nanoseconds,
}

/// Bytes of a block's neurons.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes<'a> {
    /// All neurons have as many.
    Equal(f64),
    /// One number per neuron.
    Each(&'a [f64]),
}

impl Sizes<'_> {
    /// Bytes of one neuron.
    #[must_use]
    pub fn of(&self, neuron: usize) -> f64 {
        match self {
            Self::Equal(bytes) => *bytes,
            Self::Each(bytes) => bytes[neuron],
        }
    }
}

/// A GPU and DIMMs: what each reads, multiplies and holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Devices {
    /// Bytes per second of the GPU.
    pub gpu_bandwidth: f64,
    /// Bytes that the GPU can hold.
    pub gpu_capacity: f64,
    /// Bytes of weights that the GPU multiplies per second, for one sequence; infinite where reading
    /// always takes longer.
    pub gpu_multiplies: f64,
    /// Bytes per second of each DIMM.
    pub dimm_bandwidth: Vec<f64>,
    /// Bytes of weights that each DIMM multiplies per second, for one sequence, likewise.
    pub dimm_multiplies: f64,
    /// Bytes that each DIMM can hold.
    pub dimm_capacity: Vec<f64>,
}

/// Where a neuron lies: 0 is the GPU, `1..` the DIMMs.
pub type Device = u16;

/// A placement of all neurons, and how good it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Device of each neuron, per block.
    pub device: Vec<Vec<Device>>,
    /// Sum over blocks of the slowest device's time; a GPU that has nothing to do takes none.
    pub objective: Nanoseconds,
    /// No placement is faster than this.
    pub lower_bound: Nanoseconds,
    /// Bytes on each device, the GPU first.
    pub bytes: Vec<f64>,
}

impl Partition {
    /// How much longer the placement takes than the bound, as a share of the
    /// bound.
    #[must_use]
    pub fn gap(&self) -> f64 {
        // Nothing takes as long as nothing.
        if self.objective <= self.lower_bound { 0.0 } else { self.objective / self.lower_bound - 1.0 }
    }
}

/// The most neurons times devices: each neuron is held against each device.
pub(crate) const MOST_PLACES: usize = 2_000_000_000;

/// Why an instance has no placement.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// No DIMMs, or more than can be numbered.
    #[error("{0} DIMMs; there must be from 1 to 4096")]
    Dimms(usize),
    /// Nothing to place.
    #[error("there are no neurons to place; give at least one block of one")]
    Empty,
    /// More than is solved in ten seconds.
    #[error(
        "{neurons} neurons on {devices} devices are too many; their product may be at most {MOST_PLACES}; \
         use fewer DIMMs, or groups of neurons"
    )]
    TooMany {
        /// Neurons of all blocks.
        neurons: usize,
        /// The GPU and the DIMMs.
        devices: usize,
    },
    /// Bandwidths and capacities of different lengths.
    #[error("{bandwidths} DIMM bandwidths but {capacities} DIMM capacities; give one of each per DIMM")]
    Lengths {
        /// How many bandwidths.
        bandwidths: usize,
        /// How many capacities.
        capacities: usize,
    },
    /// A number that is no bandwidth, capacity, size, time or share.
    #[error("{what} is {value}; it must be {allowed}")]
    BadNumber {
        /// What was given.
        what: &'static str,
        /// The number.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// Sizes and frequencies of different lengths.
    #[error("block {block} has {sizes} sizes but {frequencies} frequencies; give one of each per neuron")]
    BlockLengths {
        /// Which block.
        block: usize,
        /// How many sizes.
        sizes: usize,
        /// How many frequencies.
        frequencies: usize,
    },
    /// More bytes than all devices hold.
    #[error(
        "the neurons take {:.3} GB, but GPU and DIMMs hold {:.3} GB: {:.3} GB short; \
         {needed_dimms} DIMMs of this size would do", need * 1e-9, have * 1e-9, (need - have) * 1e-9
    )]
    DoesNotFit {
        /// Bytes of all neurons.
        need: f64,
        /// Bytes of all devices.
        have: f64,
        /// DIMMs, as large as the largest, that would hold them.
        needed_dimms: usize,
    },
    /// There is room, but neurons are too large to fill it.
    #[error(
        "nothing has room left for a neuron of {bytes} bytes, although all neurons together would fit; \
         use smaller neurons, or devices with more room"
    )]
    Fragmented {
        /// The neuron's bytes.
        bytes: f64,
    },
}

/// Bytes that are read, and the same as often as sequences multiply them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Work {
    pub read: f64,
    pub multiplied: f64,
}

/// Bytes per second of one device, or of all DIMMs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Speed {
    pub read: f64,
    pub multiplied: f64,
}

impl Work {
    pub fn map(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self { read: of(self.read, other.read), multiplied: of(self.multiplied, other.multiplied) }
    }

    pub fn plus(self, other: Self) -> Self {
        self.map(other, |a, b| a + b)
    }

    pub fn less(self, other: Self) -> Self {
        self.map(other, |a, b| a - b)
    }

    /// Whether nothing is read, nor multiplied.
    pub fn is_none(self) -> bool {
        self.read <= 0.0 && self.multiplied <= 0.0
    }

    pub fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), Self::plus)
    }
}

impl Speed {
    /// Seconds: weights are multiplied while others are read.
    pub fn time(self, work: Work) -> f64 {
        (work.read / self.read).max(work.multiplied / self.multiplied)
    }

    /// Whether multiplying takes longer.
    pub fn multiplies(self, work: Work) -> bool {
        work.multiplied / self.multiplied > work.read / self.read
    }
}

impl Devices {
    /// The GPU.
    pub(super) fn gpu(&self) -> Speed {
        Speed { read: self.gpu_bandwidth, multiplied: self.gpu_multiplies }
    }

    /// Each DIMM.
    pub(super) fn dimms(&self) -> Vec<Speed> {
        let of = |read: &f64| Speed { read: *read, multiplied: self.dimm_multiplies };
        self.dimm_bandwidth.iter().map(of).collect()
    }

    /// All DIMMs as one.
    pub(super) fn together(&self) -> Speed {
        let each = self.dimms();
        let sum = |of: fn(&Speed) -> f64| each.iter().map(of).sum();
        Speed { read: sum(|it| it.read), multiplied: sum(|it| it.multiplied) }
    }
}

impl Block<'_> {
    /// The GPU's fixed time in seconds, which go with bytes per second.
    pub(super) fn fixed(&self) -> f64 {
        self.gpu_fixed.as_f64() * 1e-9
    }

    /// Seconds of the GPU: nobody waits for one that has nothing to do.
    pub(super) fn on_gpu(&self, gpu: Speed, work: Work) -> f64 {
        if work.is_none() { 0.0 } else { self.fixed() + gpu.time(work) }
    }

    /// Bytes times how often they are read and multiplied.
    pub(super) fn work(&self, neuron: usize) -> Work {
        let (bytes, read) = (self.bytes.of(neuron), f64::from(self.frequency[neuron]));
        let multiplied = self.multiplied.map_or(read, |it| f64::from(it[neuron]));
        Work { read: bytes * read, multiplied: bytes * multiplied }
    }

    /// How hot each neuron is, which a batch that reads nearly all of them every token still tells.
    pub(super) fn heat(&self) -> &[f32] {
        self.multiplied.unwrap_or(self.frequency)
    }

    pub(super) fn check(&self, index: usize) -> Result<(), PartitionError> {
        let bad = |what, value, allowed| Err(PartitionError::BadNumber { what, value, allowed });
        if let Sizes::Each(sizes) = self.bytes
            && sizes.len() != self.frequency.len()
        {
            let (sizes, frequencies) = (sizes.len(), self.frequency.len());
            return Err(PartitionError::BlockLengths { block: index, sizes, frequencies });
        }
        let sizes = match &self.bytes {
            Sizes::Equal(bytes) => std::slice::from_ref(bytes),
            Sizes::Each(bytes) => bytes,
        };
        if let Some(value) = sizes.iter().find(|it| !(it.is_finite() && **it > 0.0)) {
            return bad("a neuron's size", *value, "above 0 bytes");
        }
        if let Some(value) = self.frequency.iter().find(|it| !(0.0..=1.0).contains(*it)) {
            return bad("an activation frequency", f64::from(*value), "from 0 to 1");
        }
        let Some(multiplied) = self.multiplied else { return Ok(()) };
        if multiplied.len() != self.frequency.len() {
            let (sizes, frequencies) = (multiplied.len(), self.frequency.len());
            return Err(PartitionError::BlockLengths { block: index, sizes, frequencies });
        }
        match multiplied.iter().find(|it| !(it.is_finite() && **it >= 0.0)) {
            Some(value) => bad("a count of sequences", f64::from(*value), "at least 0"),
            None => Ok(()),
        }
    }
}

/// Whether numbers are in range, and the neurons fit.
pub(super) fn check(blocks: &[Block], devices: &Devices) -> Result<(), PartitionError> {
    let dimms = devices.dimm_bandwidth.len();
    if !(1..=4096).contains(&dimms) {
        return Err(PartitionError::Dimms(dimms));
    }
    if devices.dimm_capacity.len() != dimms {
        let capacities = devices.dimm_capacity.len();
        return Err(PartitionError::Lengths { bandwidths: dimms, capacities });
    }
    let bandwidths = std::iter::once(&devices.gpu_bandwidth).chain(&devices.dimm_bandwidth);
    if let Some(value) = bandwidths.into_iter().find(|it| !(it.is_finite() && **it > 0.0)) {
        let (what, allowed) = ("a bandwidth", "above 0 bytes/s");
        return Err(PartitionError::BadNumber { what, value: *value, allowed });
    }
    if let Some(value) =
        [devices.gpu_multiplies, devices.dimm_multiplies].iter().find(|it| it.is_nan() || **it <= 0.0)
    {
        let (what, allowed) = ("a rate of multiplying", "above 0 bytes/s");
        return Err(PartitionError::BadNumber { what, value: *value, allowed });
    }
    let capacities = std::iter::once(&devices.gpu_capacity).chain(&devices.dimm_capacity);
    if let Some(value) = capacities.into_iter().find(|it| !(it.is_finite() && **it >= 0.0)) {
        let (what, allowed) = ("a capacity", "at least 0 bytes");
        return Err(PartitionError::BadNumber { what, value: *value, allowed });
    }
    let neurons = blocks.iter().map(|it| it.frequency.len()).sum::<usize>();
    if neurons == 0 {
        return Err(PartitionError::Empty);
    }
    if MOST_PLACES < neurons.saturating_mul(dimms + 1) {
        return Err(PartitionError::TooMany { neurons, devices: dimms + 1 });
    }
    for (index, block) in blocks.iter().enumerate() {
        block.check(index)?;
    }
    let need: f64 = blocks.iter().map(total_bytes).sum();
    let have = devices.gpu_capacity + devices.dimm_capacity.iter().sum::<f64>();
    if need > have {
        let largest = devices.dimm_capacity.iter().copied().fold(1.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
        let needed_dimms = ((need - devices.gpu_capacity) / largest).ceil() as usize;
        return Err(PartitionError::DoesNotFit { need, have, needed_dimms });
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 neurons")]
pub(super) fn total_bytes(block: &Block) -> f64 {
    match block.bytes {
        Sizes::Equal(bytes) => bytes * block.frequency.len() as f64,
        Sizes::Each(bytes) => bytes.iter().sum(),
    }
}
