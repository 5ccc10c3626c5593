//! Any table as a figure in the papers' look.

use memscape_explore::Table;
use memscape_papers::Error;
use memscape_plot::style::{DISTINCT, LOOKS};
use memscape_plot::{Chart, Figure, Mark, Reference};

use super::check::{MOST_PANELS, too_many};
use super::drawing::{Drawing, Kind};
use super::labels::is_change;
use super::looks::{Looks, MOST_SERIES, Seen};
use super::missing::parts;
use super::rows::{Panel, Place, Rows, in_order, is_numeric};

/// More points make a file that no program shows.
const MOST_ROWS: usize = 100_000;

impl Drawing {
    /// Draws a table. Rows that lack a value, such as those with an error, have no mark: bars and heat maps
    /// say `n/a` in their place, and under other figures stands how many there are. A bar of several parts has
    /// a length only if each has a value. Off a front are rows of which the column `feasible` says no.
    ///
    /// Times and energies have the prefix that suits them, whatever their column's.
    ///
    /// # Errors
    /// [`Error::Explore`] for a column that is not there or holds no numbers,
    /// [`Error::BadChart`] for a table without rows, or rows that would be drawn over each
    /// other, [`Error::Plot`] for what cannot be drawn.
    pub fn draw(&self, table: &Table) -> Result<Figure, Error> {
        if self.y.is_empty() {
            return Err(Error::BadChart("give at least one column as `y`".to_owned()));
        }
        if table.height() > MOST_ROWS {
            return Err(Error::BadChart(format!(
                "the table has {} rows, and a figure shows at most {MOST_ROWS}; filter it, or draw its front",
                table.height()
            )));
        }
        let of = self.subject(table);
        for column in self.labels.keys().filter(|it| of.as_deref() != Some(it)) {
            table.column(column)?;
        }
        self.check_units(table)?;
        let rows = Rows::of(self, table)?;
        self.check_used(rows.kind)?;
        let mut figure = if self.wide { Figure::two_columns() } else { Figure::one_column() };
        figure = figure.title(&self.title).style(self.style).one_legend();
        self.check_band(table)?;
        let panels = in_order(rows.all.iter().map(|it| (it.facet.clone(), it.facet_rank)));
        if panels.len() > MOST_PANELS {
            return Err(too_many(
                "panels",
                panels.len(),
                MOST_PANELS,
                self.facet.as_deref().unwrap_or("facet"),
            ));
        }
        let in_row = self.in_row(panels.len());
        if in_row < panels.len() {
            figure = figure.columns(in_row);
        }
        let looks = self.looks(&rows, &panels)?;
        figure = figure.caption(self.caption_of(table, &rows, &looks, &panels));
        for panel in &panels {
            let title = match &self.facet {
                Some(column) if is_numeric(table, column) => self.counted(column, panel),
                Some(_) => panel.clone(),
                None => String::new(),
            };
            let here = rows.all.iter().filter(|it| it.facet == *panel).collect();
            let up = rows.up(panel);
            let panel = Panel { table, rows: &rows, here, own: looks.of_panel(panel), up };
            figure = figure.panel(title, self.chart(&panel)?);
        }
        // Panels of a tornado may be of different things.
        let shared = !self.own_axes && self.kind != Some(Kind::Tornado) && !self.is_of_several_units(table);
        Ok(if shared { figure.share_axes() } else { figure })
    }

    fn chart(&self, panel: &Panel<'_>) -> Result<Chart, Error> {
        match panel.rows.kind {
            Kind::Bars => self.bars(panel),
            Kind::Lines => self.curves(panel, Mark::LineAndPoints),
            Kind::Points => self.curves(panel, Mark::Points),
            Kind::Heatmap => self.heat_map(panel),
            Kind::Front => self.front(panel),
            Kind::Stacked => self.stacked(panel),
            Kind::Tornado => self.tornado(panel),
        }
    }

    /// What has a colour of its own. Bars keep their place also where none of a series has a value.
    fn looks(&self, rows: &Rows, panels: &[String]) -> Result<Looks, Error> {
        let places = rows.places.iter().filter(|it| panels.contains(&it.facet));
        let seen = |it: &Place| Seen { series: it.series.clone(), rank: it.rank, facet: it.facet.clone() };
        let seen: Vec<Seen> = match rows.kind {
            Kind::Heatmap | Kind::Tornado => return Ok(Looks::default()),
            Kind::Bars => places.map(seen).collect(),
            Kind::Lines | Kind::Points | Kind::Front => places.filter(|it| it.known).map(seen).collect(),
            Kind::Stacked => {
                let known = parts(rows);
                places
                    .filter(|it| known.contains(&(it.facet.as_str(), it.series.as_str())))
                    .map(seen)
                    .collect()
            }
        };
        let column = self.series.as_deref().unwrap_or("series");
        // Of bars alone, colours are all there is to tell them apart, and strokes across them.
        let (unlike, most) = match rows.kind {
            Kind::Bars | Kind::Stacked => (DISTINCT.len(), MOST_SERIES),
            Kind::Points | Kind::Front => (LOOKS, LOOKS),
            Kind::Lines | Kind::Heatmap | Kind::Tornado => (LOOKS, MOST_SERIES),
        };
        Looks::of(&seen, unlike, most).map_err(|there_are| too_many("series", there_are, most, column))
    }

    /// What a panel's values are. Panels of several units have axes of their own, others one.
    pub(super) fn y_label(&self, Panel { table, rows, here, up, .. }: &Panel<'_>) -> String {
        let own = self.is_of_several_units(table);
        let lines = rows.all.iter().filter(|it| !own || it.facet == here[0].facet).map(|it| it.line);
        match (&self.subjects(table, lines)[..], &self.y[..]) {
            ([of], all) if all.iter().all(|it| is_change(it)) && !self.labels.contains_key(of) => {
                let what = if let [y] = all { y } else { "change" };
                up.label_of(what, of)
            }
            ([of], _) => self.called(of, *up),
            ([], [y]) => self.called(y, *up),
            ([], _) => up.common_label(&self.y),
            (of, _) => up.common_label(of),
        }
    }

    pub(super) fn references(&self, panel: &Panel<'_>) -> impl Iterator<Item = Reference> {
        let factor = panel.up.factor;
        self.reference.iter().map(move |(name, line)| line.times(factor).named(name))
    }
}
