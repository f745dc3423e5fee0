//! Compares symbols of input shapes independently of their names.

use std::collections::HashMap;

use snick_shape::{DimSpec, ShapeSpec};

/// The symbols of the inputs of a model, numbered in the order in which they occur.
#[derive(Default)]
pub(super) struct SymbolNames {
    numbers: HashMap<String, usize>,
}

impl SymbolNames {
    /// The shape with a number in place of each symbol. A symbol that is a whole dim at its first occurrence
    /// is equivalent to an unnamed unknown size.
    pub fn canonical(&mut self, shape: &ShapeSpec) -> Vec<String> {
        let ShapeSpec::Dims(dims) = shape else { return vec!["...".into()] };
        dims.iter().map(|dim| self.canonical_dim(dim)).collect()
    }

    fn canonical_dim(&mut self, dim: &DimSpec) -> String {
        match dim {
            DimSpec::Symbol { name, .. } => match self.number(name) {
                (_, true) => String::new(),
                (number, false) => format!("#{number}"),
            },
            DimSpec::Expr(expr) => {
                let text = expr.to_string();
                let mut out = String::new();
                let mut word = String::new();
                for c in text.chars().chain([' ']) {
                    if c.is_alphanumeric() || c == '_' {
                        word.push(c);
                        continue;
                    }
                    let is_name = expr.names().contains(&word);
                    out += &if is_name {
                        format!("#{}", self.number(&word).0)
                    } else {
                        std::mem::take(&mut word)
                    };
                    word.clear();
                    out.push(c);
                }
                out
            }
            _ => {
                // An unnamed size takes a number, too. Otherwise, the numbers would differ from a model that
                // names this size.
                let unnamed = format!("?{}", self.numbers.len());
                self.number(&unnamed);
                String::new()
            }
        }
    }

    /// The number of a symbol, and whether it is new.
    fn number(&mut self, name: &str) -> (usize, bool) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(name.to_string()).or_insert(next);
        (number, number == next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_matter_but_which_sizes_are_equal() {
        let canonical = |shapes: [&str; 2]| {
            let mut names = SymbolNames::default();
            shapes.map(|shape| names.canonical(&shape.parse::<ShapeSpec>().unwrap()))
        };
        assert_eq!(canonical(["N,3", "N,2*T"]), canonical(["B,3", "B,2*S"]));
        assert_eq!(canonical(["N,3", "M"]), canonical(["?,3", "?"]));
        assert_ne!(canonical(["N,3", "N"]), canonical(["N,3", "M"]));
        assert_ne!(canonical(["N,M", "N"]), canonical(["N,M", "M"]));
        assert_ne!(canonical(["N", "2*N"]), canonical(["N", "3*N"]));
    }
}
