//! The page of a report: a single file with the viewer and its data.

use crate::svg::Quoted;
use crate::viewer::{script, viewer_style};

/// The icon of a report and of the browser page.
const ICON: &str = include_str!("../assets/icon.svg");

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
        ("{script}", script()),
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
}
