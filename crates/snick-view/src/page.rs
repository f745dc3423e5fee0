//! The page of a report: a viewer and its data in one file.

use std::fmt::Write as _;

use crate::svg::Quoted;

/// The scripts of the viewer, each behind those that it imports.
const SCRIPTS: [&str; 16] = [
    include_str!("../assets/dom.js"),
    include_str!("../assets/numbers.js"),
    include_str!("../assets/expression.js"),
    include_str!("../assets/model.js"),
    include_str!("../assets/scopes.js"),
    include_str!("../assets/layout.js"),
    include_str!("../assets/slices.js"),
    include_str!("../assets/search.js"),
    include_str!("../assets/minimap.js"),
    include_str!("../assets/graph.js"),
    include_str!("../assets/panel.js"),
    include_str!("../assets/sizes.js"),
    include_str!("../assets/table.js"),
    include_str!("../assets/treemap.js"),
    include_str!("../assets/findings.js"),
    include_str!("../assets/viewer.js"),
];

/// The viewer as one JavaScript module, which exports `mount(element, data)`: it shows data of the schema `snick.view/1`
/// in an element of any page that has [`viewer_style`], as high as what it is in.
///
/// ```
/// assert!(snick_view::viewer_script().ends_with("export { mount };\n"));
/// ```
pub fn viewer_script() -> String {
    let mut script = joined();
    script.push_str("export { mount };\n");
    script
}

/// The style sheet of the viewer.
pub fn viewer_style() -> &'static str {
    include_str!("../assets/viewer.css")
}

/// The modules as one: what one exports, the others see.
fn joined() -> String {
    let lines = SCRIPTS.iter().flat_map(|script| script.lines());
    let mut joined = String::new();
    for line in lines.filter(|line| !line.starts_with("import ")) {
        let _ = writeln!(joined, "{}", line.strip_prefix("export ").unwrap_or(line));
    }
    joined
}

/// A page that shows data of the schema `snick.view/1`. It is one file and loads nothing else.
///
/// ```
/// let page = snick_view::page("a < b", r#"{"schema":"snick.view/1","name":"</script>"}"#);
/// assert!(page.contains("<title>a &lt; b</title>") && page.contains(r"\u003c/script>"));
/// ```
pub fn page(title: &str, data: &str) -> String {
    // A `<` is in texts alone, where JSON has another way to write it: no text can end the element, or begin another.
    let data = data.trim_end().replace('<', "\\u003c");
    let (title, style, script) = (Quoted(title), viewer_style(), joined());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<title>{title}</title>\n<style>\nhtml, body, #viewer {{ height: 100%; margin: 0; }}\n{style}</style>\n</head>\n\
         <body>\n<div id=\"viewer\"></div>\n<noscript>This page needs JavaScript.</noscript>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script type=\"module\">\n{script}\
         mount(document.getElementById(\"viewer\"), JSON.parse(document.getElementById(\"data\").textContent));\n\
         </script>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_titles_cannot_leave_their_elements() {
        let hostile = r#"{"name":"</script><script>alert(1)</script><!--"}"#;
        let page = page("</title><script>", hostile);
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
        assert_eq!(count, SCRIPTS.len() + 1);
    }
}
