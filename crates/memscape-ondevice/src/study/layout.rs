//! The study `ondevice.layout`: where a matrix lies for PIM, and what an address
//! map leaves of the bandwidth when the host reads it back in its own order.

use std::num::NonZeroU64;

use memscape_dram::stream::{Policy, serve};
use memscape_dram::{Command, Dram, DramError, Engine, Kind, Place, Yielding, constraints};
use memscape_study::{Laws, Slot, Study, StudyError};
use memscape_units::Picoseconds;
use memscape_workload::{Format, Gemv, Matrix, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{laws, slots};
use crate::cost::gemv::format_on_pim;
use crate::hardware::{BurstMap, MapText, MapTextError, PimBlocks};
use crate::mapping::layout::{HostOrder, Layout, LayoutError, Placement};

/// One weight matrix in the PIM-aware layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayoutStudy {
    /// Language model that the matrix belongs to
    pub model: Model,
    /// Which of its matrices
    pub matrix: Matrix,
    /// Rows, for a matrix of one's own (with `columns`; then `model` and `matrix` are ignored)
    pub rows: Option<NonZeroU64>,
    /// Columns, for a matrix of one's own
    pub columns: Option<NonZeroU64>,
    /// How weights are stored: `bf16`, `fp16`, `int8`, `int4`
    #[serde(deserialize_with = "format_on_pim")]
    pub format: Format,
    /// Which elements share a burst
    pub placement: Placement,
    /// The order in which the host reads the matrix back
    pub host_order: HostOrder,
    /// Columns (or rows) of the host's matrix that the copy takes together, reading across them
    /// before it goes on, no more than the matrix has, and no fewer columns than a burst holds; 1 is
    /// strictly the host's order, which opens a DRAM row for nearly every burst of one column
    pub together: NonZeroU64,
    /// How addresses spread over the DRAM, lowest first: bit slices such as
    /// `column:2 channel:* column:* bank:* rank:* row:*`, hashes such as `bank0^row0` behind
    /// them, or digits such as `bank column channel rank row`
    pub address_map: MapText,
    /// The DRAM
    pub memory: Dram,
    /// The PIM blocks
    pub pim: PimBlocks,
}

/// What `ondevice.layout` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LayoutAnswer {
    /// Rows of the matrix
    pub matrix_rows: u64,
    /// Columns of the matrix
    pub matrix_columns: u64,
    /// PIM units that it is spread over
    pub units: u64,
    /// Elements of one burst
    pub lanes: u64,
    /// Rows to whose multiple it is padded
    pub tile_rows: u64,
    /// Bursts of each unit
    pub unit_bursts: u64,
    /// DRAM rows of each bank
    pub dram_rows: u64,
    /// Those rows over the rows of a bank
    pub rows_share: f64,
    /// Bytes of the matrix
    pub weight_bytes: u64,
    /// Bytes of padding
    pub padding_bytes: u64,
    /// Bursts in a row that the copy finds at consecutive addresses, on average
    pub run_bursts: f64,
    /// Bandwidth that the DRAM sustains when one stream reads the weights so, burst by burst, by a controller that
    /// sees 64 reads ahead, opens their rows and serves first what is ready first; refresh left out
    pub read_gb_s: f64,
    /// That over the peak
    pub read_efficiency: f64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutStudyError {
    /// Only one of `rows` and `columns`.
    #[error(
        "`rows` and `columns` go together: give both for a matrix of your own, or neither for one of the model's"
    )]
    HalfShape,
    /// The memory contradicts itself.
    #[error("`memory`: {0}")]
    Memory(#[from] DramError),
    /// No layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No map.
    #[error("`address_map`: {0}")]
    Map(#[from] MapTextError),
    /// Scale factors, which have no place in the layout.
    #[error(
        "`format` is {0}; the layout has no place for scale factors, so use fp32, bf16, fp16, int8 or int4"
    )]
    Scaled(Format),
}

impl Default for LayoutStudy {
    /// The gate projection of Llama 3.2 1B on the paper's phone.
    fn default() -> Self {
        let phone = slots::phone();
        Self {
            model: slots::model(),
            matrix: Matrix::Gate,
            rows: None,
            columns: None,
            format: Format::BF16,
            placement: Placement::ColumnBursts,
            host_order: HostOrder::ColumnMajor,
            together: NonZeroU64::new(8).expect("not zero"),
            address_map: phone.address_map.clone(),
            memory: phone.memory,
            pim: phone.pim,
        }
    }
}

/// Bursts of the host's stream that are walked: enough for every row and bank to
/// come up many times.
const SAMPLE: usize = 1 << 15;

/// Reads that the controller sees ahead; queues of 32 to 64 are usual.
const LOOKAHEAD: usize = 64;

impl LayoutStudy {
    /// The matrix asked for.
    ///
    /// # Errors
    /// [`StudyError`] if the model has no such matrix or the shape is incomplete.
    pub fn shape(&self) -> Result<Gemv, StudyError> {
        match (self.rows, self.columns) {
            (Some(rows), Some(columns)) => Ok(Gemv::new(rows.get(), columns.get())?),
            (None, None) => Ok(self.model.gemv(self.matrix)?),
            _ => Err(LayoutStudyError::HalfShape.into()),
        }
    }

    /// Where it lies, and at which addresses.
    ///
    /// # Errors
    /// [`StudyError`] says what does not fit.
    pub fn layout(&self) -> Result<(Layout, BurstMap), StudyError> {
        self.memory
            .easing(&[Yielding::TrpAb, Yielding::TwtrS, Yielding::Trefi])
            .check()
            .map_err(LayoutStudyError::Memory)?;
        if self.format.scale().is_some() {
            return Err(LayoutStudyError::Scaled(self.format).into());
        }
        let shape = self.shape()?;
        let (element, placement) = (self.format.element(), self.placement);
        let layout = Layout::new(shape, element, placement, &self.memory, &self.pim, 0)?;
        let map = self.address_map.map(layout.dims).map_err(LayoutStudyError::Map)?;
        Ok((layout, map))
    }

    /// The bursts of a copy, each once, as many as [`SAMPLE`]: line and burst.
    fn bursts(&self, layout: &Layout) -> Vec<(u64, u64)> {
        let by_line = self.host_order == HostOrder::RowMajor;
        let (lines, bursts) = (layout.lines(), layout.line_bursts());
        let (outer, inner) = if by_line { (lines, bursts) } else { (bursts, lines) };
        // A line is taken as a whole, and so is a burst, however few of its columns are asked for.
        let spans = if by_line { 1 } else { self.placement.burst_columns(layout.lanes) };
        let together = self.together.get().div_ceil(spans).min(outer);
        let groups = (0..outer.div_ceil(together)).map(|it| it * together..outer.min((it + 1) * together));
        groups
            .flat_map(|group| (0..inner).flat_map(move |it| group.clone().map(move |outer| (outer, it))))
            .map(|(outer, inner)| if by_line { (outer, inner) } else { (inner, outer) })
            .take(SAMPLE)
            .collect()
    }

    /// When the slowest channel has read these bursts: each serves its own.
    fn read_time(&self, places: &[Place]) -> Result<Picoseconds, StudyError> {
        let mut slowest = Picoseconds::ZERO;
        for channel in 0..u64::from(self.memory.channels.get()) {
            let of_channel = places.iter().filter(|it| it.channel == channel);
            let reads = of_channel.map(|it| Kind::Rd.at(grouped(&self.memory, it).address()));
            slowest = slowest.max(self.serve(reads)?);
        }
        Ok(slowest)
    }

    fn serve(&self, reads: impl Iterator<Item = Command>) -> Result<Picoseconds, StudyError> {
        let mut engine = Engine::new(self.memory.geometry(), &constraints(&self.memory))?;
        Ok(serve(&mut engine, reads, LOOKAHEAD, Policy::FirstReady, &mut ())?.last)
    }
}

/// The same place with its bank in a bank group: neighbours are in different groups,
/// as controllers have it.
fn grouped(memory: &Dram, place: &Place) -> Place {
    let groups = u64::from(memory.bank_groups.get());
    Place { bank_group: place.bank % groups, bank: place.bank / groups, ..*place }
}

impl Study for LayoutStudy {
    const NAME: &'static str = "ondevice.layout";
    const SUMMARY: &'static str =
        "Where a weight matrix lies for PIM, and how fast the host can read it back";
    type Answer = LayoutAnswer;

    const LAWS: Laws = laws::LAYOUT;

    fn slots() -> Vec<Slot> {
        slots::all()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn answer(&self) -> Result<LayoutAnswer, StudyError> {
        let (layout, map) = self.layout()?;
        let bursts = self.bursts(&layout);
        let places: Vec<_> = bursts.iter().map(|it| layout.place(layout.slot(it.0, it.1))).collect();
        let numbers: Vec<_> = places.iter().map(|it| map.encode(it)).collect();
        let follows = |it: &[Option<u64>]| it[0].and_then(|it| it.checked_add(1)) == it[1];
        let jumps = numbers.windows(2).filter(|it| !follows(it)).count();

        let last_issued = self.read_time(&places)?;
        let read_ns = last_issued.as_ns() + self.memory.burst().as_f64();
        let read_gb_s = (numbers.len() as u64 * layout.burst_bytes()) as f64 / read_ns;
        Ok(LayoutAnswer {
            matrix_rows: layout.rows,
            matrix_columns: layout.columns,
            units: layout.units,
            lanes: layout.lanes,
            tile_rows: layout.tile_rows(),
            unit_bursts: layout.slots(),
            dram_rows: layout.end_row() - layout.first_row,
            rows_share: layout.end_row() as f64 / layout.dims.rows as f64,
            weight_bytes: Gemv::new(layout.rows, layout.columns)?.weight_bytes(self.format).0,
            padding_bytes: layout.padding_bytes(),
            run_bursts: numbers.len() as f64 / (jumps + 1) as f64,
            read_gb_s,
            read_efficiency: read_gb_s / self.memory.peak_gb_s().as_f64(),
        })
    }
}
