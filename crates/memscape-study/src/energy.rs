//! Energy by cause, and the columns that every study answers of it.

use std::ops::{Add, AddAssign, Index, IndexMut, Mul};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::breakdown::Part;
use crate::doubt::Grade;
use crate::estimate::Estimate;
use crate::parts;

/// What an energy is the energy of: without it, two are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// The DRAM devices up to their pins, with what computes inside them and links between them.
    Device,
    /// The same for the modules beside a processor whose board has DRAM of its own, of which nothing
    /// is known.
    Modules,
}

parts! {
    /// What DRAM devices take their energy for.
    pub enum EnergyPart {
        /// Opening and closing rows.
        Activate = "energy_activate",
        /// Moving data between row and pins, or between row and PIM unit.
        Access = "energy_access",
        /// Driving the pins.
        Io = "energy_io",
        /// Computing beside the banks.
        Compute = "energy_compute",
        /// Links between devices.
        Link = "energy_link",
        /// Refreshing.
        Refresh = "energy_refresh",
        /// Doing nothing, as long as it takes.
        Standby = "energy_standby",
    }
}

/// An energy by cause, in joules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy([Estimate; EnergyPart::ALL.len()]);

impl Energy {
    /// None.
    pub const ZERO: Self = Self([Estimate::ZERO; EnergyPart::ALL.len()]);

    /// That of one cause.
    #[must_use]
    pub fn of(part: EnergyPart, joules: Estimate) -> Self {
        let mut energy = Self::ZERO;
        energy[part] = joules;
        energy
    }

    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> Estimate {
        self.0.iter().copied().sum()
    }

    /// As much as `self` at least, and as much as `more` at most, cause by cause.
    #[must_use]
    pub fn up_to(&self, more: &Self) -> Self {
        Self(std::array::from_fn(|part| self.0[part].up_to(more.0[part])))
    }
}

impl Default for Energy {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Index<EnergyPart> for Energy {
    type Output = Estimate;
    fn index(&self, part: EnergyPart) -> &Estimate {
        &self.0[part.index()]
    }
}

impl IndexMut<EnergyPart> for Energy {
    fn index_mut(&mut self, part: EnergyPart) -> &mut Estimate {
        &mut self.0[part.index()]
    }
}

impl AddAssign for Energy {
    fn add_assign(&mut self, other: Self) {
        for (mine, others) in self.0.iter_mut().zip(other.0) {
            *mine += others;
        }
    }
}

impl Add for Energy {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// So many times.
impl Mul<f64> for Energy {
    type Output = Self;
    fn mul(self, count: f64) -> Self {
        Self(self.0.map(|it| it * count))
    }
}

/// The columns of an energy. All are null where no source says what the devices take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct EnergyColumns {
    /// Energy of the DRAM devices, at the middle of what is known of them; null where nothing is
    pub energy_j: Option<f64>,
    /// The least that it can be
    pub energy_low_j: Option<f64>,
    /// The most that it can be
    pub energy_high_j: Option<f64>,
    /// What it is the energy of
    pub energy_boundary: Option<Boundary>,
    /// How well the worst founded number behind it is
    pub energy_grade: Option<Grade>,
    /// Of it: opening and closing rows; 0 where they are told within `energy_access_j`
    pub energy_activate_j: Option<f64>,
    /// Of it: data between rows and pins, or rows and PIM units
    pub energy_access_j: Option<f64>,
    /// Of it: driving the pins; 0 where they are told within `energy_access_j`
    pub energy_io_j: Option<f64>,
    /// Of it: computing beside the banks
    pub energy_compute_j: Option<f64>,
    /// Of it: links between devices
    pub energy_link_j: Option<f64>,
    /// Of it: refreshing; 0 where it is told within `energy_standby_j`
    pub energy_refresh_j: Option<f64>,
    /// Of it: doing nothing, as long as it takes
    pub energy_standby_j: Option<f64>,
}

impl EnergyColumns {
    /// The whole and its parts, as a study's `SUMS` has them.
    pub const SUM: (&'static str, &'static [&'static str]) = (
        "energy_j",
        &[
            "energy_activate_j",
            "energy_access_j",
            "energy_io_j",
            "energy_compute_j",
            "energy_link_j",
            "energy_refresh_j",
            "energy_standby_j",
        ],
    );

    /// The columns of what DRAM devices take.
    #[must_use]
    pub fn of(energy: Option<&Energy>) -> Self {
        let total = energy.map(Energy::total);
        let part = |it: EnergyPart| energy.map(|energy| energy[it].value);
        Self {
            energy_j: total.map(|it| it.value),
            energy_low_j: total.map(|it| it.low),
            energy_high_j: total.map(|it| it.high),
            energy_boundary: energy.map(|_| Boundary::Device),
            energy_grade: total.map(|it| it.grade),
            energy_activate_j: part(EnergyPart::Activate),
            energy_access_j: part(EnergyPart::Access),
            energy_io_j: part(EnergyPart::Io),
            energy_compute_j: part(EnergyPart::Compute),
            energy_link_j: part(EnergyPart::Link),
            energy_refresh_j: part(EnergyPart::Refresh),
            energy_standby_j: part(EnergyPart::Standby),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Graded;

    #[test]
    fn parts_sum_to_the_whole_and_the_worst_grade_counts() {
        let known = |value, grade| Graded { value, within: 2.0, grade }.estimate();
        let mut energy = Energy::of(EnergyPart::Access, known(2.0, Grade::Datasheet));
        energy += Energy::of(EnergyPart::Standby, known(4.0, Grade::Prior)) * 0.5;
        let columns = EnergyColumns::of(Some(&energy));
        assert_eq!(
            (columns.energy_low_j, columns.energy_j, columns.energy_high_j),
            (Some(2.0), Some(4.0), Some(8.0))
        );
        assert_eq!(columns.energy_grade, Some(Grade::Prior));
        assert_eq!(EnergyColumns::of(None).energy_boundary, None);
    }

    #[test]
    fn every_part_has_its_column() {
        let named: Vec<String> = EnergyPart::ALL.iter().map(|it| format!("{}_j", it.name())).collect();
        assert_eq!(named, EnergyColumns::SUM.1);
    }
}
