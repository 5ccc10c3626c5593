//! A table: a Polars frame with the few operations that experiments need.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

use memscape_study::{Timeline, TimelineSpan, Unknown};
use polars::prelude::{
    AnyValue, BooleanChunked, DataFrame, DataType, Float64Chunked, IdxCa, IdxSize, Int64Chunked, IntoColumn,
    KeyValueMetadata, NewChunkedArray, ParquetCompression, ParquetReader, ParquetWriter, SerReader,
    StatisticsOptions, StringChunked,
};
use serde_json::Value;

use crate::error::{Error, INTERNAL};
use crate::given::{open_plain, read_text};
use crate::guard::guarded;
use crate::parquet;
use crate::whole::{Failure, write_atomically};

/// Named columns of equal length.
#[derive(Debug, Clone)]
pub struct Table {
    frame: DataFrame,
    complete: bool,
}

/// A column's values as plain data; `None` where there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Finite numbers.
    Float(Vec<Option<f64>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Texts.
    Text(Vec<Option<String>>),
    /// Truth values.
    Bool(Vec<Option<bool>>),
}

/// What a table's file holds, as its name's ending says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    /// `.parquet`.
    Parquet,
    /// `.csv`.
    Csv,
}

impl TableForm {
    /// That of a file of this name; none if it ends otherwise, or in capitals.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "parquet" => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// The same of what has to be a table.
    pub(crate) fn named(path: &Path) -> Result<Self, Error> {
        Self::of(path).ok_or_else(|| Error::file(path, &"a table's file ends in .parquet or .csv"))
    }
}

/// Where a CSV's note stands.
pub(crate) fn beside(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".json");
    path.with_file_name(name)
}

/// The key of what a Parquet file says of its question.
pub(crate) const NOTE: &str = "memscape";

/// Rows of a file that are compressed together; a number of its own, so that a
/// file depends on its rows alone and not on how they were made.
pub(crate) const ROW_GROUP: usize = 1 << 18;

/// Rows that are texts at the same time: all of a long table's would take a hundred
/// times the memory of its numbers.
const CSV_ROWS: usize = 1 << 14;

/// Rows that a notebook shows.
const HTML_ROWS: usize = 20;

/// What a Parquet file says of its columns, and how they are packed.
#[derive(Clone, Copy, Default)]
struct Encoding {
    statistics: StatisticsOptions,
    compression: ParquetCompression,
}

impl Table {
    pub(crate) fn new(frame: DataFrame, complete: bool) -> Self {
        Self { frame, complete }
    }

    /// The same rows, as part of what was asked for.
    #[must_use]
    pub fn interrupted(self) -> Self {
        Self { complete: false, ..self }
    }

    /// A table of these columns.
    ///
    /// # Errors
    /// [`Error::BadColumn`] if columns differ in length, share a name, or hold
    /// NaN or infinity.
    pub fn from_columns<N: Into<String>>(
        columns: impl IntoIterator<Item = (N, Column)>,
    ) -> Result<Self, Error> {
        let mut height = None;
        let mut all: Vec<polars::prelude::Column> = Vec::new();
        for (name, column) in columns {
            let name = name.into();
            let length = column.len();
            if *height.get_or_insert(length) != length {
                let problem = format!("it has {length} rows, the others {}", height.unwrap_or_default());
                return Err(Error::BadColumn { name, problem });
            }
            if all.iter().any(|it| it.name().as_str() == name) {
                return Err(Error::BadColumn { name, problem: "there are two of this name".to_owned() });
            }
            all.push(column.into_polars(name)?);
        }
        Ok(Self::new(DataFrame::new(height.unwrap_or(0), all)?, true))
    }

    /// A table around a frame made elsewhere.
    #[must_use]
    pub fn from_frame(frame: DataFrame) -> Self {
        Self::new(frame, true)
    }

    /// The frame.
    #[must_use]
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// The frame, for good.
    #[must_use]
    pub fn into_frame(self) -> DataFrame {
        self.frame
    }

    /// Whether every point of the sweep has its row; false if it was cancelled.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How many rows there are.
    #[must_use]
    pub fn height(&self) -> usize {
        self.frame.height()
    }

    /// The columns' names, in order.
    #[must_use]
    pub fn column_names(&self) -> Vec<&str> {
        self.frame.columns().iter().map(|it| it.name().as_str()).collect()
    }

    /// The column that is meant by a name which a parameter may have, too: `answer.x` is the column `x`.
    #[must_use]
    pub fn column_of<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix("answer.").filter(|it| self.column_names().contains(it)).unwrap_or(name)
    }

    /// A column as plain data.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], or [`Error::BadColumn`] if it is of a type
    /// that no study makes.
    pub fn column(&self, name: &str) -> Result<Column, Error> {
        let column = self.find(name)?;
        let bad = |_| Error::BadColumn {
            name: name.to_owned(),
            problem: format!("it holds {}, not numbers, texts or truth values", column.dtype()),
        };
        let series = column.as_materialized_series();
        Ok(match column.dtype() {
            DataType::Float64 => Column::Float(series.f64()?.iter().collect()),
            DataType::Int64 => Column::Int(series.i64()?.iter().collect()),
            DataType::Boolean => Column::Bool(series.bool()?.iter().collect()),
            DataType::String => Column::Text(series.str()?.iter().map(|it| it.map(str::to_owned)).collect()),
            DataType::Null => Column::Text(vec![None; self.height()]),
            dtype if dtype.is_integer() => {
                Column::Int(series.strict_cast(&DataType::Int64).map_err(bad)?.i64()?.iter().collect())
            }
            dtype if dtype.is_float() => {
                Column::Float(series.strict_cast(&DataType::Float64).map_err(bad)?.f64()?.iter().collect())
            }
            _ => return Err(bad(polars::error::PolarsError::NoData("".into()))),
        })
    }

    /// A numeric column, whole numbers as floats.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], or [`Error::BadColumn`] if it is not numeric.
    #[expect(clippy::cast_precision_loss, reason = "asked for as floats")]
    pub fn f64(&self, name: &str) -> Result<Vec<Option<f64>>, Error> {
        match self.column(name)? {
            Column::Float(it) => Ok(it),
            Column::Int(it) => Ok(it.into_iter().map(|it| it.map(|it| it as f64)).collect()),
            Column::Text(it) if it.iter().all(Option::is_none) => Ok(vec![None; it.len()]),
            Column::Text(_) => Err(not_numeric(name, "texts")),
            Column::Bool(_) => Err(not_numeric(name, "truth values")),
        }
    }

    /// A column as texts, numbers as they are printed: labels for groups.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`].
    pub fn text(&self, name: &str) -> Result<Vec<Option<String>>, Error> {
        Ok(self.column(name)?.into_texts())
    }

    /// The rows where a column has this value; 8 equals 8.0, null equals null.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`].
    pub fn filter(&self, name: &str, value: impl Into<Value>) -> Result<Self, Error> {
        let value = value.into();
        let mask: Vec<bool> = match (self.column(name)?, &value) {
            (column, Value::Null) => column.into_texts().iter().map(Option::is_none).collect(),
            (Column::Text(it), Value::String(value)) => {
                it.iter().map(|it| it.as_deref() == Some(value)).collect()
            }
            (Column::Int(it), Value::Number(value)) if value.is_i64() => {
                it.iter().map(|it| it.is_some() && *it == value.as_i64()).collect()
            }
            (Column::Float(_) | Column::Int(_), Value::Number(value)) => {
                let value = value.as_f64();
                self.f64(name)?.iter().map(|it| it.is_some() && *it == value).collect()
            }
            (Column::Bool(it), Value::Bool(value)) => it.iter().map(|it| *it == Some(*value)).collect(),
            // A number is never a text.
            _ => vec![false; self.height()],
        };
        let mask = BooleanChunked::from_slice("".into(), &mask);
        Ok(Self::new(self.frame.filter(&mask)?, self.complete))
    }

    /// These columns alone, in this order.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`].
    pub fn select(&self, names: &[&str]) -> Result<Self, Error> {
        let columns: Vec<_> = names.iter().map(|it| self.find(it).cloned()).collect::<Result<_, _>>()?;
        Ok(Self::new(DataFrame::new(self.height(), columns)?, self.complete))
    }

    /// With this column, in place of one of the same name or else at the end.
    ///
    /// # Errors
    /// [`Error::BadColumn`] if its length is not the table's, or it holds NaN
    /// or infinity.
    pub fn with_column(self, name: &str, column: Column) -> Result<Self, Error> {
        if column.len() != self.height() && !self.column_names().is_empty() {
            let problem = format!("it has {} rows, the table {}", column.len(), self.height());
            return Err(Error::BadColumn { name: name.to_owned(), problem });
        }
        if self.column_names().is_empty() {
            return Self::from_columns([(name, column)]);
        }
        let column = column.into_polars(name.to_owned())?;
        let mut columns = self.frame.columns().to_vec();
        match self.position(name) {
            Some(place) => columns[place] = column,
            None => columns.push(column),
        }
        Ok(Self::new(DataFrame::new(self.height(), columns)?, self.complete))
    }

    /// The rows of this table, then those of `other`, which has the same
    /// columns.
    ///
    /// # Errors
    /// [`Error::BadColumn`] names the first column that differs.
    pub fn concat(&self, other: &Self) -> Result<Self, Error> {
        let (mine, others) = (self.column_names(), other.column_names());
        let differs = |problem: &str, name: &str| {
            Err(Error::BadColumn { name: name.to_owned(), problem: problem.to_owned() })
        };
        if let Some(name) = mine.iter().find(|it| !others.contains(it)) {
            return differs("only the first table has it", name);
        }
        if let Some(name) = others.iter().find(|it| !mine.contains(it)) {
            return differs("only the second table has it", name);
        }
        if mine != others {
            return self.concat(&other.select(&mine)?);
        }
        for (mine, other) in self.frame.columns().iter().zip(other.frame.columns()) {
            if mine.dtype() != other.dtype() {
                let problem = format!("the tables hold {} and {}", mine.dtype(), other.dtype());
                return differs(&problem, mine.name());
            }
        }
        Ok(Self::new(self.frame.vstack(&other.frame)?, other.complete))
    }

    /// The table with columns called by the last part of their path: some tools take
    /// dots for something else. A column `answer.x` is called `answer_x`.
    ///
    /// # Errors
    /// [`Error::BadColumn`] if two columns end alike.
    pub fn with_leaf_names(&self) -> Result<Self, Error> {
        let mut frame = self.frame.clone();
        let names: Vec<String> = self.column_names().into_iter().map(leaf_name).collect();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                let path = self.column_names()[index].to_owned();
                let problem = format!("another column is called `{name}` too; keep the dotted names");
                return Err(Error::BadColumn { name: path, problem });
            }
        }
        frame.set_column_names(&names)?;
        Ok(Self::new(frame, self.complete))
    }

    /// A row for each span: `group`, `track`, `name`, `category`, `start_ns`,
    /// `end_ns`, and a column for each detail.
    ///
    /// # Errors
    /// Never, but for faults of this program.
    pub fn from_timeline(timeline: &Timeline) -> Result<Self, Error> {
        let spans = &timeline.spans;
        let texts = |pick: &dyn Fn(&TimelineSpan) -> String| {
            Column::Text(spans.iter().map(|it| Some(pick(it))).collect())
        };
        let times =
            |pick: fn(&TimelineSpan) -> f64| Column::Float(spans.iter().map(|it| Some(pick(it))).collect());
        let mut columns = vec![
            ("group", texts(&|it| timeline.tracks[it.track.index()].group.clone())),
            ("track", texts(&|it| timeline.tracks[it.track.index()].name.clone())),
            ("name", texts(&|it| it.name.clone())),
            ("category", texts(&|it| it.category.to_owned())),
            ("start_ns", times(|it| it.start.as_ns())),
            ("end_ns", times(|it| it.end.as_ns())),
        ];
        let mut details: Vec<&str> = Vec::new();
        for (key, _) in spans.iter().flat_map(|it| &it.details) {
            if !details.contains(key) {
                details.push(key);
            }
        }
        for key in details {
            let value = |it: &TimelineSpan| it.details.iter().find(|(other, _)| *other == key).map(|it| it.1);
            let values = spans.iter().map(|it| value(it).and_then(|it| i64::try_from(it).ok()));
            columns.push((key, Column::Int(values.collect())));
        }
        Self::from_columns(columns)
    }

    /// The mean of `value` over the rows of each group, nulls left out. Groups
    /// come in the order in which they first appear.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], or [`Error::BadColumn`] if `value` is not
    /// numeric.
    pub fn group_mean(&self, by: &[&str], value: &str) -> Result<Self, Error> {
        let values = self.f64(value)?;
        let keys = by.iter().map(|it| self.text(it)).collect::<Result<Vec<_>, _>>()?;
        let mut index: HashMap<Vec<Option<&str>>, usize> = HashMap::new();
        let (mut first, mut sums): (Vec<IdxSize>, Vec<(f64, u32)>) = (Vec::new(), Vec::new());
        for (row, value) in (0..).zip(values) {
            let key = keys.iter().map(|it| it[row as usize].as_deref()).collect();
            let group = *index.entry(key).or_insert_with(|| {
                first.push(row);
                sums.push((0.0, 0));
                sums.len() - 1
            });
            if let Some(value) = value {
                sums[group].0 += value;
                sums[group].1 += 1;
            }
        }
        let means = sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count)));
        let means: Vec<Option<f64>> = means.collect();
        if by.contains(&value) {
            let problem = "a group's own column has no mean; give another name".to_owned();
            return Err(Error::BadColumn { name: value.to_owned(), problem });
        }
        let groups = self.select(by)?.frame.take(&IdxCa::from_vec("".into(), first))?;
        Self::new(groups, self.complete).with_column(value, Column::Float(means))
    }

    /// The table without its `error` column, if no row has an error.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] with the first row's values and error, and how many
    /// more there are.
    pub fn without_errors(self) -> Result<Self, Error> {
        let errors = self.text("error")?;
        let failed: Vec<usize> = (0..errors.len()).filter(|it| errors[*it].is_some()).collect();
        let Some(row) = failed.first() else {
            let names: Vec<&str> = self.column_names().into_iter().filter(|it| *it != "error").collect();
            return self.select(&names);
        };
        let given = self.frame.columns().iter().filter(|it| it.name() != "error").filter_map(|it| {
            let value = it.get(*row).ok().filter(|it| !it.is_null())?;
            Some(format!("{} = {value}", it.name()))
        });
        let more = match failed.len() {
            1 => String::new(),
            count => format!(" (and {} more rows without an answer)", count - 1),
        };
        Err(Error::NoAnswer(format!(
            "row {row} ({}): {}{more}",
            given.collect::<Vec<_>>().join(", "),
            errors[*row].as_deref().unwrap_or_default()
        )))
    }

    /// Rows without an answer.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.find("error").map_or(0, |it| it.len() - it.null_count())
    }

    /// Rows whose error is a fault of this program rather than of the point.
    #[must_use]
    pub fn internal_errors(&self) -> usize {
        let errors = self.text("error").unwrap_or_default();
        errors.iter().flatten().filter(|it| it.starts_with(INTERNAL)).count()
    }

    /// A plain HTML table of the first rows, for notebooks.
    #[must_use]
    pub fn to_html(&self) -> String {
        let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escaped(text));
        let names: String = self.column_names().iter().map(|it| cell("th", it)).collect();
        let row = |row: usize| {
            let cells = self.frame.columns().iter().map(|it| cell("td", &shown(it.get(row).ok())));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let rows: String = (0..self.height().min(HTML_ROWS)).map(row).collect();
        format!(
            "<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table><p>{} rows, {} columns</p>",
            self.height(),
            self.column_names().len()
        )
    }

    /// Writes a file whose ending, `.csv` or `.parquet`, is its form.
    ///
    /// # Errors
    /// [`Error::File`] for another ending, or if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        match TableForm::named(path)? {
            TableForm::Csv => self.write_csv(path),
            TableForm::Parquet => self.write_parquet(path),
        }
    }

    /// The same, with a note: in the metadata of Parquet, in `<path>.json` beside CSV.
    pub(crate) fn write_with(&self, path: &Path, note: &str) -> Result<(), Error> {
        if TableForm::of(path) == Some(TableForm::Parquet) {
            let write = |out: &mut dyn io::Write| {
                self.to_parquet_with(out, Some(note.to_owned()), Encoding::default())
            };
            return write_atomically(path, write).map_err(|it| Error::file(path, &it));
        }
        self.write(path)?;
        let place = beside(path);
        write_atomically(&place, |out| out.write_all(note.as_bytes())).map_err(|it| Error::file(&place, &it))
    }

    /// The note of a table on disk, if it has one.
    pub(crate) fn note(path: &Path) -> Result<Option<String>, Error> {
        if TableForm::named(path)? == TableForm::Csv {
            return Ok(read_text(&beside(path)).ok());
        }
        let mut file = open_plain(path).map_err(|it| Error::file(path, &it))?;
        parquet::check(&mut file).map_err(|it| Error::file(path, &it))?;
        guarded(|| {
            let mut reader = ParquetReader::new(file);
            let about = reader.get_metadata().map_err(|it| Error::file(path, &it))?;
            let notes = about.key_value_metadata().iter().flatten();
            Ok(notes.filter(|it| it.key == NOTE).find_map(|it| it.value.clone()))
        })
    }

    /// Writes Parquet; the file appears when it is whole.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write_parquet(&self, path: &Path) -> Result<(), Error> {
        write_atomically(path, |out| self.to_parquet(out)).map_err(|it| Error::file(path, &it))
    }

    fn to_parquet(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.to_parquet_with(out, None, Encoding::default())
    }

    fn to_parquet_with(
        &self,
        out: &mut dyn io::Write,
        note: Option<String>,
        encoding: Encoding,
    ) -> io::Result<()> {
        let mut frame = self.frame.clone();
        frame.rechunk_mut();
        let note = note.map(|it| KeyValueMetadata::from_static(vec![(NOTE.to_owned(), it)]));
        let failure = Failure::default();
        let writer = ParquetWriter::new(failure.remembering(out))
            .with_row_group_size(Some(ROW_GROUP))
            .with_statistics(encoding.statistics)
            .with_compression(encoding.compression)
            .with_key_value_metadata(note);
        writer
            .finish(&mut frame)
            .map(|_| ())
            .map_err(|it| failure.take().unwrap_or_else(|| io::Error::other(it)))
    }

    /// Appends the bytes of a Parquet file.
    pub(crate) fn encode_parquet(&self, to: &mut Vec<u8>, note: Option<String>) -> Result<(), Error> {
        // Nobody looks for rows in it by their values, and most of it are keys, which nothing makes smaller.
        let fast =
            Encoding { statistics: StatisticsOptions::empty(), compression: ParquetCompression::Lz4Raw };
        self.to_parquet_with(to, note, fast).map_err(Error::Write)
    }

    /// Reads the bytes of a Parquet file: some of its columns, or all.
    ///
    /// # Errors
    /// Says how they are damaged.
    pub(crate) fn decode_parquet(
        mut from: io::Cursor<&[u8]>,
        columns: Option<&[&str]>,
    ) -> Result<Self, String> {
        parquet::check(&mut from)?;
        let columns = columns.map(|all| all.iter().map(|it| (*it).to_owned()).collect());
        let read = || Ok(Self::from_frame(ParquetReader::new(from).with_columns(columns).finish()?));
        guarded(read).map_err(|it| it.to_string())
    }

    /// Reads Parquet.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn read_parquet(path: &Path) -> Result<Self, Error> {
        let mut file = open_plain(path).map_err(|it| Error::file(path, &it))?;
        parquet::check(&mut file).map_err(|it| Error::file(path, &it))?;
        // A file of others may be damaged in a way that Polars does not expect.
        let read = || ParquetReader::new(file).finish().map_err(|it| Error::file(path, &it));
        Ok(Self::from_frame(guarded(read)?))
    }

    /// Writes CSV with a header; numbers as short as they read back exactly,
    /// nothing for null. The file appears when it is whole.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write_csv(&self, path: &Path) -> Result<(), Error> {
        let names = self.column_names();
        write_atomically(path, |out| {
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(&names).map_err(io::Error::from)?;
            self.append_csv(&mut writer)?;
            writer.flush().map_err(Error::from)
        })
        .map_err(|it| match it {
            Error::Write(error) => Error::file(path, &error),
            other => other,
        })
    }

    /// So many rows from one on.
    pub(crate) fn rows(&self, first: usize, count: usize) -> Self {
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        Self::new(self.frame.slice(first, count), self.complete)
    }

    /// Adds the rows, without a header.
    pub(crate) fn append_csv<W: io::Write>(&self, writer: &mut csv::Writer<W>) -> Result<(), Error> {
        (0..self.height()).step_by(CSV_ROWS).try_for_each(|it| self.rows(it, CSV_ROWS).append_texts(writer))
    }

    fn append_texts<W: io::Write>(&self, writer: &mut csv::Writer<W>) -> Result<(), Error> {
        let columns =
            self.column_names().into_iter().map(|it| self.text(it)).collect::<Result<Vec<_>, _>>()?;
        for row in 0..self.height() {
            let record = columns.iter().map(|it| it[row].as_deref().unwrap_or_default());
            writer.write_record(record).map_err(io::Error::from)?;
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&polars::prelude::Column, Error> {
        self.position(name).map(|it| &self.frame.columns()[it]).ok_or_else(|| Error::UnknownColumn {
            name: name.to_owned(),
            hint: Unknown::new("column", name, self.column_names()).hint(),
        })
    }

    /// Not by the hashes that a frame keeps: each cell of a Rust notebook is a library with a seed of
    /// its own, and would not find what another has looked up.
    fn position(&self, name: &str) -> Option<usize> {
        self.frame.columns().iter().position(|it| it.name() == name)
    }
}

/// Equal frames, nulls equal to nulls.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.complete == other.complete && self.frame.equals_missing(&other.frame)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.frame.fmt(f)
    }
}

impl Column {
    /// How many rows it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Float(it) => it.len(),
            Self::Int(it) => it.len(),
            Self::Text(it) => it.len(),
            Self::Bool(it) => it.len(),
        }
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What stands in a row.
    ///
    /// # Panics
    /// If it has fewer rows.
    #[must_use]
    pub fn value(&self, row: usize) -> Value {
        match self {
            Self::Float(it) => it[row].into(),
            Self::Int(it) => it[row].into(),
            Self::Text(it) => it[row].clone().into(),
            Self::Bool(it) => it[row].into(),
        }
    }

    fn into_texts(self) -> Vec<Option<String>> {
        fn printed<T>(values: Vec<Option<T>>, print: impl Fn(T) -> String) -> Vec<Option<String>> {
            values.into_iter().map(|it| it.map(&print)).collect()
        }
        match self {
            // As short as reads back exactly, and never mistaken for an integer.
            Self::Float(it) => printed(it, |it| format!("{it:?}")),
            Self::Int(it) => printed(it, |it| it.to_string()),
            Self::Text(it) => it,
            Self::Bool(it) => printed(it, |it| it.to_string()),
        }
    }

    pub(crate) fn into_polars(self, name: String) -> Result<polars::prelude::Column, Error> {
        let polars_name = name.as_str().into();
        Ok(match self {
            Self::Float(it) => {
                if let Some((row, value)) =
                    it.iter().enumerate().find_map(|(row, it)| Some((row, it.filter(|it| !it.is_finite())?)))
                {
                    let problem = format!("row {row} is {value}; a table holds finite numbers or null");
                    return Err(Error::BadColumn { name, problem });
                }
                Float64Chunked::from_slice_options(polars_name, &it).into_column()
            }
            Self::Int(it) => Int64Chunked::from_slice_options(polars_name, &it).into_column(),
            Self::Text(it) => StringChunked::from_slice_options(polars_name, &it).into_column(),
            Self::Bool(it) => BooleanChunked::from_slice_options(polars_name, &it).into_column(),
        })
    }
}

/// The last part of a path.
pub(crate) fn leaf_name(path: &str) -> String {
    match path.strip_prefix("answer.") {
        Some(column) => format!("answer_{column}"),
        None => path.rsplit('.').next().unwrap_or(path).to_owned(),
    }
}

fn not_numeric(name: &str, holds: &str) -> Error {
    Error::BadColumn { name: name.to_owned(), problem: format!("it holds {holds}, not numbers") }
}

fn shown(value: Option<AnyValue<'_>>) -> String {
    match value {
        Some(AnyValue::Float64(it)) => {
            // Five digits read well; the rest is in the frame.
            let rounded = format!("{it:.4e}").parse().unwrap_or(it);
            format!("{rounded}")
        }
        Some(AnyValue::String(it)) => it.to_owned(),
        Some(AnyValue::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let texts = |all: &[&str]| Column::Text(all.iter().map(|it| Some((*it).to_owned())).collect());
        Table::from_columns([
            ("model", texts(&["b", "a", "b", "a", "b"])),
            ("banks", Column::Int(vec![Some(8), Some(8), Some(16), Some(8), None])),
            ("speedup", Column::Float(vec![Some(1.0), Some(2.0), Some(4.0), None, Some(0.1)])),
            ("fits", Column::Bool(vec![Some(true), None, Some(false), Some(true), Some(true)])),
        ])
        .unwrap()
    }

    #[test]
    fn rows_are_found_by_value() {
        let heights = |name, values: &[Value]| -> Vec<usize> {
            values.iter().map(|it| table().filter(name, it.clone()).unwrap().height()).collect()
        };
        assert_eq!(heights("model", &["a".into(), "c".into(), 8.into()]), [2, 0, 0]);
        assert_eq!(
            heights("banks", &[8.into(), 8.0.into(), 8.5.into(), "8".into(), Value::Null]),
            [3, 3, 0, 0, 1]
        );
        assert_eq!(heights("speedup", &[4.into(), 0.1.into(), Value::Null]), [1, 1, 1]);
        assert_eq!(heights("fits", &[true.into(), false.into(), 1.into()]), [3, 1, 0]);
    }

    #[test]
    fn groups_come_in_order_of_appearance_and_leave_nulls_out() {
        let means = table().group_mean(&["model", "banks"], "speedup").unwrap();
        assert_eq!(means.column_names(), ["model", "banks", "speedup"]);
        assert_eq!(means.column("speedup").unwrap(), Column::Float([1.0, 2.0, 4.0, 0.1].map(Some).to_vec()));
        let all = table().filter("speedup", Value::Null).unwrap().group_mean(&["model"], "speedup").unwrap();
        assert_eq!(all.f64("speedup").unwrap(), [None]);
        assert!(table().group_mean(&["model"], "model").is_err());
        assert!(table().group_mean(&["speedup"], "speedup").is_err());
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let error = |it: Result<Table, Error>| it.unwrap_err().to_string();
        let nan = Column::Float(vec![Some(1.0), Some(f64::NAN)]);
        assert_eq!(
            error(Table::from_columns([("x", nan)])),
            "column `x`: row 1 is NaN; a table holds finite numbers or null"
        );
        assert_eq!(
            error(table().with_column("x", Column::Int(vec![None]))),
            "column `x`: it has 1 rows, the table 5"
        );
        let two = [("x", Column::Int(vec![])), ("x", Column::Int(vec![]))];
        assert_eq!(error(Table::from_columns(two)), "column `x`: there are two of this name");
        assert_eq!(
            error(table().select(&["speed"])),
            "the table has no column `speed`; did you mean `speedup`?"
        );
        let floats = Column::Float(vec![None; 5]);
        assert_eq!(
            error(table().concat(&table().with_column("banks", floats).unwrap())),
            "column `banks`: the tables hold i64 and f64"
        );
        let extra = table().with_column("x", Column::Int(vec![None; 5])).unwrap();
        assert_eq!(error(table().concat(&extra)), "column `x`: only the second table has it");
        assert_eq!(
            table().f64("model").unwrap_err().to_string(),
            "column `model`: it holds texts, not numbers"
        );
    }

    #[test]
    fn a_file_holds_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let (parquet, csv) = (folder.path().join("a.parquet"), folder.path().join("a.csv"));
        table().write_parquet(&parquet).unwrap();
        assert!(Table::read_parquet(&parquet).unwrap() == table());
        table().write_csv(&csv).unwrap();
        insta::assert_snapshot!(std::fs::read_to_string(&csv).unwrap(), @"
        model,banks,speedup,fits
        b,8,1.0,true
        a,8,2.0,
        b,16,4.0,false
        a,8,,true
        b,,0.1,true
        ");
        // Nothing else is left behind, and a failure leaves nothing at all.
        assert!(table().write_csv(&folder.path().join("no/such/folder.csv")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_row_without_answer_is_named() {
        let errors = |it: [Option<&str>; 5]| {
            let errors = Column::Text(it.iter().map(|it| it.map(str::to_owned)).collect());
            table().with_column("error", errors).unwrap().without_errors()
        };
        assert!(errors([None; 5]).unwrap() == table());
        assert_eq!(
            errors([None, None, Some("too many banks"), Some("x"), None]).unwrap_err().to_string(),
            "row 2 (model = \"b\", banks = 16, speedup = 4.0, fits = false): too many banks \
             (and 1 more rows without an answer)"
        );
    }
}
