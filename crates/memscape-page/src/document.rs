//! The module and the pages around it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::view::View;

/// One module, as notebooks need it; the parts stand in the order of use.
const MODULE: &str = concat!(
    include_str!("../assets/draw.js"),
    include_str!("../assets/code.js"),
    include_str!("../assets/form.js"),
    include_str!("../assets/figure.js"),
    include_str!("../assets/study.js"),
    include_str!("../assets/table.js"),
    include_str!("../assets/start.js"),
);

const STYLES: &str = include_str!("../assets/explorer.css");

/// The JavaScript module that draws every view: an ES module whose default export is an
/// anywidget, which reads `spec` and `bytes` from its model.
#[must_use]
pub fn module() -> &'static str {
    MODULE
}

/// The module's style sheet.
#[must_use]
pub fn styles() -> &'static str {
    STYLES
}

/// A page by itself: an HTML file that holds the module and what it shows, and asks nobody.
/// Of a study that is one answer, so that grids and tables make better ones.
#[must_use]
pub fn document(view: &View) -> String {
    let spec = in_script(&view.spec());
    let bytes = if view.bytes().is_empty() { String::new() } else { STANDARD.encode(view.bytes()) };
    // A module that stands in a page cannot be imported, so the call follows in the same one.
    let call = "whole(document.querySelector(\"main\"), \
                JSON.parse(document.getElementById(\"spec\").textContent), \
                document.getElementById(\"bytes\").textContent);";
    frame(
        &view.title(),
        &format!("<style>\n{STYLES}</style>"),
        &format!(
            "<main></main>\n<script type=\"application/json\" id=\"spec\">{spec}</script>\n\
             <script type=\"text/plain\" id=\"bytes\">{bytes}</script>\n\
             <script type=\"module\">\n{MODULE}\n{call}\n</script>"
        ),
    )
}

/// The page that a server answers; all else it fetches.
pub(crate) fn served(title: &str) -> String {
    frame(
        title,
        "<link rel=\"stylesheet\" href=\"explorer.css\">",
        "<main></main>\n<script type=\"module\" src=\"start.js\"></script>",
    )
}

/// What starts the page that a server answers.
pub(crate) const START: &str =
    "import { page } from \"./explorer.js\";\npage(document.querySelector(\"main\"));\n";

/// A page that says why there is none.
pub(crate) fn refusal(status: &str, reason: &str) -> String {
    frame(status, "", &format!("<h1>{}</h1>\n<p>{}</p>", escaped(status), escaped(reason)))
}

fn frame(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>memscape: {}</title>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n",
        escaped(title)
    )
}

/// JSON that no HTML parser takes for the end of its script.
fn in_script(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use memscape_explore::{Column, Table};

    use super::*;
    use crate::table::TableView;

    #[test]
    fn what_a_table_says_stays_text() {
        let texts = Column::Text(vec![Some("</script><b>".to_owned()), Some("<!--".to_owned())]);
        let table = Table::from_columns([("a", texts)]).unwrap();
        let page = document(&TableView::new(&table).unwrap().into());
        assert!(!page.contains("</script><b>"));
        assert!(!page.contains("<!--\""));
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(refusal("400", "<i>").contains("&lt;i&gt;"));
    }

    #[test]
    fn the_module_ends_no_script() {
        assert!(!MODULE.contains("</script") && !MODULE.contains("<!--"));
        assert!(!STYLES.contains("</style"));
        assert!(MODULE.contains("export default { render };"));
    }
}
