//! Shardy's annotations: over which axes of a mesh each dim of an argument is sharded.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::mesh::{Mesh, ShardError, ShardRule, ShardRules};
use super::module::{Module, Port};

impl ShardRule {
    pub(super) fn text(&self) -> String {
        let axes: Vec<&str> = self.axes.iter().map(|axis| axis.as_deref().unwrap_or("_")).collect();
        format!("{}[{}]", self.pattern, axes.join(","))
    }

    /// The mesh axis for each dim of an argument.
    fn sharding(&self, mesh: &Mesh, argument: &Port) -> Result<Vec<Option<String>>, ShardError> {
        let rank = argument.dims.len();
        if self.axes.len() > rank {
            let (rule, argument) = (self.text(), argument.name.clone());
            return Err(ShardError::Rank { rule, argument, axes: self.axes.len(), rank });
        }
        for (dim, (axis, &extent)) in self.axes.iter().zip(&argument.dims).enumerate() {
            let Some((axis, size)) = axis.as_ref().and_then(|axis| Some((axis, mesh.size(axis)?))) else {
                continue;
            };
            if extent.is_some_and(|extent| extent.is_multiple_of(size)) {
                continue;
            }
            return Err(ShardError::Indivisible {
                rule: self.text(),
                argument: argument.name.clone(),
                dim,
                extent: extent.map_or_else(|| "known only at run time".into(), |extent| extent.to_string()),
                axis: axis.clone(),
                size,
                hint: match extent {
                    Some(extent) => format!("{} would", divisors(extent)),
                    None => "convert with --shape".into(),
                },
            });
        }
        let missing = std::iter::repeat_n(None, rank - self.axes.len());
        Ok(self.axes.iter().cloned().chain(missing).collect())
    }
}

/// The divisors of a size, truncated if there are many: `1, 2, 3, 6`.
fn divisors(size: usize) -> String {
    const SHOWN: usize = 12;
    // Real mesh axes are not larger than this.
    let all: Vec<usize> = (1..=size.min(1 << 12)).filter(|&d| size.is_multiple_of(d)).collect();
    let mut text = all.iter().take(SHOWN).map(usize::to_string).collect::<Vec<_>>().join(", ");
    if all.len() > SHOWN {
        let _ = write!(text, ", ..");
    }
    text
}

/// Whether a name matches a pattern with `*` and `?`, in at most quadratic time.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The position after the last star, and the end of the text that the star matched.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(&c), _) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            (_, Some((place, end))) => {
                star = Some((place, end + 1));
                p = place + 1;
                n = end + 1;
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

impl Module {
    /// Shards the arguments over a mesh by rules. The partitioner shards arguments that no rule matches.
    ///
    /// # Errors
    /// An axis that is not in the mesh, a rule that matches no argument, two rules that match the same
    /// argument, or a size that is not divisible by the size of its axis. On error, the module is unchanged.
    pub fn shard(&mut self, mesh: Mesh, rules: &ShardRules) -> Result<(), ShardError> {
        let mut shardings: HashMap<usize, (&ShardRule, Vec<Option<String>>)> = HashMap::new();
        for rule in &rules.rules {
            if let Some(axis) = rule.axes.iter().flatten().find(|axis| mesh.size(axis).is_none()) {
                let axes = mesh.axes().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
                return Err(ShardError::UnknownAxis { rule: rule.text(), axis: axis.clone(), axes });
            }
            let mut found = false;
            for (i, argument) in self.arguments.iter().enumerate() {
                if !matches(&rule.pattern, &argument.port.name) {
                    continue;
                }
                found = true;
                let sharding = rule.sharding(&mesh, &argument.port)?;
                if let Some((other, _)) = shardings.insert(i, (rule, sharding)) {
                    let argument = argument.port.name.clone();
                    return Err(ShardError::TwoRules { argument, rule: other.text(), other: rule.text() });
                }
            }
            if !found {
                return Err(ShardError::NoMatch { rule: rule.text(), hint: self.names_like(&rule.pattern) });
            }
        }
        for (i, (_, sharding)) in shardings {
            if let Some(argument) = self.arguments.get_mut(i) {
                argument.sharding = sharding;
            }
        }
        self.mesh = Some(mesh);
        Ok(())
    }

    /// Names of the arguments that share the longest substring with a pattern.
    fn names_like(&self, pattern: &str) -> String {
        const SHOWN: usize = 4;
        let parts: Vec<&str> =
            pattern.split(|c: char| !c.is_alphanumeric()).filter(|p| p.len() > 2).collect();
        let names = || self.arguments.iter().map(|argument| argument.port.name.as_str());
        let mut like: Vec<&str> =
            names().filter(|name| parts.iter().any(|&part| name.contains(part))).take(SHOWN).collect();
        if like.is_empty() {
            like = names().take(SHOWN).collect();
        }
        match like.is_empty() {
            true => "the module has no arguments".into(),
            false => format!("there is `{}`; a manifest written without rules lists all", like.join("`, `")),
        }
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use super::*;
    use crate::stablehlo::{Precision, module};

    fn sharded(mesh: &str, rules: &str) -> Result<String, String> {
        let text = "snick 1\ngraph \"g\" {\n  %ids = Parameter-1 {element_type: f32, shape: \"4,6\"}
  %mask = Parameter-1 {element_type: f32, shape: \"N,6\"}\n  %r = Result-1(%ids)\n}\n";
        let mut graph = text::parse(text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let mut module = module(&graph, Precision::Highest).unwrap();
        let rules = rules.parse().map_err(|error: ShardError| error.to_string())?;
        let mesh = mesh.parse().map_err(|error: ShardError| error.to_string())?;
        module.shard(mesh, &rules).map_err(|error| error.to_string())?;
        Ok(module.to_string())
    }

    #[test]
    fn annotations_are_those_of_shardy() {
        let text = sharded("batch=2,model=3", "i?s[batch,model]").unwrap();
        for line in [
            "  sdy.mesh @mesh = <[\"batch\"=2, \"model\"=3]>\n",
            "%ids: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"batch\"}, {\"model\"}]>}, %mask: tensor<?x6xf32>)",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert!(sharded("batch=2", "ids[batch]").unwrap().contains("[{\"batch\"}, {}]>"));
        assert!(!sharded("batch=2", "").unwrap().contains("sdy.sharding"));
    }

    #[test]
    fn what_cannot_be_sharded_is_an_error_that_says_what_to_do() {
        for (mesh, rules, message) in [
            ("batch=2", "ids[data]", "the mesh has no axis `data`; it has batch"),
            ("batch=2", "ixs[batch]", "`ixs[batch]` matches no argument; there is `ids`"),
            (
                "batch=4",
                "ids[_,batch]",
                "batch=4 does not divide dim 1 of `ids`, which is 6; 1, 2, 3, 6 would",
            ),
            ("batch=2", "mask[batch]", "which is known only at run time; convert with --shape"),
            ("batch=2", "*[_],ids[batch]", "`*[_]` and `ids[batch]` both match `ids`"),
            ("batch=2", "ids[_,_,_]", "`ids[_,_,_]` has 3 dims, but `ids` has 2"),
            ("batch=2", "ids[batch,batch]", "the axis `batch` is there twice"),
            ("batch=2", "ids", "`[` and `]` are missing"),
            ("batch=2", "ids[batch] mask[_]", "or the end, after `]`"),
            ("batch=2", "[batch]", "it names no argument"),
            ("batch", "", "`batch` has no size"),
            ("batch=0", "", "`0` is not a number of devices"),
            ("a=2,a=2", "", "the axis `a` is there twice"),
            ("a=99999999,b=99999999999", "", "more than 16777216 devices"),
            ("\u{1b}=2", "", "is not an axis name"),
        ] {
            let error = sharded(mesh, rules).unwrap_err();
            assert!(error.contains(message), "{mesh} {rules}: {error}");
        }
    }

    #[test]
    fn patterns_have_stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("*.up.weight", "h.0.up.weight", true),
            ("*.up.weight", "h.0.up.weight2", false),
            ("h.*.w*t", "h.10.weight", true),
            ("h.?.weight", "h.10.weight", false),
            ("*", "", true),
            ("", "a", false),
            ("a*b*c", "a-b-b-c", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
