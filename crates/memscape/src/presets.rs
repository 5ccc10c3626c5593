//! Every named description in `data/`, whatever it describes.

use std::fmt;

use memscape_dram::Dram;
use memscape_study::Preset;
use memscape_workload::Llm;
use serde_json::Value;

/// All built-in descriptions: memories, machines and models.
///
/// # Panics
/// Never: descriptions are plain data.
#[must_use]
pub fn presets() -> Vec<Preset<Value>> {
    fn plain<T: serde::Serialize>(preset: &Preset<T>) -> Preset<Value> {
        Preset {
            name: preset.name.clone(),
            summary: preset.summary.clone(),
            parameters: serde_json::to_value(&preset.parameters).expect("descriptions are plain data"),
            sources: preset.sources.clone(),
        }
    }
    let machine = |name: &str| {
        let filling = memscape_pim::hardware::find_machine(name)?;
        Some(Preset {
            name: name.to_owned(),
            summary: "A machine with PIM: memory, PIM units and processor".to_owned(),
            parameters: filling.parameters,
            sources: filling.sources,
        })
    };
    let phone = |name: &str| {
        let filling = memscape_ondevice::hardware::find_phone(name)?;
        Some(Preset {
            name: name.to_owned(),
            summary: "A phone with PIM: memory, address map, PIM blocks and processor".to_owned(),
            parameters: filling.parameters,
            sources: filling.sources,
        })
    };
    let npu = |name: &'static str| {
        let filling = memscape_npu::Device::filling(name)?;
        Some(Preset {
            name: name.to_owned(),
            summary: memscape_npu::Device::summary(name)?.to_owned(),
            parameters: filling.parameters,
            sources: filling.sources,
        })
    };
    let many_core = |name: &str| {
        let filling = memscape_riscv::platform::find_machine(name)?;
        Some(Preset {
            name: name.to_owned(),
            summary: "A many-core RISC-V machine: cores, caches, NUMA nodes and memory".to_owned(),
            parameters: filling.parameters,
            sources: filling.sources,
        })
    };
    let npus = memscape_npu::Device::names().into_iter().filter_map(npu);
    let many_cores = memscape_riscv::platform::machine_names().into_iter().filter_map(many_core);
    let memories = Dram::presets().iter().map(plain);
    let machines = memscape_pim::hardware::machine_names().into_iter().filter_map(machine);
    let phones = memscape_ondevice::hardware::phone_names().into_iter().filter_map(phone);
    let models = Llm::all().iter().map(plain);
    let gpus = memscape_ndp::hardware::gpus().iter().map(plain);
    let systems = memscape_ndp::hardware::machines().into_iter().filter_map(|(name, summary)| {
        let filling = memscape_ndp::hardware::find_machine(name)?;
        let (name, summary) = (name.to_owned(), summary.to_owned());
        Some(Preset { name, summary, parameters: filling.parameters, sources: filling.sources })
    });
    let known = memories.chain(machines).chain(phones).chain(npus).chain(many_cores);
    known.chain(gpus).chain(systems).chain(models).collect()
}

/// The built-in description of this name.
///
/// # Errors
/// [`UnknownPreset`] lists the names that are closest.
///
/// ```
/// let opt = memscape::preset("opt-6.7b")?;
/// assert_eq!(opt.parameters["layers"], 32);
/// assert!(opt.source("layers").is_some());
/// # Ok::<(), memscape::UnknownPreset>(())
/// ```
pub fn preset(name: &str) -> Result<Preset<Value>, UnknownPreset> {
    let all = presets();
    let names = all.iter().map(|it| it.name.clone()).collect();
    all.into_iter()
        .find(|it| it.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| UnknownPreset { name: name.to_owned(), available: names })
}

/// A name that no built-in description has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPreset {
    /// The name as given.
    pub name: String,
    /// All there are.
    pub available: Vec<String>,
}

impl fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = memscape_explore::hint(&self.name, self.available.iter().map(String::as_str));
        write!(f, "there is no preset `{}`{hint}", self.name)
    }
}

impl std::error::Error for UnknownPreset {}

/// A parameter that two descriptions do not share.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its dotted path.
    pub path: String,
    /// What the first says, if it has the parameter.
    pub a: Option<Value>,
    /// What the second says, if it has the parameter.
    pub b: Option<Value>,
}

/// Where two descriptions differ, in the order of the first.
#[must_use]
pub fn difference(a: &Preset<Value>, b: &Preset<Value>) -> Vec<Difference> {
    let (of_a, of_b) = (leaves(&a.parameters), leaves(&b.parameters));
    let value = |leaves: &[(String, Value)], path: &str| {
        leaves.iter().find(|(it, _)| it == path).map(|(_, value)| value.clone())
    };
    let only_b = of_b.iter().filter(|(path, _)| value(&of_a, path).is_none());
    of_a.iter()
        .chain(only_b)
        .map(|(path, _)| Difference { path: path.clone(), a: value(&of_a, path), b: value(&of_b, path) })
        .filter(|it| it.a != it.b)
        .collect()
}

/// Each value of a nested table with its dotted path; what is null is left out.
#[must_use]
pub fn leaves(table: &Value) -> Vec<(String, Value)> {
    fn collect(found: &mut Vec<(String, Value)>, path: &str, value: &Value) {
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    collect(found, &path, value);
                }
            }
            Value::Null => {}
            leaf => found.push((path.to_owned(), leaf.clone())),
        }
    }
    let mut found = Vec::new();
    collect(&mut found, "", table);
    found
}
