//! Answers as columns: each field of a flat struct goes to the end of its own
//! typed vector, without a row ever existing.

use std::collections::HashMap;

use memscape_study::Study;
use polars::prelude::{
    BooleanChunked, ChunkFullNull, ChunkTake, Float64Chunked, IdxCa, IdxSize, Int64Chunked, IntoColumn,
    NewChunkedArray, StringChunked,
};
use rayon::prelude::*;
use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeMap, SerializeStruct, Serializer};
use serde_json::Value;

use crate::error::Error;
use crate::expression::Datum;
use crate::schema::{Kind, columns_of};

/// The answers of consecutive points.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    pub(crate) builders: Vec<ColumnBuilder>,
    rows: usize,
    /// Row and text of each point without an answer.
    errors: Vec<(usize, String)>,
}

/// One column that grows.
#[derive(Debug, Clone)]
pub(crate) struct ColumnBuilder {
    pub(crate) name: String,
    values: Values,
    /// Whether each row has a value; empty as long as all have.
    present: Vec<bool>,
}

#[derive(Debug, Clone)]
enum Values {
    Float(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
    Text(Texts),
}

/// Texts, each distinct one stored once.
#[derive(Debug, Clone, Default)]
struct Texts {
    distinct: Vec<Box<str>>,
    codes: Vec<IdxSize>,
    index: HashMap<Box<str>, IdxSize>,
}

impl Columns {
    /// No rows yet; the columns are those of the study's answer.
    pub(crate) fn of<S: Study>() -> Self {
        let column = |(name, _, kind)| ColumnBuilder::new(name, kind);
        let builders = columns_of::<S::Answer>().into_iter().map(column).collect();
        Self { builders, rows: 0, errors: Vec::new() }
    }

    /// These columns; row and text of each point without an answer, in order.
    pub(crate) fn from_parts(builders: Vec<ColumnBuilder>, errors: Vec<(usize, String)>) -> Self {
        let rows = builders.first().map_or(0, ColumnBuilder::len);
        Self { builders, rows, errors }
    }

    /// One row for each index, each index at most once.
    pub(crate) fn gather(&self, indices: &[u32]) -> Self {
        let builders = self.builders.par_iter().map(|it| it.gather(indices)).collect();
        let errors = if self.errors.is_empty() { Vec::new() } else { self.gather_errors(indices) };
        Self { builders, rows: indices.len(), errors }
    }

    fn gather_errors(&self, indices: &[u32]) -> Vec<(usize, String)> {
        let texts: HashMap<usize, &String> = self.errors.iter().map(|(row, it)| (*row, it)).collect();
        let error = |(row, index): (usize, &u32)| Some((row, (*texts.get(&(*index as usize))?).clone()));
        indices.iter().enumerate().filter_map(error).collect()
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether a row has no answer.
    pub(crate) fn has_error(&self, row: usize) -> bool {
        self.error(row).is_some()
    }

    /// Why a row has no answer, if it has none.
    pub(crate) fn error(&self, row: usize) -> Option<&str> {
        let at = self.errors.binary_search_by_key(&row, |it| it.0).ok()?;
        Some(&self.errors[at].1)
    }

    /// No rows again.
    pub(crate) fn clear(&mut self) {
        for column in &mut self.builders {
            column.truncate(0);
        }
        self.errors.clear();
        self.rows = 0;
    }

    /// Adds a row without an answer.
    pub(crate) fn push_error(&mut self, reason: &impl ToString) {
        for column in &mut self.builders {
            column.truncate(self.rows);
            column.push_null();
        }
        self.errors.push((self.rows, reason.to_string()));
        self.rows += 1;
    }

    /// Adds a row: the answer, or nulls and why there is none.
    pub(crate) fn push<A: Serialize>(&mut self, answer: Result<A, Error>) {
        match answer {
            Ok(answer) => {
                match answer.serialize(RowSerializer { columns: &mut self.builders, check: self.rows == 0 }) {
                    Ok(()) => self.rows += 1,
                    Err(NotAnAnswer(problem)) => self.push_error(&problem),
                }
            }
            Err(error) => self.push_error(&error),
        }
    }

    /// Adds the rows of `other`, which has the same columns.
    pub(crate) fn append(&mut self, other: Self) {
        for (column, other) in self.builders.iter_mut().zip(other.builders) {
            column.append(other);
        }
        self.errors.extend(other.errors.into_iter().map(|(row, error)| (self.rows + row, error)));
        self.rows += other.rows;
    }

    /// The same of many others, column by column on all threads.
    pub(crate) fn append_all(&mut self, others: Vec<Self>) {
        let mut pieces: Vec<Vec<ColumnBuilder>> = self.builders.iter().map(|_| Vec::new()).collect();
        for other in others {
            self.errors.extend(other.errors.into_iter().map(|(row, error)| (self.rows + row, error)));
            self.rows += other.rows;
            for (all, piece) in pieces.iter_mut().zip(other.builders) {
                all.push(piece);
            }
        }
        let add = |(column, pieces): (&mut ColumnBuilder, Vec<ColumnBuilder>)| {
            for it in pieces {
                column.append(it);
            }
        };
        self.builders.par_iter_mut().zip(pieces).for_each(add);
    }

    /// Makes room for `rows` in all.
    pub(crate) fn reserve(&mut self, rows: usize) {
        for column in &mut self.builders {
            column.reserve(rows.saturating_sub(self.rows));
        }
    }

    /// The answer's columns, then `error`.
    pub(crate) fn into_polars(self) -> Vec<polars::prelude::Column> {
        let mut columns: Vec<_> = self.builders.into_par_iter().map(ColumnBuilder::into_polars).collect();
        let errors = if self.errors.is_empty() {
            StringChunked::full_null("error".into(), self.rows)
        } else {
            let mut texts = vec![None; self.rows];
            for (row, error) in &self.errors {
                texts[*row] = Some(error.as_str());
            }
            StringChunked::from_slice_options("error".into(), &texts)
        };
        columns.push(errors.into_column());
        columns
    }

    /// The only row, or why it has no answer.
    pub(crate) fn into_row(self) -> Result<Vec<(String, Value)>, String> {
        match self.errors.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(self.builders.into_iter().map(|it| (it.name.clone(), it.first())).collect()),
        }
    }
}

impl ColumnBuilder {
    pub(crate) fn new(name: String, kind: Kind) -> Self {
        let values = match kind {
            Kind::Float => Values::Float(Vec::new()),
            Kind::Int => Values::Int(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Text => Values::Text(Texts::default()),
        };
        Self { name, values, present: Vec::new() }
    }

    /// What it holds.
    pub(crate) fn kind(&self) -> Kind {
        match &self.values {
            Values::Float(_) => Kind::Float,
            Values::Int(_) => Kind::Int,
            Values::Bool(_) => Kind::Bool,
            Values::Text(_) => Kind::Text,
        }
    }

    /// One cell, as formulas see it.
    #[expect(clippy::cast_precision_loss, reason = "formulas have floats only")]
    pub(crate) fn datum(&self, row: usize) -> Datum<'_> {
        if self.present.get(row) == Some(&false) {
            return Datum::Null;
        }
        match &self.values {
            Values::Float(it) => Datum::Number(it[row]),
            Values::Int(it) => Datum::Number(it[row] as f64),
            Values::Bool(it) => Datum::Bool(it[row]),
            Values::Text(it) => Datum::Text(&it.distinct[it.codes[row] as usize]),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Float(it) => it.len(),
            Values::Int(it) => it.len(),
            Values::Bool(it) => it.len(),
            Values::Text(it) => it.codes.len(),
        }
    }

    pub(crate) fn reserve(&mut self, rows: usize) {
        match &mut self.values {
            Values::Float(it) => it.reserve(rows),
            Values::Int(it) => it.reserve(rows),
            Values::Bool(it) => it.reserve(rows),
            Values::Text(it) => it.codes.reserve(rows),
        }
    }

    fn truncate(&mut self, rows: usize) {
        match &mut self.values {
            Values::Float(it) => it.truncate(rows),
            Values::Int(it) => it.truncate(rows),
            Values::Bool(it) => it.truncate(rows),
            Values::Text(it) => it.codes.truncate(rows),
        }
        self.present.truncate(rows);
    }

    pub(crate) fn push_null(&mut self) {
        if self.present.is_empty() {
            self.present = vec![true; self.len()];
        }
        self.present.push(false);
        match &mut self.values {
            Values::Float(it) => it.push(0.0),
            Values::Int(it) => it.push(0),
            Values::Bool(it) => it.push(false),
            Values::Text(it) => it.codes.push(0),
        }
    }

    #[inline]
    fn pushed(&mut self) {
        if !self.present.is_empty() {
            self.present.push(true);
        }
    }

    #[inline]
    pub(crate) fn push_float(&mut self, value: f64) -> Result<(), NotAnAnswer> {
        let Values::Float(values) = &mut self.values else { return Err(self.unfit(value)) };
        if !value.is_finite() {
            return Err(NotAnAnswer(format!("`{}` came out {value}", self.name)));
        }
        values.push(value);
        self.pushed();
        Ok(())
    }

    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "a float column holds floats")]
    pub(crate) fn push_int(&mut self, value: i64) -> Result<(), NotAnAnswer> {
        match &mut self.values {
            Values::Int(values) => values.push(value),
            Values::Float(values) => values.push(value as f64),
            _ => return Err(self.unfit(value)),
        }
        self.pushed();
        Ok(())
    }

    #[inline]
    pub(crate) fn push_bool(&mut self, value: bool) -> Result<(), NotAnAnswer> {
        let Values::Bool(values) = &mut self.values else { return Err(self.unfit(value)) };
        values.push(value);
        self.pushed();
        Ok(())
    }

    #[inline]
    pub(crate) fn push_text(&mut self, value: &str) -> Result<(), NotAnAnswer> {
        let Values::Text(texts) = &mut self.values else { return Err(self.unfit(value)) };
        texts.push(value);
        self.pushed();
        Ok(())
    }

    #[cold]
    fn unfit(&self, value: impl std::fmt::Display) -> NotAnAnswer {
        NotAnAnswer(format!("`{}` came out {value}, which its column cannot hold", self.name))
    }

    pub(crate) fn append(&mut self, other: Self) {
        if !self.present.is_empty() || !other.present.is_empty() {
            self.present.resize(self.len(), true);
            let rows = other.len();
            self.present.extend(other.present);
            self.present.resize(self.len() + rows, true);
        }
        match (&mut self.values, other.values) {
            (Values::Float(it), Values::Float(other)) => it.extend(other),
            (Values::Int(it), Values::Int(other)) => it.extend(other),
            (Values::Bool(it), Values::Bool(other)) => it.extend(other),
            (Values::Text(it), Values::Text(other)) => it.append(&other),
            _ => unreachable!("chunks of one sweep have the same columns"),
        }
    }

    /// Repeats each row `each` times, the whole `times` times, and keeps `rows`
    /// rows from `first` on, without making the others.
    pub(crate) fn spread(&self, each: u64, first: u64, rows: usize) -> Self {
        let len = self.len();
        let start = usize::try_from(first / each % len.max(1) as u64).unwrap_or(0);
        let done = first % each;
        let indices = || {
            let runs = std::iter::successors(Some(start), move |it| Some((it + 1) % len));
            let lengths = std::iter::once(each - done).chain(std::iter::repeat(each));
            runs.zip(lengths)
        };
        self.taken(rows, indices)
    }

    /// One row for each index.
    pub(crate) fn gather(&self, indices: &[u32]) -> Self {
        self.taken(indices.len(), || indices.iter().map(|it| (*it as usize, 1)))
    }

    /// `rows` rows out of runs of equal ones: their index here and length.
    fn taken<I: Iterator<Item = (usize, u64)>>(&self, rows: usize, runs: impl Fn() -> I) -> Self {
        fn fill<T: Copy>(rows: usize, values: &[T], runs: impl Iterator<Item = (usize, u64)>) -> Vec<T> {
            let mut out = Vec::with_capacity(rows);
            for (index, length) in runs {
                if out.len() == rows {
                    break;
                }
                let length = usize::try_from(length).unwrap_or(usize::MAX).min(rows - out.len());
                out.resize(out.len() + length, values[index]);
            }
            out
        }
        let values = match &self.values {
            Values::Float(it) => Values::Float(fill(rows, it, runs())),
            Values::Int(it) => Values::Int(fill(rows, it, runs())),
            Values::Bool(it) => Values::Bool(fill(rows, it, runs())),
            Values::Text(it) => Values::Text(Texts {
                distinct: it.distinct.clone(),
                codes: fill(rows, &it.codes, runs()),
                index: HashMap::new(),
            }),
        };
        let present = if self.present.is_empty() { Vec::new() } else { fill(rows, &self.present, runs()) };
        Self { name: self.name.clone(), values, present }
    }

    pub(crate) fn into_polars(self) -> polars::prelude::Column {
        let name = self.name.as_str().into();
        // Polars keeps a bit per row, as its own truth values do.
        let present = (!self.present.is_empty()).then(|| {
            let bits = BooleanChunked::from_slice("".into(), &self.present);
            bits.downcast_as_array().values().clone()
        });
        match self.values {
            Values::Float(it) => Float64Chunked::from_vec_validity(name, it, present).into_column(),
            Values::Int(it) => Int64Chunked::from_vec_validity(name, it, present).into_column(),
            Values::Bool(it) if self.present.is_empty() => {
                BooleanChunked::from_slice(name, &it).into_column()
            }
            Values::Bool(it) => {
                let optional = it.iter().zip(self.present).map(|(it, present)| present.then_some(*it));
                BooleanChunked::from_iter_options(name, optional).into_column()
            }
            // Gathers views of the distinct texts: cheap however long they are.
            Values::Text(it) if it.distinct.is_empty() => {
                StringChunked::full_null(name, it.codes.len()).into_column()
            }
            Values::Text(it) => {
                let distinct = it.distinct.iter().map(|it| &**it);
                let distinct = StringChunked::from_iter_values(name, distinct);
                let codes = IdxCa::from_vec_validity("".into(), it.codes, present);
                distinct.take(&codes).expect("each code is the index of a text").into_column()
            }
        }
    }

    fn first(&self) -> Value {
        if self.present.first() == Some(&false) {
            return Value::Null;
        }
        match &self.values {
            Values::Float(it) => it.first().copied().into(),
            Values::Int(it) => it.first().copied().into(),
            Values::Bool(it) => it.first().copied().into(),
            Values::Text(it) => it.codes.first().map(|code| it.distinct[*code as usize].to_string()).into(),
        }
    }
}

impl Texts {
    fn push(&mut self, text: &str) {
        // Neighbours are often equal, and then nothing is hashed.
        let last = self.codes.last().copied();
        let same = last.filter(|it| self.distinct.get(*it as usize).is_some_and(|it| **it == *text));
        let code = same.unwrap_or_else(|| self.code(text));
        self.codes.push(code);
    }

    fn code(&mut self, text: &str) -> IdxSize {
        if let Some(code) = self.index.get(text) {
            return *code;
        }
        let code = IdxSize::try_from(self.distinct.len()).expect("fewer texts than rows of a frame");
        self.distinct.push(text.into());
        self.index.insert(text.into(), code);
        code
    }

    fn append(&mut self, other: &Self) {
        let codes: Vec<IdxSize> = other.distinct.iter().map(|it| self.code(it)).collect();
        // The code of a null row may stand for no text at all.
        let code = |it: &IdxSize| codes.get(*it as usize).copied().unwrap_or(0);
        self.codes.extend(other.codes.iter().map(code));
    }
}

/// Why an answer is not a row of its table.
#[derive(Debug)]
pub(crate) struct NotAnAnswer(pub(crate) String);

impl std::fmt::Display for NotAnAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotAnAnswer {}

impl serde::ser::Error for NotAnAnswer {
    fn custom<T: std::fmt::Display>(problem: T) -> Self {
        Self(problem.to_string())
    }
}

/// Refuses what is neither a value of a cell nor, with `$cell`, looked for.
macro_rules! refuse {
    ($what:literal: $($method:ident($($argument:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$ok, NotAnAnswer> {
            Err(NotAnAnswer::custom($what))
        }
    )*};
}

/// Takes a flat struct.
struct RowSerializer<'a> {
    columns: &'a mut [ColumnBuilder],
    /// Whether to compare names: once per chunk is enough.
    check: bool,
}

impl<'a> Serializer for RowSerializer<'a> {
    type Ok = ();
    type Error = NotAnAnswer;
    type SerializeSeq = Impossible<(), NotAnAnswer>;
    type SerializeTuple = Impossible<(), NotAnAnswer>;
    type SerializeTupleStruct = Impossible<(), NotAnAnswer>;
    type SerializeTupleVariant = Impossible<(), NotAnAnswer>;
    type SerializeMap = FieldSerializer<'a>;
    type SerializeStruct = FieldSerializer<'a>;
    type SerializeStructVariant = Impossible<(), NotAnAnswer>;

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<FieldSerializer<'a>, NotAnAnswer> {
        if len != self.columns.len() {
            return Err(NotAnAnswer(format!("an answer of {len} fields, not {}", self.columns.len())));
        }
        Ok(FieldSerializer { columns: self.columns.iter_mut(), check: self.check })
    }

    /// A struct into which another is flattened.
    fn serialize_map(self, _: Option<usize>) -> Result<FieldSerializer<'a>, NotAnAnswer> {
        Ok(FieldSerializer { columns: self.columns.iter_mut(), check: self.check })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotAnAnswer> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), NotAnAnswer> {
        Err(NotAnAnswer::custom("an answer must be a flat struct"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotAnAnswer> {
        Err(NotAnAnswer::custom("an answer must be a flat struct"))
    }

    refuse! { "an answer must be a flat struct":
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> (); serialize_i16(i16) -> (); serialize_i32(i32) -> (); serialize_i64(i64) -> ();
        serialize_u8(u8) -> (); serialize_u16(u16) -> (); serialize_u32(u32) -> (); serialize_u64(u64) -> ();
        serialize_f32(f32) -> (); serialize_f64(f64) -> (); serialize_char(char) -> ();
        serialize_str(&str) -> (); serialize_bytes(&[u8]) -> ();
        serialize_none() -> (); serialize_unit() -> (); serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}

struct FieldSerializer<'a> {
    columns: std::slice::IterMut<'a, ColumnBuilder>,
    check: bool,
}

impl SerializeStruct for FieldSerializer<'_> {
    type Ok = ();
    type Error = NotAnAnswer;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), NotAnAnswer> {
        match self.columns.next() {
            Some(column) if !self.check || column.name == key => value.serialize(Cell(column)),
            _ => Err(NotAnAnswer(format!("an answer whose schema does not have `{key}` in its place"))),
        }
    }

    fn end(self) -> Result<(), NotAnAnswer> {
        Ok(())
    }
}

impl SerializeMap for FieldSerializer<'_> {
    type Ok = ();
    type Error = NotAnAnswer;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), NotAnAnswer> {
        Err(NotAnAnswer::custom("an answer must be a struct"))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), NotAnAnswer> {
        Err(NotAnAnswer::custom("an answer must be a struct"))
    }

    #[inline]
    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), NotAnAnswer> {
        match self.columns.next() {
            Some(column) if self.check && serde_json::to_value(key).is_ok_and(|it| it != *column.name) => {
                Err(NotAnAnswer(format!(
                    "an answer that has another field where its schema has `{}`",
                    column.name
                )))
            }
            Some(column) => value.serialize(Cell(column)),
            None => Err(NotAnAnswer::custom("an answer of more fields than its schema has")),
        }
    }

    fn end(self) -> Result<(), NotAnAnswer> {
        match self.columns.len() {
            0 => Ok(()),
            short => Err(NotAnAnswer(format!("an answer that lacks {short} fields of its schema"))),
        }
    }
}

/// Takes one field's value.
struct Cell<'a>(&'a mut ColumnBuilder);

macro_rules! integers {
    ($($method:ident $type:ty),*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<(), NotAnAnswer> {
            self.0.push_int(value.into())
        }
    )*};
}

impl Serializer for Cell<'_> {
    type Ok = ();
    type Error = NotAnAnswer;
    type SerializeSeq = Impossible<(), NotAnAnswer>;
    type SerializeTuple = Impossible<(), NotAnAnswer>;
    type SerializeTupleStruct = Impossible<(), NotAnAnswer>;
    type SerializeTupleVariant = Impossible<(), NotAnAnswer>;
    type SerializeMap = Impossible<(), NotAnAnswer>;
    type SerializeStruct = Impossible<(), NotAnAnswer>;
    type SerializeStructVariant = Impossible<(), NotAnAnswer>;

    integers!(
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32
    );

    #[inline]
    fn serialize_u64(self, value: u64) -> Result<(), NotAnAnswer> {
        match i64::try_from(value) {
            Ok(value) => self.0.push_int(value),
            Err(_) => Err(self.0.unfit(value)),
        }
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result<(), NotAnAnswer> {
        self.0.push_float(value.into())
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<(), NotAnAnswer> {
        self.0.push_float(value)
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), NotAnAnswer> {
        self.0.push_bool(value)
    }

    fn serialize_char(self, value: char) -> Result<(), NotAnAnswer> {
        self.0.push_text(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), NotAnAnswer> {
        self.0.push_text(value)
    }

    #[inline]
    fn serialize_none(self) -> Result<(), NotAnAnswer> {
        self.0.push_null();
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotAnAnswer> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), NotAnAnswer> {
        self.0.push_text(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotAnAnswer> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotAnAnswer> {
        Err(NotAnAnswer(format!("`{}` is not a plain value", self.0.name)))
    }

    refuse! { "a column of an answer must hold plain values":
        serialize_bytes(&[u8]) -> (); serialize_unit() -> (); serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
