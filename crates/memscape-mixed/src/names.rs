//! Parameters of the parts by the names that they have in systems put together.

/// What `npu.*` calls parameters, and what they are called here.
const NPU: &[(&str, &str)] = &[("device", "npu")];

/// The same of `pim.*` and its machines. What else its studies take is the same here, or not given.
const PIM: &[(&str, &str)] = &[
    ("pim", "pim.pim"),
    ("memory", "pim.memory"),
    ("interleave_bytes", "pim.interleave_bytes"),
    ("soc", "pim.soc"),
];

/// A text of the NPU with the names of its parameters as they are typed here.
pub(crate) fn of_npu(text: &impl ToString) -> String {
    renamed(&text.to_string(), NPU)
}

/// A text of memory, PIM units and processor with the names of their parameters as they are typed here.
pub(crate) fn of_pim(text: &impl ToString) -> String {
    renamed(&text.to_string(), PIM)
}

/// Names stand behind a backtick, and go on with what is inside of them. What follows a closing one is no name: a blank
/// or a full stop does.
fn renamed(text: &str, names: &[(&str, &str)]) -> String {
    let mut parts = text.split('`');
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|it: char| !(it.is_ascii_alphanumeric() || it == '_')).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let here = names.iter().find(|it| it.0 == name).map_or(name, |it| it.1);
        told.extend(["`", here, rest]);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_are_typed_here_whatever_is_inside_of_them() {
        let text = "`memory`: `pim.registers` is 8 of `memory.rows`; `input_registers`, `soc`, `pim`, memory or `format`";
        let told = "`pim.memory`: `pim.pim.registers` is 8 of `pim.memory.rows`; `input_registers`, `pim.soc`, \
                    `pim.pim`, memory or `format`";
        assert_eq!(of_pim(&text), told);
        // Names inside of names.
        let burst = "`burst of `memory`, in bytes,` is 3";
        assert_eq!(of_pim(&burst), "`burst of `pim.memory`, in bytes,` is 3");
        assert_eq!(
            of_npu(&"`device` of `device.rows`, `devices` and device"),
            "`npu` of `npu.rows`, `devices` and device"
        );
    }
}
