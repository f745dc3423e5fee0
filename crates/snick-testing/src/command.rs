//! The commands in `RUN:` directives.

use std::path::PathBuf;

/// A parsed command of a test.
#[derive(PartialEq, Eq, Debug, Default)]
pub(crate) struct Command {
    /// Whether to rewrite the graph after inference.
    pub(crate) rewrites: bool,
    /// The names of the passes to run; empty for the canonical form.
    pub(crate) passes: Vec<String>,
    pub(crate) stop_after: Option<usize>,
    pub(crate) verify: bool,
    /// Input shapes, as on the command line.
    pub(crate) shapes: Vec<String>,
    /// A file with shape rules for custom ops.
    pub(crate) ops: Option<PathBuf>,
    /// Whether to print dims as expressions.
    pub(crate) symbolic: bool,
}

impl Command {
    /// Parses `snick infer` or `snick canon` with options. Words are separated by blanks, and may be quoted.
    pub(crate) fn parse(command: &str) -> Result<Self, String> {
        let words = words(command)?;
        let mut words = words.iter().map(String::as_str);
        let rewrites = match (words.next(), words.next()) {
            (Some("snick"), Some("canon")) => true,
            (Some("snick"), Some("infer")) => false,
            _ => return Err("tests run `snick canon` or `snick infer`".into()),
        };
        let mut parsed = Self { rewrites, ..Self::default() };
        while let Some(word) = words.next() {
            let (name, mut inline) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word, None),
            };
            let mut value =
                |what: &str| inline.take().or_else(|| words.next()).ok_or(format!("`{name}` needs {what}"));
            match name {
                "--passes" => parsed.passes.extend(value("names")?.split(',').map(str::to_string)),
                "--stop-after" => {
                    let count = value("a number")?.parse();
                    parsed.stop_after = Some(count.map_err(|_| "`--stop-after` takes a number")?);
                }
                "--shape" => parsed.shapes.push(value("input shapes")?.to_string()),
                "--ops" => parsed.ops = Some(value("a file")?.into()),
                "--verify" => parsed.verify = true,
                "--symbolic" => parsed.symbolic = true,
                // Both denote the input, which is always the graph of the test.
                "-" | "%s" => {}
                _ => return Err(format!("unknown option `{name}`")),
            }
            if inline.is_some() {
                return Err(format!("`{name}` takes no value"));
            }
        }
        Ok(parsed)
    }
}

/// Splits a command at blanks outside quotes.
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("{quote} is never closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_values() {
        let command = "snick canon %s --passes a,b --shape \"x[N, 3],y[2]\" --shape='z[1]' --ops ops.toml \
                       --stop-after=3 --verify --symbolic";
        let expected = Command {
            rewrites: true,
            passes: vec!["a".into(), "b".into()],
            stop_after: Some(3),
            verify: true,
            shapes: vec!["x[N, 3],y[2]".into(), "z[1]".into()],
            ops: Some("ops.toml".into()),
            symbolic: true,
        };
        assert_eq!(Command::parse(command), Ok(expected));
        assert_eq!(Command::parse("snick infer"), Ok(Command::default()));
    }

    #[test]
    fn mistakes_are_errors() {
        for command in [
            "snick run",
            "canon",
            "snick canon --shape",
            "snick canon --shape \"x[1]",
            "snick canon --verify=1",
            "snick canon --stop-after x",
            "snick canon --verifyy",
        ] {
            assert!(Command::parse(command).is_err(), "{command}");
        }
    }
}
