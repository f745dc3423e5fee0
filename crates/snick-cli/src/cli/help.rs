//! The help of verbs: the headings of option groups, and the examples and exit codes at the end.

/// The heading of options that select or change inputs.
pub const INPUTS: &str = "Inputs";
/// The heading of options about files to write.
pub const OUTPUTS: &str = "Outputs";
/// The heading of options that compare results.
pub const COMPARE: &str = "Compare";
/// The heading of options that set limits.
pub const LIMITS: &str = "Limits";
/// The heading of options about the form of results and diagnostics.
pub const FORMAT: &str = "Output format";

/// The end of a verb's help: two examples, each with its purpose, and the exit codes. `finding` explains exit
/// code 1; it is empty if the verb never exits with 1.
pub fn ending(examples: [(&str, &str); 2], finding: &str) -> String {
    let mut text = "Examples:\n".to_string();
    for (command, purpose) in examples {
        text += &format!("  {command}\n      {purpose}\n");
    }
    text += "\nExit codes:\n  0  success\n";
    if !finding.is_empty() {
        text += &format!("  1  {finding}\n");
    }
    text += "  2  wrong usage or unreadable input\n  3  a limit was reached";
    text
}
