//! Displays explanations as text.

use std::collections::HashSet;
use std::fmt;

use snick_ir::Loc;
use snick_ir::text::Escaped;

use super::{Place, Role, Suggestion, Why, WhyNode};

/// Displays several explanations as one text. Repeated subtrees are printed only once.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"T\"}\n  \
/// #             %p = Parameter-1 {element_type: f32, shape: \"P\"}\n  \
/// #             %all = Concat-1(%p, %x) {axis: 0}\n  %dims = ShapeOf-3(%all) {output_type: i64}\n  \
/// #             %both = Concat-1(%dims, %dims) {axis: 0}\n  %y = Result-1(%both)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let both = model.target("both")?; // a vector with the elements T+P and T+P
/// let why = both.parts(&model).into_iter().map(|part| model.why(part)).collect::<Result<Vec<_>, _>>()?;
/// let text = snick::WhyText(&why).to_string();
/// assert_eq!(text.lines().filter(|line| line.ends_with("as above")).count(), 1);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, Debug)]
pub struct WhyText<'w>(pub &'w [Why]);

impl fmt::Display for WhyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut drawn = Drawn::default();
        for (number, why) in self.0.iter().enumerate() {
            // No blank line separates one-line explanations, so that they form a list.
            if number > 0 && !(why.is_line() && self.0[number - 1].is_line()) {
                writeln!(f)?;
            }
            why.draw(f, &mut drawn)?;
        }
        Ok(())
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, &mut Drawn::default())
    }
}

impl fmt::Display for WhyNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, "", "", &mut Drawn::default())
    }
}

/// The subtrees that have already been printed, identified by place and expression.
type Drawn<'w> = HashSet<(&'w Place, &'w str)>;

impl Why {
    /// Whether one line explains the part, because the part is constant or declared by an input.
    fn is_line(&self) -> bool {
        let is_declared = matches!(self.tree.role, Role::Input | Role::Constant);
        is_declared && self.tree.from.is_empty() && self.suggestions.is_empty()
    }

    fn draw<'w>(&'w self, f: &mut fmt::Formatter<'_>, drawn: &mut Drawn<'w>) -> fmt::Result {
        let target = &self.target;
        write!(f, "{}", Escaped(&target.layer))?;
        match (target.axis, target.element) {
            (Some(axis), _) => write!(f, " axis {axis}")?,
            (None, Some(element)) => write!(f, " element {element}")?,
            (None, None) => {}
        }
        write!(f, " = {}", Escaped(&self.tree.expr))?;
        if self.is_line() {
            return writeln!(f, "  {}", Escaped(&self.tree.origin()));
        }
        write!(f, "\n\n")?;
        self.tree.draw(f, "", "", drawn)?;
        for Suggestion { shape, effect, .. } in &self.suggestions {
            write!(f, "\ntry --shape \"{}\"\n    {}\n", Escaped(shape), Escaped(effect))?;
        }
        Ok(())
    }
}

impl WhyNode {
    /// The layer, the axis or element of its output, the location, and the role.
    fn origin(&self) -> String {
        let place = &self.place;
        let mut line = format!("{} {}", place.op, place.layer);
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
        line
    }

    /// Prints the node with the prefix `first`, and its reason and children with the prefix `rest`.
    fn draw<'w>(
        &'w self,
        f: &mut fmt::Formatter<'_>,
        first: &str,
        rest: &str,
        drawn: &mut Drawn<'w>,
    ) -> fmt::Result {
        let mut line = format!("{first}{}  {}", self.expr, self.origin());
        if !self.from.is_empty() && !drawn.insert((&self.place, &self.expr)) {
            line += "  as above";
            return writeln!(f, "{}", Escaped(&line));
        }
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
            node.draw(f, &format!("{rest}{branch}"), &format!("{rest}{below}"), drawn)?;
        }
        Ok(())
    }
}
