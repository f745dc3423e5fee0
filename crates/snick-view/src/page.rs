//! The page of a report: a single file with the viewer and its data.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;

use crate::svg::Quoted;

/// The scripts of the viewer as one script without imports and exports.
static SCRIPT: LazyLock<String> =
    LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/viewer.js.deflate"))));

static STYLE: LazyLock<String> =
    LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/viewer.css.deflate"))));

/// Decompresses what `build.rs` has compressed.
fn inflated(bytes: &[u8]) -> String {
    let mut text = String::new();
    // `build.rs` compresses text, so this cannot fail.
    let _ = DeflateDecoder::new(bytes).read_to_string(&mut text);
    text
}

/// The viewer as a JavaScript module. It exports `mount(element, data)`, which shows data of the schema
/// `snick.view/1` in an element of any page that includes [`viewer_style`]. The viewer fills the height of
/// the element.
///
/// ```
/// assert!(snick_view::viewer_script().ends_with("export { mount };\n"));
/// ```
pub fn viewer_script() -> String {
    SCRIPT.clone() + "export { mount };\n"
}

/// The icon of a report and of the browser page.
const ICON: &str = include_str!("../assets/icon.svg");

/// The style sheet of the viewer.
pub fn viewer_style() -> &'static str {
    &STYLE
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
        ("{script}", SCRIPT.as_str()),
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
    fn every_script_is_part_of_the_viewer() {
        let script = viewer_script();
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/assets")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "js") {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(script.contains(text.lines().next().unwrap()), "{}", path.display());
            }
        }
        assert!(viewer_style().contains(".snick-viewer"));
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
