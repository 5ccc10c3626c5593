//! What happens when: one form for every event engine, and its writers.
//!
//! An engine tells a [`Recorder`] of tracks and spans while it runs.
//! [`Timeline`] keeps them, [`Perfetto`] and [`Csv`] write them away at once, so
//! that a long run needs no memory.

use std::io::{self, Write};

use memscape_units::Picoseconds;

/// Something that is busy or not: a bank, a thread, a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(u32);

impl TrackId {
    /// Its place among the tracks, in the order in which they were declared.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something that one track does for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// What it is, for example `MAC` or `block 3`.
    pub name: &'a str,
    /// Its kind, for colours and filters; may be empty.
    pub category: &'static str,
    /// When it begins.
    pub start: Picoseconds,
    /// When it is over.
    pub end: Picoseconds,
    /// More to know about it, such as the row of a command.
    pub details: &'a [(&'static str, u64)],
}

/// Who listens to an event engine.
pub trait Recorder {
    /// Declares a track, below a group such as a channel or a device. Tracks come
    /// before spans.
    fn track(&mut self, group: &str, name: &str) -> TrackId;

    /// Takes a span. Spans may come in any order.
    fn span(&mut self, track: TrackId, span: Span<'_>);
}

/// All tracks and spans, kept.
///
/// ```
/// use memscape_study::{Recorder, Span, Timeline};
/// use memscape_units::Picoseconds;
///
/// let mut timeline = Timeline::default();
/// let gpu = timeline.track("machine", "GPU");
/// let (start, end) = (Picoseconds(0), Picoseconds(2_000));
/// timeline.span(gpu, Span { name: "attention", category: "", start, end, details: &[] });
/// assert_eq!(timeline.end(), Picoseconds(2_000));
/// assert_eq!(timeline.busy(gpu), Picoseconds(2_000));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// In the order in which they were declared.
    pub tracks: Vec<Track>,
    /// In the order in which they came.
    pub spans: Vec<TimelineSpan>,
}

/// A track of a [`Timeline`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// What it belongs to.
    pub group: String,
    /// What it is called.
    pub name: String,
}

/// A [`Span`] that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineSpan {
    /// Who is busy.
    pub track: TrackId,
    /// With what.
    pub name: String,
    /// Its kind.
    pub category: &'static str,
    /// When it begins.
    pub start: Picoseconds,
    /// When it is over.
    pub end: Picoseconds,
    /// More to know about it.
    pub details: Vec<(&'static str, u64)>,
}

impl Timeline {
    /// When the last span is over.
    #[must_use]
    pub fn end(&self) -> Picoseconds {
        self.spans.iter().map(|it| it.end).max().unwrap_or_default()
    }

    /// How long a track is busy, spans of which do not overlap.
    #[must_use]
    pub fn busy(&self, track: TrackId) -> Picoseconds {
        self.spans.iter().filter(|it| it.track == track).map(|it| it.end - it.start).sum()
    }

    /// Tells another recorder everything.
    pub fn replay(&self, to: &mut dyn Recorder) {
        let tracks: Vec<TrackId> = self.tracks.iter().map(|it| to.track(&it.group, &it.name)).collect();
        for it in &self.spans {
            let (name, details) = (it.name.as_str(), it.details.as_slice());
            let span = Span { name, category: it.category, start: it.start, end: it.end, details };
            to.span(tracks[it.track.index()], span);
        }
    }
}

impl Recorder for Timeline {
    fn track(&mut self, group: &str, name: &str) -> TrackId {
        let id = next_id(self.tracks.len());
        self.tracks.push(Track { group: group.to_owned(), name: name.to_owned() });
        id
    }

    fn span(&mut self, track: TrackId, span: Span<'_>) {
        let Span { name, category, start, end, details } = span;
        let (name, details) = (name.to_owned(), details.to_vec());
        self.spans.push(TimelineSpan { track, name, category, start, end, details });
    }
}

fn next_id(tracks: usize) -> TrackId {
    TrackId(u32::try_from(tracks).expect("fewer tracks than 2^32"))
}

/// A writer that remembers its first error, is silent from then on, and tells it
/// in the end.
#[derive(Debug)]
pub struct Output<W> {
    writer: W,
    error: Option<io::Error>,
}

impl<W: Write> Output<W> {
    /// Nothing is written yet.
    pub const fn new(writer: W) -> Self {
        Self { writer, error: None }
    }

    /// Writes something, unless something has failed before.
    pub fn put(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(&mut self.writer).err();
        }
    }

    /// Whether something has failed, so that no more is written.
    pub const fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.put(W::flush);
        self.error.map_or(Ok(self.writer), Err)
    }
}

/// Writes Chrome trace JSON, as [Perfetto](https://ui.perfetto.dev) and
/// `chrome://tracing` read it: a process for each group, a thread for each track.
/// Times are in microseconds, as the format wants them, exact to the picosecond.
#[derive(Debug)]
pub struct Perfetto<W> {
    output: Output<W>,
    groups: Vec<String>,
    /// Group of each track.
    tracks: Vec<usize>,
    first: bool,
}

impl<W: Write> Perfetto<W> {
    /// Begins the document.
    pub fn new(writer: W) -> Self {
        let mut output = Output::new(writer);
        output.put(|it| write!(it, r#"{{"displayTimeUnit":"ns","traceEvents":["#));
        Self { output, groups: Vec::new(), tracks: Vec::new(), first: true }
    }

    fn put(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        self.output.put(|it| {
            writeln!(it, "{comma}")?;
            write(it)
        });
    }

    fn name(&mut self, what: &str, group: usize, track: usize, name: &str) {
        let name = json_text(name);
        self.put(|it| {
            write!(it, r#"{{"ph":"M","name":"{what}","pid":{group},"tid":{track},"args":{{"name":{name}}}}}"#)
        });
    }

    /// Whether the writer has failed: what follows goes nowhere.
    pub const fn has_failed(&self) -> bool {
        self.output.has_failed()
    }

    /// Ends the document, flushes and returns the writer.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.put(|it| writeln!(it, "\n]}}"));
        self.output.finish()
    }
}

impl<W: Write> Recorder for Perfetto<W> {
    fn track(&mut self, group: &str, name: &str) -> TrackId {
        let known = self.groups.iter().position(|it| it == group);
        let group = known.unwrap_or_else(|| {
            self.groups.push(group.to_owned());
            self.name("process_name", self.groups.len() - 1, 0, group);
            self.groups.len() - 1
        });
        let id = next_id(self.tracks.len());
        self.tracks.push(group);
        self.name("thread_name", group, id.index(), name);
        id
    }

    fn span(&mut self, track: TrackId, span: Span<'_>) {
        let (group, id) = (self.tracks[track.index()], track.index());
        let microseconds = |it: Picoseconds| format!("{}.{:06}", it.0 / 1_000_000, it.0 % 1_000_000);
        let (start, length) = (microseconds(span.start), microseconds(span.end.saturating_sub(span.start)));
        let (name, category) = (json_text(span.name), span.category);
        self.put(|it| {
            write!(it, r#"{{"ph":"X","name":{name},"pid":{group},"tid":{id},"ts":{start},"dur":{length}"#)?;
            if !category.is_empty() {
                write!(it, r#","cat":"{category}""#)?;
            }
            for (index, (key, value)) in span.details.iter().enumerate() {
                write!(it, r#"{}"{key}":{value}"#, if index == 0 { r#","args":{"# } else { "," })?;
            }
            write!(it, "{}", if span.details.is_empty() { "}" } else { "}}" })
        });
    }
}

/// Quoted and escaped.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a line for each span: `group,track,name,category,start_ns,end_ns,details`,
/// the details as `key=value` with semicolons between.
#[derive(Debug)]
pub struct Csv<W> {
    output: Output<W>,
    tracks: Vec<String>,
}

impl<W: Write> Csv<W> {
    /// Writes the header.
    pub fn new(writer: W) -> Self {
        let mut output = Output::new(writer);
        output.put(|it| writeln!(it, "group,track,name,category,start_ns,end_ns,details"));
        Self { output, tracks: Vec::new() }
    }

    /// Whether the writer has failed: what follows goes nowhere.
    pub const fn has_failed(&self) -> bool {
        self.output.has_failed()
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<W> {
        self.output.finish()
    }
}

impl<W: Write> Recorder for Csv<W> {
    fn track(&mut self, group: &str, name: &str) -> TrackId {
        let id = next_id(self.tracks.len());
        self.tracks.push(format!("{},{}", csv_text(group), csv_text(name)));
        id
    }

    fn span(&mut self, track: TrackId, span: Span<'_>) {
        let details: Vec<String> = span.details.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let ns = |it: Picoseconds| format!("{}.{:03}", it.0 / 1_000, it.0 % 1_000);
        let (track, name) = (&self.tracks[track.index()], csv_text(span.name));
        let (start, end, details) = (ns(span.start), ns(span.end), details.join(";"));
        self.output.put(|it| writeln!(it, "{track},{name},{},{start},{end},{details}", span.category));
    }
}

/// Quoted where it must be.
fn csv_text(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(to: &mut dyn Recorder) {
        let bank = to.track("channel 0", "bank \"1\", upper");
        let bus = to.track("channel 0", "bus");
        let span = |name, start, end, details| Span {
            name,
            category: "stream",
            start: Picoseconds(start),
            end: Picoseconds(end),
            details,
        };
        to.span(bank, span("ACT", 1, 18_001, &[("row", 7), ("column", 8)]));
        to.span(bus, Span { category: "", ..span("RD", 18_001, 20_001, &[]) });
    }

    #[test]
    fn perfetto_reads_as_json_to_the_picosecond() {
        let mut writer = Perfetto::new(Vec::new());
        recorded(&mut writer);
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 5);
        assert_eq!(events[1]["args"]["name"], "bank \"1\", upper");
        assert_eq!(events[3]["args"]["column"], 8);
        assert!(text.contains(r#""ts":0.000001,"dur":0.018000"#), "{text}");
    }

    #[test]
    fn a_kept_timeline_replays_what_was_recorded() {
        let mut timeline = Timeline::default();
        recorded(&mut timeline);
        let csv = |write: &dyn Fn(&mut dyn Recorder)| {
            let mut writer = Csv::new(Vec::new());
            write(&mut writer);
            String::from_utf8(writer.finish().unwrap()).unwrap()
        };
        assert_eq!(csv(&|it| timeline.replay(it)), csv(&|it| recorded(it)));
        assert_eq!(
            csv(&|it| recorded(it)).lines().nth(1).unwrap(),
            "channel 0,\"bank \"\"1\"\", upper\",ACT,stream,0.001,18.001,row=7;column=8"
        );
        assert_eq!((timeline.end(), timeline.spans.len()), (Picoseconds(20_001), 2));
    }

    #[test]
    fn an_error_of_the_writer_is_told_in_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = Perfetto::new(Full);
        recorded(&mut writer);
        assert!(writer.finish().is_err());
    }
}
