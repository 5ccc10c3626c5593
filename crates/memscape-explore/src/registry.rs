//! Which systems there are, and their studies by name.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::OnceLock;

use memscape_study::{
    AnyCatalog, Bound, Calibration, CatalogError, Csv, Laws, OperatorCost, Perfetto, Preset, Recorder, Slot,
    Study, StudyVisitor, System, Timeline, Unknown, merged, write_operators,
};
use serde_json::Value;

use crate::asker::{Asker, answer};
use crate::control::Control;
use crate::describe::Description;
use crate::descriptions::{find, likeness, looks_like_path};
use crate::error::Error;
use crate::guard::{Kept, WhileWritten, guarded};
use crate::parameters::{Anatomy, Parameters};
use crate::sweep::{Sweep, sweep};
use crate::table::Table;

/// Systems that have registered themselves. Everything that lists studies,
/// descriptions or free parameters, or finds one by name, asks this.
///
/// ```ignore
/// let registry = Registry::new().with(memscape_pim::SYSTEM).with(memscape_npu::SYSTEM);
/// registry.study("pim.gemv")?.run(&Parameters::new())?;
/// ```
#[derive(Default)]
pub struct Registry {
    systems: Vec<Registered>,
    /// Catalogs that are no system's.
    beside: Vec<&'static dyn AnyCatalog>,
}

/// One system of a [`Registry`].
pub struct Registered {
    /// What its studies' names begin with, for example `pim`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its questions, in the order of a list.
    pub studies: Vec<Box<dyn DynStudy>>,
    /// The descriptions that they take.
    pub catalogs: Vec<&'static dyn AnyCatalog>,
    /// Its free parameters, if it has any.
    pub calibration: Option<&'static Calibration>,
}

impl Registry {
    /// No systems yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { systems: Vec::new(), beside: Vec::new() }
    }

    /// One system more.
    #[must_use]
    pub fn with<S: System>(mut self, _: S) -> Self {
        struct Collect(Vec<Box<dyn DynStudy>>);
        impl StudyVisitor for Collect {
            fn visit<S: Study>(&mut self) {
                self.0.push(Box::new(Entry::<S>::new()));
            }
        }
        let mut studies = Collect(Vec::new());
        S::studies(&mut studies);
        self.systems.push(Registered {
            name: S::NAME,
            summary: S::SUMMARY,
            studies: studies.0,
            catalogs: S::catalogs(),
            calibration: S::CALIBRATION,
        });
        self
    }

    /// A catalog more, of what no single system is.
    #[must_use]
    pub fn beside(mut self, catalog: &'static dyn AnyCatalog) -> Self {
        self.beside.push(catalog);
        self
    }

    /// All systems.
    #[must_use]
    pub fn systems(&self) -> &[Registered] {
        &self.systems
    }

    /// All studies, system by system.
    pub fn studies(&self) -> impl Iterator<Item = &dyn DynStudy> {
        self.systems.iter().flat_map(|it| &it.studies).map(|it| &**it)
    }

    /// The study of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest name.
    pub fn study(&self, name: &str) -> Result<&dyn DynStudy, Error> {
        let found = self.studies().find(|it| it.name() == name);
        found.ok_or_else(|| Unknown::new("study", name, self.studies().map(DynStudy::name)).into())
    }

    /// All catalogs, each once, those of several systems where they first stand.
    #[must_use]
    pub fn catalogs(&self) -> Vec<&'static dyn AnyCatalog> {
        let mut all: Vec<&'static dyn AnyCatalog> = Vec::new();
        for it in self.systems.iter().flat_map(|it| &it.catalogs).chain(&self.beside) {
            if !all.iter().any(|other| other.is(*it)) {
                all.push(*it);
            }
        }
        all
    }

    /// The catalog of this kind, such as `memory`; where several systems have one
    /// of the kind, the system's name comes first: `pim.hardware`.
    ///
    /// # Errors
    /// [`Error::Unknown`] lists the kinds.
    pub fn catalog(&self, kind: &str) -> Result<&'static dyn AnyCatalog, Error> {
        let named = self.catalog_names();
        match named.iter().find(|it| it.0 == kind) {
            Some(found) => Ok(found.1),
            None => Err(Unknown::new("catalog", kind, named.iter().map(|it| it.0.as_str())).into()),
        }
    }

    /// Each catalog with the name that tells it from all others.
    #[must_use]
    pub fn catalog_names(&self) -> Vec<(String, &'static dyn AnyCatalog)> {
        let all = self.catalogs();
        let name = |it: &'static dyn AnyCatalog| {
            let owner = || {
                let owns = |system: &&Registered| system.catalogs.iter().any(|its| its.is(it));
                self.systems.iter().find(owns).map_or("", |it| it.name)
            };
            match all.iter().filter(|other| other.kind() == it.kind()).count() {
                1 => it.kind().to_owned(),
                _ => format!("{}.{}", owner(), it.kind()),
            }
        };
        all.iter().map(|it| (name(*it), *it)).collect()
    }

    /// All built-in descriptions with the kind of each, catalog by catalog.
    pub fn presets(&self) -> impl Iterator<Item = (String, &'static Preset<Value>)> {
        self.catalog_names().into_iter().flat_map(|(name, catalog)| {
            let presets: &'static [Preset<Value>] = catalog.presets();
            presets.iter().map(move |it| (name.clone(), it))
        })
    }

    /// The built-in description of this name, in any case.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest name.
    pub fn preset(&self, name: &str) -> Result<&'static Preset<Value>, Error> {
        let found = self.presets().find(|(_, it)| it.name.eq_ignore_ascii_case(name));
        let all = || self.presets().map(|it| it.1.name.as_str()).collect::<Vec<_>>();
        found.map(|it| it.1).ok_or_else(|| Unknown::new("preset", name, all()).into())
    }

    /// The description in a file, by the first catalog that takes it.
    ///
    /// # Errors
    /// [`Error::BadDescription`] with what the one says that has the file's `base`, or else the one whose descriptions
    /// are most like the file.
    pub fn preset_in_file(&self, path: &str) -> Result<Preset<Value>, Error> {
        let mut refused: Option<(usize, CatalogError)> = None;
        let ends = |it: &&str| Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case(it));
        let reads = |it: &&'static dyn AnyCatalog| it.takes().extensions.iter().any(ends);
        let mut all = self.catalogs();
        // Who reads files that end so says more of what is wrong with one than who does not.
        if all.iter().any(reads) {
            all.retain(reads);
        }
        for catalog in all.into_iter().filter(|it| looks_like_path(*it, path)) {
            let error = match find(catalog, path, Path::new("")) {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            let likeness = likeness(catalog, Path::new(path));
            if refused.as_ref().is_none_or(|it| it.0 < likeness) {
                refused = Some((likeness, error));
            }
        }
        let none = || CatalogError::File("no kind of description ends so".to_owned());
        let error = refused.map_or_else(none, |it| it.1);
        Err(Error::BadDescription {
            parameter: "file".to_owned(),
            given: path.to_owned(),
            error: Box::new(error),
        })
    }
}

/// A study of known type with these parameters, for what only that type can do.
///
/// # Errors
/// [`Error`] names the parameter at fault.
pub fn read<S: Study>(parameters: &Parameters) -> Result<S, Error> {
    read_with(&Anatomy::of::<S>(), &[parameters])
}

fn read_with<S: Study>(anatomy: &Anatomy, layers: &[&Parameters]) -> Result<S, Error> {
    anatomy.read(&mut anatomy.expand(&anatomy.flatten_layers(layers)?)?)
}

/// One answer: column and value, in order.
pub type Row = Vec<(String, Value)>;

/// A study whose type is not known, as a command line or a notebook has it.
pub trait DynStudy: Send + Sync {
    /// What it is called, for example `pim.gemv`.
    fn name(&self) -> &'static str;

    /// One line for a list.
    fn summary(&self) -> &'static str;

    /// Which of its models answers: see [`Study::MODEL`].
    fn model(&self) -> u32;

    /// Its parameters and columns.
    fn describe(&self) -> Description;

    /// Its parameters that take a description.
    fn slots(&self) -> &[Slot];

    /// Columns that are the sum of others: the whole, and its parts.
    fn sums(&self) -> &'static [(&'static str, &'static [&'static str])];

    /// What must hold of its answers.
    fn laws(&self) -> &'static Laws;

    /// What columns cannot pass at a point.
    ///
    /// # Errors
    /// As [`DynStudy::run_layers`].
    fn bounds(&self, layers: &[&Parameters]) -> Result<Vec<Bound>, Error>;

    /// All parameters of a point: the defaults, descriptions, and what is given.
    ///
    /// # Errors
    /// As [`DynStudy::run_layers`]; nothing is answered yet.
    fn tree(&self, layers: &[&Parameters]) -> Result<Value, Error>;

    /// Answers one question. Later layers of parameters go over earlier ones.
    ///
    /// # Errors
    /// [`Error`] names the parameter at fault, or says how parameters
    /// contradict each other.
    fn run_layers(&self, layers: &[&Parameters]) -> Result<Row, Error>;

    /// Answers one question.
    ///
    /// # Errors
    /// As [`DynStudy::run_layers`].
    fn run(&self, parameters: &Parameters) -> Result<Row, Error> {
        self.run_layers(&[parameters])
    }

    /// Answers the question at every point. The table has a column per axis, the answer's
    /// columns, and `error`: why a row has no answer, else null. It is not complete if the
    /// sweep was cancelled.
    ///
    /// # Errors
    /// [`Error`] if the base or an axis is wrong as a whole, or the table would not fit in
    /// memory; a point that is wrong is a row.
    fn sweep(&self, sweep: &Sweep, control: &dyn Control) -> Result<Table, Error>;

    /// How it is asked by who does not know its type.
    #[doc(hidden)]
    fn asker(&self) -> Asker<'_>;

    /// What a sweep asks, by content: equal for equal questions, whatever the
    /// files are called in which descriptions stand.
    ///
    /// # Errors
    /// As [`DynStudy::sweep`].
    fn identity(&self, sweep: &Sweep) -> Result<String, Error>;

    /// The parameters with paths in slots made absolute, seen from `folder`.
    fn anchored(&self, parameters: &Parameters, folder: &Path) -> Parameters;

    /// The values of an axis with paths made absolute, seen from `folder`.
    fn anchored_axis(&self, path: &str, values: &[Value], folder: &Path) -> Vec<Value>;

    /// The forms in which what happens can be written: name and one line.
    fn traces(&self) -> Vec<(&'static str, &'static str)>;

    /// What happens when.
    ///
    /// # Errors
    /// [`Error::NoTrace`] if nothing has a time, else as [`DynStudy::run_layers`].
    fn timeline(&self, layers: &[&Parameters]) -> Result<Timeline, Error>;

    /// What a prompt and a token take, each operator once in a pass.
    ///
    /// # Errors
    /// [`Error::NoTrace`] if there are no operators, else as [`DynStudy::run_layers`].
    fn operators(&self, layers: &[&Parameters]) -> Result<Vec<OperatorCost>, Error>;

    /// Writes what happens in one of the forms of [`DynStudy::traces`].
    ///
    /// # Errors
    /// [`Error::NoTrace`] names the forms that there are; else as
    /// [`DynStudy::run_layers`], or what is wrong with the writer.
    fn trace(&self, layers: &[&Parameters], form: &str, out: &mut dyn std::io::Write) -> Result<(), Error>;
}

/// The form of trace that a study's operators are.
const OPERATORS: &str = "operators";

/// Makes a [`Study`] a [`DynStudy`].
pub struct Entry<S> {
    /// Found out when first asked.
    anatomy: OnceLock<Anatomy>,
    study: PhantomData<fn() -> S>,
}

impl<S: Study> Entry<S> {
    /// Nothing is known about it yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a static needs it to be const")]
    pub const fn new() -> Self {
        Self { anatomy: OnceLock::new(), study: PhantomData }
    }

    fn anatomy(&self) -> &Anatomy {
        self.anatomy.get_or_init(Anatomy::of::<S>)
    }

    /// Tells a recorder, if there is anything to tell.
    fn record(&self, layers: &[&Parameters], to: &mut dyn Recorder) -> Result<(), Error> {
        let Some(tell) = S::TIMELINE else { return Err(self.no_trace("timeline")) };
        guarded(|| {
            let study: S = read_with(self.anatomy(), layers)?;
            tell(&study, to).map_err(|it| Error::NoAnswer(it.to_string()))
        })
    }

    fn no_trace(&self, form: &str) -> Error {
        Error::NoTrace {
            study: S::NAME,
            form: form.to_owned(),
            forms: self.traces().into_iter().map(|it| it.0).collect(),
        }
    }
}

impl<S: Study> DynStudy for Entry<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn summary(&self) -> &'static str {
        S::SUMMARY
    }

    fn model(&self) -> u32 {
        S::MODEL
    }

    fn describe(&self) -> Description {
        self.anatomy().description.clone()
    }

    fn slots(&self) -> &[Slot] {
        &self.anatomy().slots
    }

    fn sums(&self) -> &'static [(&'static str, &'static [&'static str])] {
        S::SUMS
    }

    fn laws(&self) -> &'static Laws {
        &S::LAWS
    }

    fn bounds(&self, layers: &[&Parameters]) -> Result<Vec<Bound>, Error> {
        guarded(|| Ok(read_with::<S>(self.anatomy(), layers)?.bounds()))
    }

    fn tree(&self, layers: &[&Parameters]) -> Result<Value, Error> {
        let anatomy = self.anatomy();
        Ok(Value::from(&anatomy.expand(&anatomy.flatten_layers(layers)?)?))
    }

    fn run_layers(&self, layers: &[&Parameters]) -> Result<Row, Error> {
        answer::<S>(self.anatomy(), layers)
    }

    fn sweep(&self, it: &Sweep, control: &dyn Control) -> Result<Table, Error> {
        sweep(&self.asker(), it, control)
    }

    fn asker(&self) -> Asker<'_> {
        Asker::of::<S>(self.anatomy())
    }

    fn identity(&self, sweep: &Sweep) -> Result<String, Error> {
        crate::sweep::identity::<S>(self.anatomy(), sweep)
    }

    fn anchored(&self, parameters: &Parameters, folder: &Path) -> Parameters {
        let mut parameters = parameters.clone();
        self.anatomy().anchor(&mut parameters, folder);
        parameters
    }

    fn anchored_axis(&self, path: &str, values: &[Value], folder: &Path) -> Vec<Value> {
        let mut values = values.to_vec();
        if let Some(slot) = self.anatomy().slot(path) {
            for it in &mut values {
                self.anatomy().anchor_value(slot, it, folder);
            }
        }
        values
    }

    fn traces(&self) -> Vec<(&'static str, &'static str)> {
        let timeline: &[(&str, &str)] = match S::TIMELINE {
            Some(_) => &[
                ("perfetto", "Chrome trace JSON, for ui.perfetto.dev"),
                ("csv", "a line for each span: group, track, name, category, start, end, details"),
            ],
            None => &[],
        };
        let operators =
            S::OPERATORS.map(|_| (OPERATORS, "time of each operator of prompt and token by cause, as CSV"));
        let own = S::TRACES.iter().map(|it| (it.name, it.summary));
        timeline.iter().copied().chain(operators).chain(own).collect()
    }

    fn timeline(&self, layers: &[&Parameters]) -> Result<Timeline, Error> {
        let mut kept = Kept::default();
        self.record(layers, &mut kept)?;
        Ok(kept.0)
    }

    fn operators(&self, layers: &[&Parameters]) -> Result<Vec<OperatorCost>, Error> {
        let Some(tell) = S::OPERATORS else { return Err(self.no_trace(OPERATORS)) };
        guarded(|| {
            let study: S = read_with(self.anatomy(), layers)?;
            tell(&study).map(merged).map_err(|it| Error::NoAnswer(it.to_string()))
        })
    }

    fn trace(&self, layers: &[&Parameters], form: &str, out: &mut dyn std::io::Write) -> Result<(), Error> {
        if let Some(own) = S::TRACES.iter().find(|it| it.name == form) {
            return guarded(|| {
                let study: S = read_with(self.anatomy(), layers)?;
                (own.write)(&study, out).map_err(|it| match it.into_io() {
                    Ok(error) => Error::Write(error),
                    Err(it) => Error::NoAnswer(it.to_string()),
                })
            });
        }
        match form {
            OPERATORS => Ok(write_operators(&self.operators(layers)?, out)?),
            _ if S::TIMELINE.is_none() => Err(self.no_trace(form)),
            "perfetto" => {
                let mut writer = Perfetto::new(out);
                let has_failed = Perfetto::has_failed;
                let told = self.record(layers, &mut WhileWritten { to: &mut writer, has_failed });
                // What the writer says comes first.
                writer.finish()?;
                told
            }
            "csv" => {
                let mut writer = Csv::new(out);
                let told =
                    self.record(layers, &mut WhileWritten { to: &mut writer, has_failed: Csv::has_failed });
                writer.finish()?;
                told
            }
            other => Err(self.no_trace(other)),
        }
    }
}
