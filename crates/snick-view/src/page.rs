//! The page of a report: a single file with the viewer and its data.

use std::fmt::Write as _;

use crate::svg::Quoted;

/// The scripts of the viewer. Every script comes after the scripts that it imports.
const SCRIPTS: [&str; 28] = [
    include_str!("../assets/address.js"),
    include_str!("../assets/dom.js"),
    include_str!("../assets/numbers.js"),
    include_str!("../assets/expression.js"),
    include_str!("../assets/scopes.js"),
    include_str!("../assets/contents.js"),
    include_str!("../assets/model.js"),
    include_str!("../assets/rows.js"),
    include_str!("../assets/order.js"),
    include_str!("../assets/layout.js"),
    include_str!("../assets/links.js"),
    include_str!("../assets/slices.js"),
    include_str!("../assets/search.js"),
    include_str!("../assets/legend.js"),
    include_str!("../assets/minimap.js"),
    include_str!("../assets/boxes.js"),
    include_str!("../assets/painter.js"),
    include_str!("../assets/graph.js"),
    include_str!("../assets/weights.js"),
    include_str!("../assets/why.js"),
    include_str!("../assets/symbol.js"),
    include_str!("../assets/changes.js"),
    include_str!("../assets/panel.js"),
    include_str!("../assets/sizes.js"),
    include_str!("../assets/table.js"),
    include_str!("../assets/treemap.js"),
    include_str!("../assets/findings.js"),
    include_str!("../assets/viewer.js"),
];

/// The viewer as a JavaScript module. It exports `mount(element, data)`, which shows data of the schema
/// `snick.view/1` in an element of any page that includes [`viewer_style`]. The viewer fills the height of
/// the element.
///
/// ```
/// assert!(snick_view::viewer_script().ends_with("export { mount };\n"));
/// ```
pub fn viewer_script() -> String {
    let mut script = joined();
    script.push_str("export { mount };\n");
    script
}

/// The icon of a report and of the browser page.
const ICON: &str = include_str!("../assets/icon.svg");

/// The style sheet of the viewer.
pub fn viewer_style() -> &'static str {
    include_str!("../assets/viewer.css")
}

/// Joins all scripts into one module, in which they share a scope.
fn joined() -> String {
    let lines = SCRIPTS.iter().flat_map(|script| script.lines());
    let mut joined = String::new();
    for line in lines.filter(|line| !line.starts_with("import ")) {
        let _ = writeln!(joined, "{}", line.strip_prefix("export ").unwrap_or(line));
    }
    joined
}

/// A page that shows data of the schema `snick.view/1`. It is a single file that loads nothing else.
///
/// ```
/// let page = snick_view::page("a < b", r#"{"schema":"snick.view/1","name":"</script>"}"#);
/// assert!(page.contains("<title>a &lt; b</title>") && page.contains(r"\u003c/script>"));
/// ```
pub fn page(title: &str, data: &str) -> String {
    // In JSON, `<` only occurs in strings, where it can be escaped. Without `<`, no string can close the
    // script element or open another one.
    let data = data.trim_end().replace('<', "\\u003c");
    let title = Quoted(title).to_string();
    let icon = format!("data:image/svg+xml,{}", ICON.trim_end().replace('#', "%23"));
    let parts = [
        ("{title}", title.as_str()),
        ("{icon}", &Quoted(&icon).to_string()),
        ("{style}", viewer_style()),
        ("{data}", &data),
        ("{script}", &joined()),
    ];
    let mut page = String::new();
    let mut rest = include_str!("../assets/page.html");
    // Replaces placeholders from front to back, so that placeholders in inserted texts are ignored.
    for (mark, text) in parts {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_titles_cannot_leave_their_elements() {
        let hostile = r#"{"name":"</script><script>alert(1)</script><!--"}"#;
        let page = page("</title><script>{data}", hostile);
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<!--") && page.contains("&lt;/title&gt;"));
    }

    #[test]
    fn joined_modules_import_nothing() {
        let script = viewer_script();
        assert!(!script.contains("\nimport ") && script.matches("\nexport ").count() == 1);
        assert!(!script.contains("</script"), "it would end the element that it is in");
    }

    #[test]
    fn every_asset_is_part_of_the_viewer() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
        let count = std::fs::read_dir(folder).unwrap().count();
        // The style sheet, the page and the icon are in the same folder, but are not scripts.
        assert_eq!(count, SCRIPTS.len() + 3);
    }

    #[test]
    fn every_category_of_an_operation_has_a_name_and_a_colour_in_both_schemes() {
        let categories = include_str!("../assets/contents.js");
        for entry in snick_ir::ops::reference() {
            let category = entry.name.category;
            if category == snick_ir::Category::Source {
                continue;
            }
            assert!(categories.contains(&format!("[\"{}\", ", category.name())), "{category:?}");
            let colour = format!("--category-{}: #", category.name());
            assert_eq!(viewer_style().matches(&colour).count(), 2, "{category:?}");
        }
    }
}
