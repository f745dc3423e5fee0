//! Displays trees as text.

use std::fmt;

use snick_ir::Loc;
use snick_ir::text::Escaped;

use super::{Role, Suggestion, Why, WhyNode};

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = &self.target;
        write!(f, "{}", Escaped(&target.layer))?;
        match (target.axis, target.element) {
            (Some(axis), _) => write!(f, " axis {axis}")?,
            (None, Some(element)) => write!(f, " element {element}")?,
            (None, None) => {}
        }
        writeln!(f, " = {}", Escaped(&self.tree.expr))?;
        write!(f, "\n{}", self.tree)?;
        for Suggestion { shape, gives } in &self.suggestions {
            write!(
                f,
                "\ntry --shape \"{}\"\n    {} becomes {}\n",
                Escaped(shape),
                Escaped(&target.layer),
                Escaped(gives)
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for WhyNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, "", "")
    }
}

impl WhyNode {
    /// Prints the node with the prefix `first` on its own line and the prefix `rest` on the lines of its
    /// children.
    fn draw(&self, f: &mut fmt::Formatter<'_>, first: &str, rest: &str) -> fmt::Result {
        let place = &self.place;
        let mut line = format!("{first}{}  {} {}", self.expr, place.op, place.layer);
        match (place.axis, place.element) {
            (Some(axis), _) if self.role != Role::Computed => line += &format!(", axis {axis}"),
            (None, Some(element)) => line += &format!(", element {element}"),
            _ => {}
        }
        if place.loc != Loc::default() {
            line += &format!("  ({})", place.loc);
        }
        line += match self.role {
            Role::Input => "  input",
            Role::Constant => "  constant",
            _ => "",
        };
        writeln!(f, "{}", Escaped(&line))?;
        if let Some(reason) = &self.reason {
            let bar = if self.from.is_empty() { "  " } else { "│ " };
            let interval = match self.expr.parse::<i64>() {
                Ok(_) => String::new(),
                Err(_) => format!(" ({})", self.interval),
            };
            writeln!(f, "{rest}{bar}{}{interval}", Escaped(reason))?;
        }
        for (i, node) in self.from.iter().enumerate() {
            let (branch, below) =
                if i + 1 == self.from.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            node.draw(f, &format!("{rest}{branch}"), &format!("{rest}{below}"))?;
        }
        Ok(())
    }
}
