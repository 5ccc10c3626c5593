//! Activity traces: recorded from a real model, or drawn from the law.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::SystemTime;

use crate::activity::{Bits, BlockKind, Synthetic};
use crate::npz::{Npz, NpzError};

/// One recorded sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Tokens of the prompt; the rest was generated.
    pub prefill: usize,
    /// What the recorder says about itself: JSON.
    pub meta: String,
    /// Layers of QKV inputs and of feed-forward neurons.
    blocks: [Vec<Bits>; 2],
}

/// What was profiled offline, over many samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// How often each neuron is active, by block and layer.
    pub frequency: [Vec<Vec<f32>>; 2],
    /// The two neurons of the layer before that go most with each neuron;
    /// [`NO_PARENT`] where there is none.
    pub parents: [Vec<Vec<[u32; 2]>>; 2],
}

/// No neuron of the layer before goes with this one.
pub const NO_PARENT: u32 = u32::MAX;

/// A profile and sequences of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What it is called.
    pub name: String,
    /// What was profiled.
    pub profile: Profile,
    /// Sequences, of which a batch takes the first.
    pub sequences: Vec<Trace>,
}

/// Why a file is no trace, or a trace does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Not an `.npz` of the right arrays.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// Axes that are not [tokens, layers, neurons / 8].
    #[error("array `{name}` has shape {found:?}; {wanted}")]
    Shape {
        /// The array.
        name: &'static str,
        /// Its shape.
        found: Vec<usize>,
        /// What it must be.
        wanted: String,
    },
    /// No prompt or nothing generated.
    #[error(
        "`n_prefill` is {prefill}, but the trace has {tokens} tokens; at least one must be of the prompt and one generated"
    )]
    Prefill {
        /// What was given.
        prefill: i64,
        /// Tokens of the trace.
        tokens: usize,
    },
    /// A share that is none, or a parent outside the layer.
    #[error("array `{name}` has a value of {value}; {wanted}")]
    Value {
        /// The array.
        name: String,
        /// The value.
        value: String,
        /// What it may be.
        wanted: String,
    },
    /// Profile and sequences of different models.
    #[error("{what} has {found_layers} layers of {} and {} neurons, but {other} has {layers} of {} and {}", found[0], found[1], neurons[0], neurons[1])]
    Mismatch {
        /// What does not fit.
        what: String,
        /// Its layers.
        found_layers: usize,
        /// Its neurons: QKV inputs, feed-forward.
        found: [usize; 2],
        /// What it was to fit.
        other: String,
        /// Layers there.
        layers: usize,
        /// Neurons there.
        neurons: [usize; 2],
    },
    /// A recording has too few sequences or tokens.
    #[error("`{name}` has {have} {what}, but {need} are asked for; lower `{parameter}` or record more")]
    TooShort {
        /// The recording.
        name: String,
        /// What there is too little of.
        what: &'static str,
        /// How many there are.
        have: usize,
        /// How many are asked for.
        need: usize,
        /// The parameter that asks for them.
        parameter: &'static str,
    },
    /// A file or folder that cannot be read.
    #[error("cannot read `{path}`: {problem}")]
    Read {
        /// The file or folder.
        path: String,
        /// What the system says.
        problem: String,
    },
    /// A file that is no trace or profile.
    #[error("`{path}`: {problem}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: Box<TraceError>,
    },
    /// Neither a recording of that name nor a file or folder.
    #[error(
        "there is no recording `{name}`, and no such file or folder; recordings: {}; or give an .npz file, or a \
         folder of them, in which `profile.npz` is the profile", .available.join(", ")
    )]
    Unknown {
        /// The name.
        name: String,
        /// All names.
        available: Vec<String>,
    },
}

impl Trace {
    /// Reads an `.npz` file: `qkv` and `mlp` (bytes, [tokens, layers,
    /// neurons / 8], the lowest bit the first neuron), `n_prefill` and `meta`.
    ///
    /// # Errors
    /// [`TraceError`] names the array and what is wrong with it.
    pub fn from_npz(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut file = Npz::open(bytes)?;
        let mut blocks = [Vec::new(), Vec::new()];
        let mut shape: Option<(usize, usize)> = None;
        for block in BlockKind::ALL {
            let name = ["qkv", "mlp"][block.index()];
            let array = file.array(name)?;
            let wrong = |wanted: &str| TraceError::Shape {
                name,
                found: array.shape.clone(),
                wanted: wanted.to_owned(),
            };
            let [tokens, layers, row] = array.shape[..] else {
                return Err(wrong("it must be [tokens, layers, neurons / 8]"));
            };
            if tokens == 0 || layers == 0 || row == 0 {
                return Err(wrong("no axis may be empty"));
            }
            if shape.is_some_and(|it| it != (tokens, layers)) {
                return Err(wrong("tokens and layers must be those of `qkv`"));
            }
            shape = Some((tokens, layers));
            let data = array.bytes(name)?;
            for layer in 0..layers {
                let mut bits = Bits::zeros(tokens, row * 8);
                for token in 0..tokens {
                    let bytes = &data[(token * layers + layer) * row..][..row];
                    for (word, bytes) in bits.row_mut(token).iter_mut().zip(bytes.chunks(8)) {
                        *word = bytes.iter().rev().fold(0, |word, it| word << 8 | u64::from(*it));
                    }
                }
                blocks[block.index()].push(bits);
            }
        }
        let tokens = blocks[0][0].tokens();
        #[expect(clippy::cast_possible_truncation, reason = "checked against the number of tokens")]
        let given = file.array("n_prefill")?.floats("n_prefill")?.first().map_or(-1, |it| *it as i64);
        let prefill = usize::try_from(given).ok().filter(|it| (1..tokens).contains(it));
        let prefill = prefill.ok_or(TraceError::Prefill { prefill: given, tokens })?;
        let meta = file.array("meta")?.text("meta")?;
        Ok(Self { prefill, meta, blocks })
    }

    /// Layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.blocks[0].len()
    }

    /// Tokens, those of the prompt included.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.blocks[0][0].tokens()
    }

    /// Neurons of each block.
    #[must_use]
    pub fn neurons(&self) -> [usize; 2] {
        [self.blocks[0][0].neurons, self.blocks[1][0].neurons]
    }

    /// Activity of one layer's block.
    #[must_use]
    pub fn bits(&self, block: BlockKind, layer: usize) -> &Bits {
        &self.blocks[block.index()][layer]
    }
}

impl Profile {
    /// Reads an `.npz` file: `qkv_freq` and `mlp_freq` [layers, neurons], and
    /// `qkv_parents` and `mlp_parents` [layers, neurons, 2], 65535 for none.
    ///
    /// # Errors
    /// [`TraceError`] names the array and what is wrong with it.
    pub fn from_npz(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut file = Npz::open(bytes)?;
        let mut frequency = [Vec::new(), Vec::new()];
        let mut parents = [Vec::new(), Vec::new()];
        for (index, [freq, parent]) in
            [["qkv_freq", "qkv_parents"], ["mlp_freq", "mlp_parents"]].into_iter().enumerate()
        {
            let array = file.array(freq)?;
            let wrong = |name, found: &[usize], wanted: String| TraceError::Shape {
                name,
                found: found.to_vec(),
                wanted,
            };
            let [layers, neurons] = array.shape[..] else {
                return Err(wrong(freq, &array.shape, "it must be [layers, neurons]".to_owned()));
            };
            if layers == 0 || neurons == 0 {
                return Err(wrong(freq, &array.shape, "no axis may be empty".to_owned()));
            }
            let bad = |name: &str, value: f64, wanted: String| TraceError::Value {
                name: name.to_owned(),
                value: value.to_string(),
                wanted,
            };
            let shares = array.floats(freq)?;
            if let Some(value) = shares.iter().find(|it| !(0.0..=1.0).contains(*it)) {
                return Err(bad(freq, *value, "a share of tokens is from 0 to 1".to_owned()));
            }
            #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
            let rows = shares.chunks(neurons).map(|it| it.iter().map(|it| *it as f32).collect());
            frequency[index] = rows.collect();
            let array = file.array(parent)?;
            if array.shape != [layers, neurons, 2] {
                return Err(wrong(parent, &array.shape, format!("it must be [{layers}, {neurons}, 2]")));
            }
            let numbers = array.floats(parent)?;
            #[expect(clippy::cast_precision_loss, reason = "a count of neurons")]
            let outside = |it: &&f64| **it < 0.0 || (**it >= neurons as f64 && **it < 65535.0);
            if let Some(value) = numbers.iter().find(outside) {
                return Err(bad(parent, *value, format!("a parent is below {neurons}, or 65535 for none")));
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
            let number = |it: &f64| if *it >= 65535.0 { NO_PARENT } else { *it as u32 };
            parents[index] = numbers
                .chunks(neurons * 2)
                .map(|row| row.chunks(2).map(|it| [number(&it[0]), number(&it[1])]).collect())
                .collect();
        }
        let profile = Self { frequency, parents };
        if profile.frequency[0].len() != profile.frequency[1].len() {
            let (found, layers) = (profile.frequency[1].len(), profile.frequency[0].len());
            return Err(TraceError::Shape {
                name: "mlp_freq",
                found: vec![found],
                wanted: format!("it must have the {layers} layers of `qkv_freq`"),
            });
        }
        Ok(profile)
    }

    /// A profile of sequences themselves, for want of another: how often neurons
    /// are active in their prompts, and no parents.
    ///
    /// # Errors
    /// [`TraceError::TooShort`] if there is no sequence, [`TraceError::Mismatch`]
    /// if they are of different models.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "shares of tokens")]
    pub fn of_prompts(name: &str, sequences: &[Trace]) -> Result<Self, TraceError> {
        let Some(first) = sequences.first() else {
            let (name, what) = (name.to_owned(), "sequences");
            return Err(TraceError::TooShort { name, what, have: 0, need: 1, parameter: "batch" });
        };
        let (layers, neurons) = (first.layers(), first.neurons());
        if let Some(other) = sequences.iter().find(|it| (it.layers(), it.neurons()) != (layers, neurons)) {
            return Err(TraceError::Mismatch {
                what: format!("a sequence of `{name}`"),
                found_layers: other.layers(),
                found: other.neurons(),
                other: "the first".to_owned(),
                layers,
                neurons,
            });
        }
        let tokens: usize = sequences.iter().map(|it| it.prefill).sum();
        let share = |block: BlockKind, layer: usize, neuron: usize| {
            let active = |it: &Trace| {
                (0..it.prefill).filter(|token| it.bits(block, layer).get(*token, neuron)).count()
            };
            (sequences.iter().map(active).sum::<usize>() as f64 / tokens as f64) as f32
        };
        let rows = |block: BlockKind| {
            let row = |layer| (0..neurons[block.index()]).map(|it| share(block, layer, it)).collect();
            (0..layers).map(row).collect()
        };
        let none = |block: BlockKind| vec![vec![[NO_PARENT; 2]; neurons[block.index()]]; layers];
        Ok(Self { frequency: BlockKind::ALL.map(rows), parents: BlockKind::ALL.map(none) })
    }

    /// Layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.frequency[0].len()
    }

    /// Neurons of each block.
    #[must_use]
    pub fn neurons(&self) -> [usize; 2] {
        [self.frequency[0][0].len(), self.frequency[1][0].len()]
    }
}

impl Recording {
    /// Puts a profile and sequences together.
    ///
    /// # Errors
    /// [`TraceError::Mismatch`] if they are of different models,
    /// [`TraceError::TooShort`] if there is no sequence.
    pub fn new(name: &str, profile: Profile, sequences: Vec<Trace>) -> Result<Self, TraceError> {
        if sequences.is_empty() {
            return Err(TraceError::TooShort {
                name: name.to_owned(),
                what: "sequences",
                have: 0,
                need: 1,
                parameter: "batch",
            });
        }
        for (index, trace) in sequences.iter().enumerate() {
            if (trace.layers(), trace.neurons()) != (profile.layers(), profile.neurons()) {
                return Err(TraceError::Mismatch {
                    what: format!("sequence {index} of `{name}`"),
                    found_layers: trace.layers(),
                    found: trace.neurons(),
                    other: "its profile".to_owned(),
                    layers: profile.layers(),
                    neurons: profile.neurons(),
                });
            }
        }
        Ok(Self { name: name.to_owned(), profile, sequences })
    }
}

/// The file of a folder that is read as its profile.
pub const PROFILE: &str = "profile.npz";

fn read(path: &Path) -> Result<Vec<u8>, TraceError> {
    std::fs::read(path).map_err(|it| unreadable(path, &it))
}

fn unreadable(path: &Path, problem: &std::io::Error) -> TraceError {
    TraceError::Read { path: path.display().to_string(), problem: problem.to_string() }
}

impl Recording {
    /// Reads sequences, one per file, and their profile; without one, how often
    /// neurons are active in the prompts stands in.
    ///
    /// # Errors
    /// [`TraceError`] names the file.
    pub fn read(name: &str, sequences: &[PathBuf], profile: Option<&Path>) -> Result<Self, TraceError> {
        let at = |path: &Path, problem: TraceError| TraceError::File {
            path: path.display().to_string(),
            problem: Box::new(problem),
        };
        let sequences = sequences
            .iter()
            .map(|path| Trace::from_npz(&read(path)?).map_err(|it| at(path, it)))
            .collect::<Result<Vec<_>, _>>()?;
        let profile = match profile {
            Some(path) => Profile::from_npz(&read(path)?).map_err(|it| at(path, it))?,
            None => Profile::of_prompts(name, &sequences)?,
        };
        Self::new(name, profile, sequences)
    }
}

/// The files of a recording, each with the time of its last change.
type Stamped = Vec<(PathBuf, Option<SystemTime>)>;

/// An `.npz` file, or those of a folder in the order of their names.
fn files(path: &Path) -> Result<Stamped, TraceError> {
    let mut files = if path.is_dir() {
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|it| unreadable(path, &it))?;
        let files = entries.into_iter().map(|it| it.path());
        files.filter(|it| it.extension().is_some_and(|it| it == "npz")).collect()
    } else {
        vec![path.to_owned()]
    };
    files.sort();
    Ok(files
        .into_iter()
        .map(|it| {
            let changed = std::fs::metadata(&it).and_then(|it| it.modified()).ok();
            (it, changed)
        })
        .collect())
}

/// What was last read from a file or folder: a sweep asks for it at each point.
static LAST_READ: Mutex<Option<(Stamped, Arc<Recording>)>> = Mutex::new(None);

fn from_path(name: &str) -> Result<Arc<Recording>, TraceError> {
    let files = files(Path::new(name))?;
    let mut last = LAST_READ.lock().expect("no panic while it is held");
    if let Some((stamped, recording)) = &*last
        && *stamped == files
        && recording.name == name
    {
        return Ok(Arc::clone(recording));
    }
    let in_folder = Path::new(name).is_dir();
    let (profile, sequences): (Vec<PathBuf>, Vec<PathBuf>) = files
        .iter()
        .map(|it| it.0.clone())
        .partition(|it| in_folder && it.file_name().is_some_and(|it| it == PROFILE));
    if sequences.is_empty() {
        let problem = "the folder has no .npz file of a sequence".to_owned();
        return Err(TraceError::Read { path: name.to_owned(), problem });
    }
    let recording = Arc::new(Recording::read(name, &sequences, profile.first().map(PathBuf::as_path))?);
    *last = Some((files, Arc::clone(&recording)));
    Ok(recording)
}

/// Recordings by name: the built-in sample, and what a user has added.
static LIBRARY: LazyLock<Mutex<Vec<Arc<Recording>>>> = LazyLock::new(|| Mutex::new(vec![Arc::new(sample())]));

/// The name of the built-in recording.
pub const SAMPLE: &str = "relu-6m";

/// Four sequences of a small ReLU transformer, `data/traces`.
fn sample() -> Recording {
    const SEQUENCES: [&[u8]; 4] = [
        include_bytes!("../../../data/traces/trace_00.npz"),
        include_bytes!("../../../data/traces/trace_01.npz"),
        include_bytes!("../../../data/traces/trace_10.npz"),
        include_bytes!("../../../data/traces/trace_11.npz"),
    ];
    let profile = Profile::from_npz(include_bytes!("../../../data/traces/profile.npz"));
    let sequences = SEQUENCES.iter().map(|it| Trace::from_npz(it)).collect::<Result<Vec<_>, _>>();
    Recording::new(SAMPLE, profile.expect("tested"), sequences.expect("tested")).expect("tested")
}

/// Makes a recording known by its name; one of the same name is replaced.
///
/// # Panics
/// Never: no other thread panics while it holds the library.
pub fn add(recording: Recording) {
    let mut library = LIBRARY.lock().expect("no panic while it is held");
    library.retain(|it| it.name != recording.name);
    library.push(Arc::new(recording));
}

/// The recording of this name, or that of a file or folder: an `.npz` file is one
/// sequence, a folder has one in each and may have a [`PROFILE`].
///
/// # Errors
/// [`TraceError::Unknown`] lists all names; others say what is wrong with a file.
///
/// # Panics
/// Never: no other thread panics while it holds the library.
pub fn find(name: &str) -> Result<Arc<Recording>, TraceError> {
    let library = LIBRARY.lock().expect("no panic while it is held");
    if let Some(recording) = library.iter().find(|it| it.name == name) {
        return Ok(Arc::clone(recording));
    }
    let available = library.iter().map(|it| it.name.clone()).collect();
    drop(library);
    if Path::new(name).exists() {
        return from_path(name);
    }
    Err(TraceError::Unknown { name: name.to_owned(), available })
}

/// Where activity comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The law.
    Law(Synthetic),
    /// A recording.
    Recorded(Arc<Recording>),
}

/// Activity of one layer over a batch.
#[derive(Debug, Clone)]
pub struct LayerActivity {
    /// Bits of each sequence, by block.
    pub blocks: [Vec<Bits>; 2],
}

impl Source {
    /// Layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        match self {
            Self::Law(law) => law.layers,
            Self::Recorded(recording) => recording.profile.layers(),
        }
    }

    /// Neurons of each block.
    #[must_use]
    pub fn neurons(&self) -> [usize; 2] {
        match self {
            Self::Law(law) => law.neurons,
            Self::Recorded(recording) => recording.profile.neurons(),
        }
    }

    /// Tokens of the prompt.
    #[must_use]
    pub fn prefill(&self) -> usize {
        match self {
            Self::Law(law) => law.prefill,
            Self::Recorded(recording) => recording.sequences[0].prefill,
        }
    }

    /// Activity of one layer for the first `batch` sequences.
    #[must_use]
    pub fn layer(&self, layer: usize, batch: usize) -> LayerActivity {
        let bits = |block: BlockKind, sequence: usize| match self {
            Self::Law(law) => law.bits(block, layer, sequence as u64),
            Self::Recorded(recording) => recording.sequences[sequence].bits(block, layer).clone(),
        };
        LayerActivity { blocks: BlockKind::ALL.map(|block| (0..batch).map(|it| bits(block, it)).collect()) }
    }

    /// How often each neuron of a block was active offline.
    #[must_use]
    pub fn frequency(&self, block: BlockKind, layer: usize) -> Vec<f32> {
        match self {
            Self::Law(law) => law.frequency(block, layer),
            Self::Recorded(recording) => recording.profile.frequency[block.index()][layer].clone(),
        }
    }

    /// The neurons of the layer before that go with each one.
    #[must_use]
    pub fn parents(&self, block: BlockKind, layer: usize) -> Option<Vec<[u32; 2]>> {
        match self {
            Self::Law(law) => law.parents(block, layer),
            Self::Recorded(recording) => {
                (layer > 0).then(|| recording.profile.parents[block.index()][layer].clone())
            }
        }
    }
}
