//! How long a block takes on either side, as far as the scheduler must know, and
//! how the two share it.

use memscape_units::Nanoseconds;

use super::policy::Exchange;
use crate::root::falls_to_zero;

/// How long a block takes on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCost {
    /// Bytes of one neuron's weights.
    pub neuron_bytes: f64,
    /// Time of the GPU whatever it computes.
    pub gpu_fixed: Nanoseconds,
    /// Reading one neuron on the GPU.
    pub gpu_neuron: Nanoseconds,
    /// Computing one neuron for one sequence on the GPU.
    pub gpu_activation: Nanoseconds,
    /// Inputs and sums of one neuron for one sequence on their way over a DIMM's pins, for which its units wait
    /// whether they read or multiply.
    pub carried: Nanoseconds,
    /// Reading one neuron on a DIMM.
    pub cold_neuron: Nanoseconds,
    /// Computing one neuron for one sequence on a DIMM.
    pub cold_activation: Nanoseconds,
}

/// Neurons to be read, and how often sequences multiply them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Neurons.
    pub neurons: f64,
    /// Neurons, each as often as sequences need it.
    pub activations: f64,
}

impl Load {
    /// With another, so many times.
    #[must_use]
    pub(crate) fn plus(self, other: Self, times: f64) -> Self {
        Self {
            neurons: self.neurons + times * other.neurons,
            activations: self.activations + times * other.activations,
        }
    }
}

/// A block that GPU and cold side compute at the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// Share of what the GPU holds that the cold side computes all the same.
    pub handed: f64,
    /// Time of the GPU; none where it has nothing to do.
    pub gpu: Nanoseconds,
    /// Time of the cold side.
    pub cold: Nanoseconds,
}

impl Shared {
    /// Time of the slower side.
    #[must_use]
    pub fn time(&self) -> Nanoseconds {
        self.gpu.max(self.cold)
    }
}

/// A block's time by what would shorten it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// What the GPU reads and multiplies.
    pub gpu: Nanoseconds,
    /// What the GPU takes whatever it computes.
    pub fixed: Nanoseconds,
    /// What the cold side does.
    pub cold: Nanoseconds,
}

impl Default for Split {
    fn default() -> Self {
        Self { gpu: Nanoseconds::ZERO, fixed: Nanoseconds::ZERO, cold: Nanoseconds::ZERO }
    }
}

impl std::ops::AddAssign for Split {
    fn add_assign(&mut self, other: Self) {
        self.gpu += other.gpu;
        self.fixed += other.fixed;
        self.cold += other.cold;
    }
}

impl std::ops::Mul<f64> for Split {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        Self { gpu: self.gpu * times, fixed: self.fixed * times, cold: self.cold * times }
    }
}

/// A count of neurons at the time of one. Counts are differences: rounding may
/// leave less than none.
fn of(count: f64, each: Nanoseconds) -> Nanoseconds {
    Nanoseconds::saturating(count * each.as_f64())
}

impl BlockCost {
    /// Neurons take as long on either side: for walks of which nobody asks the time.
    #[must_use]
    pub fn even() -> Self {
        let none = Nanoseconds::ZERO;
        let one = Nanoseconds::saturating(1.0);
        Self {
            neuron_bytes: 1.0,
            gpu_fixed: none,
            gpu_neuron: one,
            gpu_activation: none,
            carried: none,
            cold_neuron: one,
            cold_activation: none,
        }
    }

    /// Time of the GPU for neurons read and activations computed.
    #[must_use]
    pub fn gpu(&self, load: Load) -> Nanoseconds {
        self.gpu_fixed + of(load.neurons, self.gpu_neuron).max(of(load.activations, self.gpu_activation))
    }

    /// Time of one DIMM.
    #[must_use]
    pub fn cold(&self, load: Load) -> Nanoseconds {
        self.cold_reading(load).max(self.cold_multiplying(load))
    }

    /// The same if it only has to read.
    #[must_use]
    pub fn cold_reading(&self, load: Load) -> Nanoseconds {
        of(load.neurons, self.cold_neuron) + of(load.activations, self.carried)
    }

    /// The same if it only has to multiply.
    #[must_use]
    pub fn cold_multiplying(&self, load: Load) -> Nanoseconds {
        of(load.activations, self.cold_activation) + of(load.activations, self.carried)
    }

    /// Neurons that one DIMM can compute by a time beside a load, if they are
    /// multiplied as often as those of `like`.
    #[must_use]
    pub fn room(&self, time: Nanoseconds, load: Load, like: Load) -> f64 {
        let often = like.activations / like.neurons.max(1e-300);
        let left = time.as_f64() - load.activations * self.carried.as_f64();
        let carried = often * self.carried.as_f64();
        let of = |there: f64, each: Nanoseconds, often: f64| {
            (left - there * each.as_f64()) / (often * each.as_f64() + carried).max(1e-300)
        };
        let read = of(load.neurons, self.cold_neuron, 1.0);
        let multiplied = of(load.activations, self.cold_activation, often);
        read.min(multiplied).max(0.0)
    }

    /// Divides a block whose neurons all lie on the cold side, and some on the GPU
    /// too: the GPU computes what it holds, or what makes both sides level.
    ///
    /// * `held`: what the GPU could compute
    /// * `cold`: time of the cold side with the rest
    /// * `room`: neurons of `held` that the cold side computes beside that by a time
    #[must_use]
    pub fn share(
        &self,
        held: Load,
        exchange: Exchange,
        cold: Nanoseconds,
        room: impl Fn(Nanoseconds) -> f64,
    ) -> Shared {
        let gpu = |handed: f64| {
            let rest = 1.0 - handed;
            if rest <= 0.0 {
                return Nanoseconds::ZERO;
            }
            self.gpu(Load { neurons: held.neurons * rest, activations: held.activations * rest })
        };
        let handed = |time: Nanoseconds| (room(time) / held.neurons.max(1e-300)).min(1.0);
        let all = Shared { handed: 0.0, gpu: gpu(0.0), cold };
        if held.neurons <= 0.0 {
            return Shared { gpu: Nanoseconds::ZERO, ..all };
        }
        if exchange == Exchange::Unchecked || all.gpu <= cold {
            return all;
        }
        let lead = |time: f64| gpu(handed(Nanoseconds::saturating(time))).as_f64() - time;
        let time = Nanoseconds::saturating(falls_to_zero(cold.as_f64(), all.gpu.as_f64(), lead));
        let handed = handed(time);
        // What is handed over fills the time; less than all of it needs no more.
        Shared { handed, gpu: gpu(handed), cold: if handed > 0.0 { time } else { cold } }
    }

    /// What a block's time is of: the slower side, or both where they are level, since what shortens one
    /// then takes work off the other.
    ///
    /// A level time is `(work + fixed x gpu rate) / (gpu rate + cold rate)`, of rates at which either side
    /// takes neurons that may change sides. It falls with each by that one's share of both.
    ///
    /// * `loads`: of the GPU, and of all devices of the cold side
    #[must_use]
    pub fn split(&self, shared: Shared, [on_gpu, cold]: [Load; 2], dimms: f64) -> Split {
        /// Relative difference of the two sides that is rounding.
        const ROUNDING: f64 = 1e-9;
        let time = shared.time();
        let lead = (shared.gpu.as_f64() - shared.cold.as_f64()) / time.as_f64().max(1e-300);
        let share = if lead.abs() > ROUNDING {
            f64::from(u8::from(lead > 0.0))
        } else {
            let often = on_gpu.activations / on_gpu.neurons.max(1e-300);
            let multiplies = of(cold.activations, self.cold_activation) > of(cold.neurons, self.cold_neuron);
            let worked = if multiplies { of(often, self.cold_activation) } else { self.cold_neuron };
            let each_cold = (worked + of(often, self.carried)) / dimms;
            let each_gpu = self.gpu_neuron.max(of(often, self.gpu_activation));
            each_cold / (each_cold + each_gpu)
        };
        let fixed = if self.gpu_fixed < time { self.gpu_fixed } else { time };
        Split { gpu: (time - fixed) * share, fixed: fixed * share, cold: time * (1.0 - share) }
    }

    /// What the GPU takes at best of active neurons, if it may hold `capacity` of them, and
    /// what it leaves: until both sides are level, those first that spare the DIMMs most
    /// multiplying, or those that cost the GPU least of it.
    ///
    /// * `active`: neurons that are multiplied equally often, those multiplied most first
    #[must_use]
    pub fn level(&self, active: &[Load], capacity: f64, dimms: f64) -> [Load; 2] {
        let each = |cold: Load| Load::default().plus(cold, 1.0 / dimms);
        let time = |[gpu, cold]: [Load; 2]| self.gpu(gpu).max(self.cold(each(cold)));
        let hottest = self.taken(active.iter(), capacity, dimms);
        let coldest = self.taken(active.iter().rev(), capacity, dimms);
        if time(hottest) <= time(coldest) { hottest } else { coldest }
    }

    fn taken<'a>(
        &self,
        active: impl Iterator<Item = &'a Load> + Clone,
        capacity: f64,
        dimms: f64,
    ) -> [Load; 2] {
        /// Halvings of the neurons at which both sides become level.
        const HALVINGS: u32 = 48;
        let mut cold = active.clone().fold(Load::default(), |sum, it| sum.plus(*it, 1.0));
        let mut gpu = Load::default();
        for class in active {
            let moved = |share: f64| [gpu.plus(*class, share), cold.plus(*class, -share)];
            let leads = |share: f64| {
                let [gpu, cold] = moved(share);
                self.gpu(gpu) > self.cold(Load::default().plus(cold, 1.0 / dimms))
            };
            if leads(0.0) {
                break;
            }
            let fits = ((capacity - gpu.neurons) / class.neurons.max(1e-300)).clamp(0.0, 1.0);
            let (mut low, mut high) = (0.0, fits);
            if leads(fits) {
                for _ in 0..HALVINGS {
                    let middle = 0.5 * (low + high);
                    if leads(middle) { high = middle } else { low = middle }
                }
            } else {
                low = fits;
            }
            [gpu, cold] = moved(low);
            if low < 1.0 {
                break;
            }
        }
        [gpu, cold]
    }
}
