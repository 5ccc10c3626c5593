//! Which studies there are.

use std::marker::PhantomData;
use std::sync::OnceLock;

use memscape_study::Study;

use crate::describe::Description;
use crate::error::{Error, hint};
use crate::parameters::{Anatomy, Parameters};
use crate::sweep::{Control, Sweep, answer, sweep};
use crate::table::Table;

/// Lists studies by type, each with a static of its own to remember what was
/// found out about it.
macro_rules! register {
    ($($study:ty,)*) => {
        static REGISTRY: &[&dyn DynStudy] = &[$({
            static ENTRY: Entry<$study> = Entry::new();
            &ENTRY
        }),*];
    };
}

// Every study: one line each.
register! {
    memscape_pim::GemvStudy,
    memscape_pim::TokenStudy,
    memscape_pim::RegretStudy,
    memscape_ondevice::LayoutStudy,
    memscape_ondevice::CapacityStudy,
    memscape_ondevice::RooflineStudy,
    memscape_ondevice::PrefillStudy,
    memscape_ondevice::GemvStudy,
    memscape_ondevice::DecodeStudy,
    memscape_ondevice::InferenceStudy,
    memscape_ndp::InferenceStudy,
    memscape_ndp::PartitionStudy,
    memscape_ndp::PredictorStudy,
    memscape_ndp::ActivityStudy,
    memscape_npu::KernelStudy,
    memscape_npu::GemmStudy,
    memscape_npu::WorkloadStudy,
    memscape_npu::SearchStudy,
    memscape_npu::BalanceStudy,
    memscape_riscv::CensusStudy,
    memscape_riscv::KernelStudy,
    memscape_riscv::GemmStudy,
    memscape_riscv::InferenceStudy,
}

/// All studies.
#[must_use]
pub fn studies() -> &'static [&'static dyn DynStudy] {
    REGISTRY
}

/// The study of this name.
///
/// # Errors
/// [`Error::UnknownStudy`] suggests the nearest name.
pub fn study(name: &str) -> Result<&'static dyn DynStudy, Error> {
    let found = REGISTRY.iter().find(|it| it.name() == name);
    found.copied().ok_or_else(|| Error::UnknownStudy {
        name: name.to_owned(),
        hint: hint(name, REGISTRY.iter().map(|it| it.name())),
    })
}

/// A study of known type with these parameters, for what only that type can do,
/// such as writing a trace.
///
/// # Errors
/// [`Error`] names the parameter at fault.
pub fn read<S: Study>(parameters: &Parameters) -> Result<S, Error> {
    let anatomy = Anatomy::of::<S>();
    let mut tree = anatomy.expand(&anatomy.flatten(parameters)?)?;
    Ok(S::deserialize(&mut tree)?)
}

/// One answer: column and value, in order.
pub type Row = Vec<(String, serde_json::Value)>;

/// A study whose type is not known, as a command line or a notebook has it.
pub trait DynStudy: Send + Sync {
    /// What it is called, for example `pim.gemv`.
    fn name(&self) -> &'static str;

    /// One line for a list.
    fn summary(&self) -> &'static str;

    /// Its parameters and columns.
    fn describe(&self) -> Description;

    /// Answers one question.
    ///
    /// # Errors
    /// [`Error`] names the parameter at fault, or says how parameters
    /// contradict each other.
    fn run(&self, parameters: &Parameters) -> Result<Row, Error>;

    /// Answers the question from row `first` of a sweep on. The table has a
    /// column per axis, the answer's columns, and `error`: why a row has no
    /// answer, else null. It is not complete if the sweep was cancelled.
    ///
    /// # Errors
    /// [`Error`] if the base or an axis is wrong as a whole; a point that is
    /// wrong is a row.
    fn sweep_from(&self, first: u64, sweep: &Sweep, control: &dyn Control) -> Result<Table, Error>;

    /// Answers the question at every point.
    ///
    /// # Errors
    /// As [`DynStudy::sweep_from`].
    fn sweep(&self, sweep: &Sweep, control: &dyn Control) -> Result<Table, Error> {
        self.sweep_from(0, sweep, control)
    }
}

/// Makes a [`Study`] a [`DynStudy`].
pub struct Entry<S> {
    /// Found out when first asked.
    anatomy: OnceLock<Anatomy>,
    study: PhantomData<fn() -> S>,
}

impl<S: Study> Entry<S> {
    /// The one line that registers a study.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "made once, in a static")]
    pub const fn new() -> Self {
        Self { anatomy: OnceLock::new(), study: PhantomData }
    }

    fn anatomy(&self) -> &Anatomy {
        self.anatomy.get_or_init(Anatomy::of::<S>)
    }
}

impl<S: Study> DynStudy for Entry<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn summary(&self) -> &'static str {
        S::SUMMARY
    }

    fn describe(&self) -> Description {
        self.anatomy().description.clone()
    }

    fn run(&self, parameters: &Parameters) -> Result<Row, Error> {
        answer::<S>(self.anatomy(), parameters)
    }

    fn sweep_from(&self, first: u64, it: &Sweep, control: &dyn Control) -> Result<Table, Error> {
        sweep::<S>(self.anatomy(), it, first, control)
    }
}
