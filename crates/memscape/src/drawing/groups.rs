//! Figures over names: bars beside and on top of each other, around a base, and heat maps.

use memscape_papers::Error;
use memscape_plot::{Chart, GroupedBars, HeatMap, Scale, Series, StackedBars, Tornado};

use super::check::too_many;
use super::drawing::{Drawing, OF};
use super::labels::Prefix;
use super::missing::without_a_part;
use super::rows::{Panel, in_order};

/// The column that a tornado's bars start from.
const BASE: &str = "base";
/// The columns of the answers at the low and at the high end of a parameter.
const ENDS: [&str; 2] = ["at_low", "at_high"];
/// More cannot be seen.
const MOST_GROUPS: usize = 200;

impl Drawing {
    pub(super) fn bars(&self, panel: &Panel<'_>) -> Result<Chart, Error> {
        let Panel { here, own, .. } = panel;
        let groups = self.groups(panel)?;
        let x_label = self.called(&self.x, Prefix::default());
        let mut bars =
            GroupedBars::new(self.y_label(panel), groups.clone()).x_label(x_label).scale(scale(self.log.y));
        for (name, look) in own {
            let values =
                groups.iter().map(|group| self.one(panel, group, name)).collect::<Result<Vec<_>, _>>()?;
            bars.series.push(Series::new(*name, values).looking(*look));
        }
        bars.references.extend(self.references(panel));
        for (series, (name, _)) in bars.series.iter_mut().zip(own) {
            let ends = |group: &String| {
                here.iter().find(|it| it.group == *group && it.series == *name).and_then(|it| it.ends)
            };
            if self.band.is_some() {
                series.spread = groups.iter().map(ends).collect();
            }
        }
        Ok(bars.into())
    }

    pub(super) fn stacked(&self, panel: &Panel<'_>) -> Result<Chart, Error> {
        let Panel { rows, here, own, .. } = panel;
        if self.series.is_some() && self.y.len() > 1 {
            return Err(Error::BadChart(
                "a stack has the columns `y` or the values of `series` as its parts; give one of them, and `facet` for \
                 the other"
                    .to_owned(),
            ));
        }
        let groups = self.groups(panel)?;
        let x_label = self.called(&self.x, Prefix::default());
        let mut bars = StackedBars::new(self.y_label(panel), groups.clone()).x_label(x_label);
        let unknown = without_a_part(rows, &here[0].facet);
        if groups.iter().all(|it| unknown.contains(it.as_str())) {
            return Err(Error::BadChart(
                "every bar lacks the value of a part, so that none has a length; give 0 where there is no such part, leave \
                 its column out, or filter the table"
                    .to_owned(),
            ));
        }
        for (name, look) in own {
            let value = |group: &String| {
                let value = self.one(panel, group, name)?;
                Ok(value.filter(|_| !unknown.contains(group.as_str())))
            };
            let values = groups.iter().map(value).collect::<Result<Vec<_>, Error>>()?;
            bars.series.push(Series::new(*name, values).looking(*look));
        }
        Ok(bars.into())
    }

    /// Rows by what they do to the answer, most first.
    pub(super) fn tornado(&self, panel: &Panel<'_>) -> Result<Chart, Error> {
        let Panel { table, here, .. } = panel;
        let [low, high] = &self.y[..] else {
            return Err(Error::BadChart(
                "a tornado goes from one column to another; give both as `y`, such as `at_low` and `at_high`"
                    .to_owned(),
            ));
        };
        if self.series.is_some() {
            return Err(Error::BadChart(
                "a tornado has no `series`; give each value a panel by `facet`".to_owned(),
            ));
        }
        let (bases, names) = (table.f64(BASE)?, self.groups(panel)?);
        let rows = |name: &String| here.iter().filter(|it| it.group == *name).collect::<Vec<_>>();
        let mut ends: Vec<(String, [Option<f64>; 2])> = Vec::new();
        for name in &names {
            let own = rows(name);
            let end = |column: &String| {
                own.iter().filter(|it| it.column == *column).map(|it| it.y).collect::<Vec<_>>()
            };
            let [lows, highs] = [end(low), end(high)];
            if lows.len() > 1 || highs.len() > 1 {
                return Err(self.ambiguous(table, own[0].line, ""));
            }
            ends.push((name.clone(), [lows.first().copied(), highs.first().copied()]));
        }
        let base = here.first().and_then(|it| bases[it.line]);
        let Some(base) = base
            .filter(|base| here.iter().all(|it| bases[it.line].is_some_and(|it| it.total_cmp(base).is_eq())))
        else {
            return Err(Error::BadChart(format!(
                "a tornado has one `{BASE}`, and the rows have several or none; give each a panel by `facet` (such as `of`), \
                 or filter the table"
            )));
        };
        let base = base * panel.up.factor;
        let swing =
            |ends: &[Option<f64>; 2]| ends.iter().flatten().map(|it| (it - base).abs()).fold(0.0, f64::max);
        ends.sort_by(|a, b| swing(&b.1).total_cmp(&swing(&a.1)));
        let of = table.text(OF).ok().and_then(|it| here.first().and_then(|row| it[row.line].clone()));
        let of = of.map_or_else(|| self.y_label(panel), |it| self.called(&it, panel.up));
        let mut chart = Tornado::new(of, base);
        // Others are not the answers at the ends of a parameter.
        if [low.as_str(), high.as_str()] != ENDS {
            chart.called = Some([low, high].map(|it| self.short(it)));
        }
        Ok(ends.into_iter().fold(chart, |chart, (name, [low, high])| chart.row(name, low, high)).into())
    }

    pub(super) fn heat_map(&self, panel: &Panel<'_>) -> Result<Chart, Error> {
        let Panel { rows: all, here, .. } = panel;
        let Some(series) = &self.series else {
            return Err(Error::BadChart(
                "a heat map has a column across (`x`), one down (`series`) and one as colour (`y`); give `series`"
                    .to_owned(),
            ));
        };
        let columns = self.groups(panel)?;
        let rows = in_order(all.places(&here[0].facet).map(|it| (it.series.clone(), it.rank)));
        if rows.len() > MOST_GROUPS {
            return Err(too_many("rows", rows.len(), MOST_GROUPS, series));
        }
        let of_row = |row: &String| columns.iter().map(|it| self.one(panel, it, row)).collect();
        let values = rows.iter().map(of_row).collect::<Result<Vec<Vec<_>>, Error>>()?;
        Ok(HeatMap {
            rows,
            columns,
            values,
            row_label: self.called(series, Prefix::default()),
            column_label: self.called(&self.x, Prefix::default()),
            value_label: self.y_label(panel),
            scale: scale(self.log.y),
            ..HeatMap::default()
        }
        .into())
    }

    /// Values of `x`, as names.
    fn groups(&self, panel: &Panel<'_>) -> Result<Vec<String>, Error> {
        let Panel { rows, here, .. } = panel;
        let groups = in_order(rows.places(&here[0].facet).map(|it| (it.group.clone(), it.x)));
        if groups.len() > MOST_GROUPS {
            return Err(too_many("groups", groups.len(), MOST_GROUPS, &self.x));
        }
        Ok(groups)
    }

    /// The one row of a group and a series, if there is any.
    fn one(&self, panel: &Panel<'_>, group: &str, series: &str) -> Result<Option<f64>, Error> {
        let mut found = panel.here.iter().filter(|it| it.group == group && it.series == series);
        let first = found.next();
        if found.next().is_some() {
            return Err(self.ambiguous(panel.table, first.map_or(0, |it| it.line), series));
        }
        Ok(first.map(|it| it.y))
    }
}

fn scale(log: bool) -> Scale {
    if log { Scale::Log10 } else { Scale::Linear }
}
