//! Annotations for GitHub workflows: one workflow command per line.

use std::fmt::Write as _;

use snick::Finding;
use snick_ir::text::Escaped;

use super::{CheckedModel, Report, place};

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    report.findings().for_each(|(model, finding)| write_annotation(model, finding, &mut text));
    text
}

fn write_annotation(model: &CheckedModel, finding: &Finding, text: &mut String) {
    let command = match finding.severity_name() {
        "note" => "notice",
        name => name,
    };
    let place = place(finding).map(|(line, column)| format!(",line={line},col={column}")).unwrap_or_default();
    let title = format!("{} {}", finding.code, finding.name);
    let layer = match finding.op.as_str() {
        "" => String::new(),
        op => format!("{op} `{}`: ", finding.layer),
    };
    let message = format!("{layer}{}; {}", finding.message, finding.help);
    let (file, title, message) = (property(&model.path), property(&title), data(&message));
    let _ = writeln!(text, "::{command} file={file}{place},title={title}::{message}");
}

/// Escapes a message, including line breaks.
fn data(text: &str) -> String {
    Escaped(text).to_string().replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property value, including colons and commas.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn nothing_ends_a_command_early() {
        assert_eq!(data("100%\n::error::x"), "100%25\\u{a}::error::x");
        assert_eq!(property("a,b:c%"), "a%2Cb%3Ac%25");
    }
}
