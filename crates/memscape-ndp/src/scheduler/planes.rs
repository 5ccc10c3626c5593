//! Small counters of many neurons at once, one bit of each counter per word:
//! a word of 64 neurons is counted, compared and saturated by a few operations.

/// Adds `amount` to the counters where `mask` is set; what exceeds the planes
/// is lost, so they must be enough.
#[inline]
pub fn add<const N: usize>(planes: &mut [u64; N], mask: u64, amount: u32) {
    let mut carry = 0;
    for (bit, plane) in planes.iter_mut().enumerate() {
        let addend = if amount >> bit & 1 == 1 { mask } else { 0 };
        let sum = *plane ^ addend ^ carry;
        carry = *plane & addend | carry & (*plane ^ addend);
        *plane = sum;
    }
}

/// Counts the neurons of `mask` once more.
#[inline]
pub fn count<const N: usize>(planes: &mut [u64; N], mask: u64) {
    let mut carry = mask;
    for plane in planes {
        if carry == 0 {
            return;
        }
        (*plane, carry) = (*plane ^ carry, *plane & carry);
    }
}

/// The neurons whose counter is above `limit`.
#[inline]
#[must_use]
pub fn above<const N: usize>(planes: &[u64; N], limit: u32) -> u64 {
    if limit >> N > 0 {
        return 0;
    }
    let (mut greater, mut equal) = (0, u64::MAX);
    for (bit, plane) in planes.iter().enumerate().rev() {
        if limit >> bit & 1 == 0 {
            greater |= equal & plane;
            equal &= !plane;
        } else {
            equal &= plane;
        }
    }
    greater
}

/// The neurons whose counter is `value`.
#[inline]
#[must_use]
pub fn equal<const N: usize>(planes: &[u64; N], value: u32) -> u64 {
    if value >> N > 0 {
        return 0;
    }
    planes
        .iter()
        .enumerate()
        .fold(u64::MAX, |all, (bit, plane)| all & if value >> bit & 1 == 1 { *plane } else { !*plane })
}

/// One neuron's counter.
#[must_use]
pub fn get<const N: usize>(planes: &[u64; N], lane: usize) -> u32 {
    planes.iter().enumerate().fold(0, |value, (bit, plane)| value | ((plane >> lane & 1) as u32) << bit)
}

/// The states' update: up by `up` where active, to 15 at most; else down by
/// one, to 0 at least.
#[inline]
pub fn saturate(state: &mut [u64; 4], active: u64, up: u32) {
    let full = u64::MAX;
    // Up, with the carry out of the fourth plane as overflow.
    let mut raised = [state[0], state[1], state[2], state[3], 0];
    add(&mut raised, active, up);
    let overflow = raised[4];
    // Down: borrow where all lower planes are 0.
    let idle = !active & (state[0] | state[1] | state[2] | state[3]);
    let mut borrow = idle;
    for bit in 0..4 {
        let lowered = state[bit] ^ borrow;
        borrow &= !state[bit];
        let up = raised[bit] | overflow;
        state[bit] = active & up & full | !active & lowered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counters_are_numbers(values in prop::collection::vec(0_u32..16, 64), active: u64, up in 0_u32..16, limit in 0_u32..40) {
            let mut state = [0_u64; 4];
            for (lane, value) in values.iter().enumerate() {
                add(&mut state, 1 << lane, *value);
            }
            for (lane, value) in values.iter().enumerate() {
                prop_assert_eq!(get(&state, lane), *value);
                prop_assert_eq!(above(&state, limit) >> lane & 1 == 1, *value > limit);
                prop_assert_eq!(equal(&state, limit) >> lane & 1 == 1, *value == limit);
            }
            saturate(&mut state, active, up);
            for (lane, value) in values.iter().enumerate() {
                let next = if active >> lane & 1 == 1 { (value + up).min(15) } else { value.saturating_sub(1) };
                prop_assert_eq!(get(&state, lane), next);
            }
            let mut counter = [0_u64; 3];
            for _ in 0..5 {
                count(&mut counter, active);
            }
            prop_assert_eq!(equal(&counter, 5), active);
        }
    }
}
