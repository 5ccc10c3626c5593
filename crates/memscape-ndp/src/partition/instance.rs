//! Instances of the partition of a user's own, from `.npz` files: kept by what they
//! hold, as recordings are, because studies read no file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};

use memscape_study::{AnyCatalog, CatalogError, File, Find, Form, Preset, Takes, Unknown};
use memscape_units::Nanoseconds;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::problem::{Block, Devices, Sizes};
use crate::activity::npz::{Npz, NpzError};
use crate::kept;

/// The name of the built-in instance.
pub const GROUPS: &str = "opt-13b-groups";

const KIND: &str = "partition instance";
const CONTENT: &str = "instance:";
const SAMPLE: &[u8] = include_bytes!("../../../../data/partition/placement.npz");

/// Blocks of neurons, and devices for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Bytes of each neuron or group, by block.
    pub sizes: Vec<Vec<f64>>,
    /// Share of tokens for which each is active.
    pub frequency: Vec<Vec<f32>>,
    /// The GPU and the DIMMs.
    pub devices: Devices,
}

/// Why a file is no instance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// Not an `.npz` of the right arrays.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// Axes that do not go together.
    #[error("array `{name}` has shape {found:?}; {wanted}")]
    Shape {
        /// The array.
        name: &'static str,
        /// Its shape.
        found: Vec<usize>,
        /// What it must be.
        wanted: &'static str,
    },
    /// Several files.
    #[error("an instance is one .npz file, not {0}")]
    Files(usize),
}

impl Instance {
    /// Reads an `.npz` file: `size` (bytes) and `freq` [blocks, neurons], `bw` (bytes/s)
    /// and `cap` (bytes) of the GPU and each DIMM.
    ///
    /// # Errors
    /// [`InstanceError`] names the array and what is wrong with it.
    pub fn from_npz(bytes: &[u8]) -> Result<Self, InstanceError> {
        let mut file = Npz::open(bytes)?;
        let mut read = |name: &'static str, axes: usize, wanted: &'static str| {
            let array = file.array(name)?;
            if array.shape.len() != axes || array.shape.contains(&0) {
                return Err(InstanceError::Shape { name, found: array.shape, wanted });
            }
            Ok((array.floats(name)?, array.shape))
        };
        let (sizes, shape) = read("size", 2, "it must be [blocks, neurons]")?;
        let (frequency, other) = read("freq", 2, "it must be [blocks, neurons]")?;
        let (bandwidth, devices) = read("bw", 1, "it must be [devices], the GPU first")?;
        let (capacity, capacities) = read("cap", 1, "it must be [devices], the GPU first")?;
        let same = |name, found: &[usize], wanted: &[usize], what| {
            let found = found.to_vec();
            if found == wanted { Ok(()) } else { Err(InstanceError::Shape { name, found, wanted: what }) }
        };
        same("freq", &other, &shape, "it must be that of `size`")?;
        same("cap", &capacities, &devices, "it must be that of `bw`")?;
        #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
        let shares = |row: &[f64]| row.iter().map(|it| *it as f32).collect();
        Ok(Self {
            sizes: sizes.chunks(shape[1]).map(<[f64]>::to_vec).collect(),
            frequency: frequency.chunks(shape[1]).map(shares).collect(),
            devices: Devices {
                gpu_bandwidth: bandwidth[0],
                gpu_multiplies: f64::INFINITY,
                gpu_capacity: capacity[0],
                dimm_bandwidth: bandwidth[1..].to_vec(),
                dimm_multiplies: f64::INFINITY,
                dimm_capacity: capacity[1..].to_vec(),
            },
        })
    }

    /// Its blocks.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block<'_>> {
        let blocks = self.sizes.iter().zip(&self.frequency);
        let block = |(sizes, frequency)| {
            let (bytes, gpu_fixed) = (Sizes::Each(sizes), Nanoseconds::ZERO);
            Block { bytes, frequency, multiplied: None, gpu_fixed }
        };
        blocks
            .map(|(sizes, frequency): (&Vec<f64>, &Vec<f32>)| block((sizes.as_slice(), frequency.as_slice())))
            .collect()
    }

    /// A hash of what it holds, whatever its file says besides, such as times.
    fn content(&self) -> u128 {
        let Devices { gpu_bandwidth, gpu_capacity, dimm_bandwidth, dimm_capacity, .. } = &self.devices;
        let devices = [&[*gpu_bandwidth, *gpu_capacity], &dimm_bandwidth[..], &dimm_capacity[..]].concat();
        let neurons = self.sizes[0].len() as u64;
        let mut bytes: Vec<u8> = [neurons, dimm_bandwidth.len() as u64].map(u64::to_le_bytes).concat();
        bytes.extend(devices.iter().chain(self.sizes.iter().flatten()).flat_map(|it| it.to_le_bytes()));
        bytes.extend(self.frequency.iter().flatten().flat_map(|it| it.to_le_bytes()));
        xxh3_128(&bytes)
    }

    fn summary(&self) -> String {
        let (blocks, neurons) = (self.sizes.len(), self.sizes[0].len());
        format!(
            "{blocks} blocks of {neurons} neurons or groups, a GPU and {} DIMMs",
            self.devices.dimm_bandwidth.len()
        )
    }
}

/// An instance as a parameter of studies, written as its name: a built-in one, or
/// `instance:` and a hash of the file that was read before.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InstanceName {
    text: Arc<str>,
    /// What it names.
    pub instance: Arc<Instance>,
}

impl PartialEq for InstanceName {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<InstanceName> for String {
    fn from(it: InstanceName) -> Self {
        it.text.to_string()
    }
}

impl TryFrom<String> for InstanceName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let known = library();
        let unknown = || Unknown::new(KIND, &text, [GROUPS]);
        known.get(&text).map(|it| it.1.clone()).ok_or_else(|| format!("{}; or give an .npz file", unknown()))
    }
}

impl JsonSchema for InstanceName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Instance".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// By name.
type Library = HashMap<String, (&'static Preset<Value>, InstanceName)>;

fn library() -> MutexGuard<'static, Library> {
    static LIBRARY: LazyLock<Mutex<Library>> = LazyLock::new(|| {
        let mut library = Library::new();
        let sample = Instance::from_npz(SAMPLE).expect("tested");
        keep(&mut library, GROUPS.to_owned(), "derived: data/partition/README.md", sample);
        Mutex::new(library)
    });
    LIBRARY.lock().expect("no panic while it is held")
}

fn keep(library: &mut Library, name: String, source: &str, instance: Instance) {
    let text: Arc<str> = name.as_str().into();
    library.entry(name).or_insert_with(|| {
        let preset = kept::preset(&text, instance.summary(), source, &text);
        (preset, InstanceName { text, instance: Arc::new(instance) })
    });
}

/// The catalog of instances: [`GROUPS`], and `.npz` files of a user's own.
pub static INSTANCES: Instances = Instances;

/// The type of [`INSTANCES`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Instances;

impl AnyCatalog for Instances {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn summary(&self) -> &'static str {
        "neurons or groups to be placed, and devices for them"
    }

    fn presets(&self) -> &[Preset<Value>] {
        static BUILT_IN: OnceLock<Vec<Preset<Value>>> = OnceLock::new();
        BUILT_IN.get_or_init(|| library().get(GROUPS).map(|it| it.0.clone()).into_iter().collect())
    }

    fn takes(&self) -> Takes {
        Takes { extensions: vec!["npz"], folders: false, max_bytes: 1 << 30 }
    }

    fn read(&self, files: &[File]) -> Result<Form, CatalogError> {
        let wrong = |it: InstanceError| CatalogError::File(it.to_string());
        let [file] = files else { return Err(wrong(InstanceError::Files(files.len()))) };
        let instance = Instance::from_npz(&file.bytes).map_err(wrong)?;
        let (name, summary) = (format!("{CONTENT}{:032x}", instance.content()), instance.summary());
        keep(&mut library(), name.clone(), kept::READ, instance);
        Ok(kept::form(file.name.clone(), summary, &name))
    }

    fn inline(&self, _: &Map<String, Value>) -> Option<Result<Form, CatalogError>> {
        let problem = "an instance is a name or an .npz file, not a table";
        Some(Err(CatalogError::File(problem.to_owned())))
    }

    fn complete(&self, form: Form, _: Find<'_>) -> Result<Preset<Value>, CatalogError> {
        let Form { name, summary, mut parameters, sources, intervals, facts, .. } = form;
        let content = parameters.remove(kept::KEY).and_then(|it| it.as_str().map(str::to_owned));
        let known = InstanceName::try_from(content.unwrap_or_else(|| name.clone()));
        let parameters = json!(String::from(known.map_err(CatalogError::File)?));
        Ok(Preset { name, summary, parameters, sources, intervals, facts })
    }

    fn schema(&self) -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("{KIND} ({})", self.summary()),
            "type": "string",
            "description": format!("Name of a {KIND}, or the path of an .npz file"),
        })
    }

    /// Finds what was kept too.
    fn find_plain(&self, name: &str) -> Result<&Preset<Value>, Unknown> {
        library().get(name).map(|it| it.0).ok_or_else(|| Unknown::new(KIND, name, [GROUPS]))
    }
}
