//! The viewer of reports, which `build.rs` has joined and compressed.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;

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
/// assert!(snick::viewer_script().ends_with("export { mount };\n"));
/// ```
pub fn viewer_script() -> String {
    SCRIPT.clone() + "export { mount };\n"
}

/// The script of the viewer, for a page with a single script.
pub(crate) fn script() -> &'static str {
    &SCRIPT
}

/// The style sheet of the viewer.
pub fn viewer_style() -> &'static str {
    &STYLE
}

#[cfg(test)]
mod tests {
    use super::*;

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
