//! What the DIMMs and the links between them take of energy.

use memscape_dram::energy::of_link;
use memscape_study::{Energy, EnergyPart};
use memscape_units::Nanoseconds;

use super::account::{DimmWork, Traffic};
use crate::hardware::Machine;

/// Bits of a weight as it is multiplied.
const FP16_BITS: f64 = 16.0;
const PJ: f64 = 1e-12;

/// What DIMMs and links take for the prompts, and for a step; none where a number that it needs
/// is not known. Graphics cards and the host are not in it.
///
/// Rows are used up before they are left, as neurons take whole rows.
#[must_use]
pub fn energy(machine: &Machine, traffic: &Traffic, [prompt, step]: [Nanoseconds; 2]) -> Option<[Energy; 2]> {
    Some([of_work(machine, &traffic.prompt, prompt)?, of_work(machine, &traffic.step, step)?])
}

fn of_work(machine: &Machine, work: &DimmWork, time: Nanoseconds) -> Option<Energy> {
    let meter = machine.dimm.memory.meter()?;
    let dimms = f64::from(machine.dimms.get());
    // Ranks stand by, those of as many dies as hold what the DIMM does, and bits are refreshed.
    let full = machine.dimm.full_ranks();
    let ranks = f64::from(machine.dimm.ranks.get()).max(full);
    let idle = (meter.standby(time) * ranks + meter.refresh(time) * full) * dimms;
    // A unit in the buffer reads over the pins of its ranks, as everything else does.
    let at_banks = if machine.dimm.units.is_some() { work.near } else { 0.0 };
    let mut energy = meter.stream_of_rows(work.read - at_banks, work.written) + idle;
    energy += meter.stream_at_banks(at_banks);
    if work.linked > 0.0 {
        energy += of_link(&machine.link_pj_per_bit?, work.linked);
    }
    if work.carried > 0.0 {
        let pins = machine.dimm.units?.carried_pj_per_bit?;
        energy += Energy::of(EnergyPart::Io, pins.times(work.carried * 8.0 * PJ));
    }
    if work.macs > 0.0 {
        let mac = machine.dimm.mac_pj_per_bit?;
        energy += Energy::of(EnergyPart::Compute, mac.times(work.macs * FP16_BITS * PJ));
    }
    Some(energy)
}
