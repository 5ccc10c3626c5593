//! Activity recorded from a real model: sequences, and what was profiled.

use memscape_study::File;
use xxhash_rust::xxh3::Xxh3;

use super::bits::{Bits, BlockKind};
use super::npz::{Npz, NpzError};

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
    /// No file of a sequence.
    #[error("there is no .npz file of a sequence{files}; give one with the arrays `qkv` and `mlp`")]
    NoSequence {
        /// What there is instead, if anything.
        files: String,
    },
    /// A file that is no trace or profile.
    #[error("`{file}`: {problem}")]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: Box<TraceError>,
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
            let inside = |it: f64| (0.0..neurons as f64).contains(&it) || it >= 65535.0;
            if let Some(value) = numbers.iter().find(|it| !inside(**it)) {
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

    /// Parses files: a sequence in each, and what was profiled; without that, how
    /// often neurons are active in the prompts stands in.
    ///
    /// # Errors
    /// [`TraceError`] names the file.
    pub fn from_files(name: &str, sequences: &[&File], profile: Option<&File>) -> Result<Self, TraceError> {
        let in_file = |file: &File| {
            let file = file.name.clone();
            |problem| TraceError::File { file, problem: Box::new(problem) }
        };
        let sequences = sequences
            .iter()
            .map(|it| Trace::from_npz(&it.bytes).map_err(in_file(it)))
            .collect::<Result<Vec<_>, _>>()?;
        let profile = match profile {
            Some(file) => Profile::from_npz(&file.bytes).map_err(in_file(file))?,
            None => Profile::of_prompts(name, &sequences)?,
        };
        Self::new(name, profile, sequences)
    }

    /// What it is, in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let [qkv, mlp] = self.profile.neurons();
        let first = &self.sequences[0];
        format!(
            "{} sequences of {} + {} tokens, {} layers of {qkv} QKV inputs and {mlp} feed-forward neurons",
            self.sequences.len(),
            first.prefill,
            first.tokens() - first.prefill,
            self.profile.layers(),
        )
    }

    /// What it holds, as one number: recordings of the same content have the same,
    /// whatever they are called and however their files are packed.
    pub(super) fn content(&self) -> u128 {
        let mut hash = Xxh3::new();
        let count = |hash: &mut Xxh3, it: usize| hash.update(&(it as u64).to_le_bytes());
        for (frequency, parents) in self.profile.frequency.iter().zip(&self.profile.parents) {
            count(&mut hash, frequency.len());
            for (frequency, parents) in frequency.iter().zip(parents) {
                count(&mut hash, frequency.len());
                for it in frequency {
                    hash.update(&it.to_le_bytes());
                }
                for it in parents.iter().flatten() {
                    hash.update(&it.to_le_bytes());
                }
            }
        }
        for sequence in &self.sequences {
            count(&mut hash, sequence.prefill);
            count(&mut hash, sequence.tokens());
            for bits in sequence.blocks.iter().flatten() {
                for it in (0..bits.tokens()).flat_map(|token| bits.row(token)) {
                    hash.update(&it.to_le_bytes());
                }
            }
        }
        hash.digest128()
    }
}
