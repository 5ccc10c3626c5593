//! Inline display in evcxr notebooks.

use std::fmt::Write;

use memscape_explore::{Description, Table};
use memscape_plot::Figure;

use crate::explorer::Page;

/// Shows itself below a notebook's cell: evcxr calls this on a cell's last
/// expression.
pub trait Show {
    /// Prints the content between the marks that evcxr looks for.
    fn evcxr_display(&self);
}

impl Show for Table {
    fn evcxr_display(&self) {
        emit("text/html", &self.to_html());
    }
}

impl Show for Description {
    fn evcxr_display(&self) {
        emit("text/html", &description_html(self));
    }
}

impl Show for Figure {
    fn evcxr_display(&self) {
        match self.svg() {
            Ok(svg) => emit("image/svg+xml", &svg),
            Err(error) => emit("text/plain", &format!("the figure cannot be drawn: {error}")),
        }
    }
}

impl Show for Page {
    fn evcxr_display(&self) {
        let (url, what) = (escape(&self.url()), escape(self.what()));
        emit(
            "text/html",
            &format!("<p><a href=\"{url}\" target=\"_blank\" rel=\"noopener\">Explore {what}</a></p>"),
        );
    }
}

fn emit(mime: &str, content: &str) {
    println!("EVCXR_BEGIN_CONTENT {mime}\n{content}\nEVCXR_END_CONTENT");
}

/// A study's description as HTML: what it is, and tables that fold of what it takes and answers.
#[must_use]
pub fn description_html(description: &Description) -> String {
    let Description { name, summary, parameters, columns, .. } = description;
    let mut html = format!("<p><b>{}</b>: {}</p>\n", escape(name), escape(summary));
    unfolds(&mut html, &format!("{} parameters", parameters.len()), |html| {
        head(html, &["parameter", "default", "unit", "meaning", "allowed", "source"]);
        for it in parameters {
            let default = it.default.as_str().map_or_else(|| it.default.to_string(), str::to_owned);
            let unit = it.unit.as_deref().unwrap_or_default();
            row(html, &[&it.path, &default, unit, &it.meaning, &it.allowed, &it.source].map(escape));
        }
    });
    unfolds(&mut html, &format!("{} columns of the answer", columns.len()), |html| {
        head(html, &["column", "unit", "meaning"]);
        for it in columns {
            row(html, &[&it.name, it.unit.as_deref().unwrap_or_default(), &it.meaning].map(escape));
        }
    });
    html
}

/// A table under a line that unfolds it.
fn unfolds(html: &mut String, summary: &str, rows: impl FnOnce(&mut String)) {
    let _ = write!(html, "<details><summary>{summary}</summary>\n<table>\n");
    rows(html);
    html.push_str("</table>\n</details>\n");
}

fn head(html: &mut String, names: &[&str]) {
    let _ = writeln!(html, "<tr><th>{}</th></tr>", names.join("</th><th>"));
}

fn row(html: &mut String, cells: &[String]) {
    // Writing to a String cannot fail.
    let _ = writeln!(html, "<tr><td>{}</td></tr>", cells.join("</td><td>"));
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
