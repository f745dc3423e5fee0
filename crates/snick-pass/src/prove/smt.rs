//! Writes what certificates claim as SMT-LIB 2, for z3, cvc5 and other solvers.

use std::fmt::Write;

use snick_certificate::Poly;

/// A script that is unsatisfiable if the premises of each leaf contradict each other.
///
/// Every premise is a polynomial that is at least 0. `declarations` are the names of the atoms, by number; names
/// may be any text, and may be missing or occur twice.
pub(super) fn smt(title: &str, declarations: &[String], leaves: &[Vec<Poly>]) -> String {
    let atoms = leaves.iter().flatten().flat_map(Poly::terms).flat_map(|(monomial, _)| monomial);
    let count = atoms.map(|&atom| atom as usize + 1).max().unwrap_or(0).max(declarations.len());
    let name = |atom: usize| declarations.get(atom).map_or("", String::as_str);
    let symbols: Vec<String> = (0..count).map(|atom| symbol(name(atom), atom)).collect();
    let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut script = format!("; {title}\n(set-logic ALL)\n(set-info :status unsat)\n");
    for symbol in &symbols {
        _ = writeln!(script, "(declare-const {symbol} Int)");
    }
    script.push_str("(assert (or false");
    for premises in leaves {
        script.push_str("\n  (and true");
        for premise in premises {
            _ = write!(script, "\n    (>= {} 0)", sum(premise, &symbols));
        }
        script.push(')');
    }
    script.push_str("))\n(check-sat)\n");
    script
}

/// A quoted symbol. The number makes it unique, also among words that solvers know: `|true|`, `|abs|` and `|select|`
/// keep their meanings in quotes.
fn symbol(name: &str, atom: usize) -> String {
    let is_allowed = |c: char| c != '|' && c != '\\' && !c.is_control();
    let mut text: String = name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if text.starts_with(['.', '@']) {
        // Reserved for solvers.
        text.insert(0, '_');
    }
    format!("|{text}#{atom}|")
}

fn sum(poly: &Poly, symbols: &[String]) -> String {
    let mut terms: Vec<String> = poly
        .terms()
        .map(|(monomial, coefficient)| {
            let atoms = monomial.iter().map(|&atom| symbols[atom as usize].clone());
            let factor = (coefficient != 1 || monomial.is_empty()).then(|| integer(coefficient));
            application("*", factor.into_iter().chain(atoms).collect())
        })
        .collect();
    if terms.is_empty() {
        terms.push(integer(0));
    }
    application("+", terms)
}

/// The only operand itself, or the operation applied to several.
fn application(operation: &str, operands: Vec<String>) -> String {
    match operands.as_slice() {
        [operand] => operand.clone(),
        _ => format!("({operation} {})", operands.join(" ")),
    }
}

fn integer(value: i128) -> String {
    if value < 0 { format!("(- {})", value.unsigned_abs()) } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::solve::obligations::{linear, nonlinear};
    use super::*;

    #[test]
    fn premises_become_assertions() {
        let product = Poly::atom(0).times(&Poly::atom(1)).unwrap();
        let premises =
            vec![product.plus(-3, &Poly::atom(2)).unwrap().plus_constant(-1).unwrap(), Poly::atom(0)];
        let names = ["rows".to_owned(), "a|b\\".to_owned()];
        let expected = "; slice of W  and H\n\
            (set-logic ALL)\n\
            (set-info :status unsat)\n\
            (declare-const |rows#0| Int)\n\
            (declare-const |a_b_#1| Int)\n\
            (declare-const |#2| Int)\n\
            (assert (or false\n  \
              (and true\n    \
                (>= (+ (- 1) (* |rows#0| |a_b_#1|) (* (- 3) |#2|)) 0)\n    \
                (>= |rows#0| 0))\n  \
              (and true\n    \
                (>= 0 0))))\n\
            (check-sat)\n";
        assert_eq!(smt("slice of W\r\nand H", &names, &[premises, vec![Poly::default()]]), expected);
    }

    #[test]
    fn constants_and_unused_names_are_written() {
        let script = smt("", &["W".to_owned()], &[vec![Poly::constant(1)]]);
        assert!(script.contains("(>= 1 0)") && script.contains("(declare-const |W#0| Int)"), "{script}");
    }

    #[test]
    fn symbols_are_not_reserved() {
        for (name, expected) in
            [("true", "|true#3|"), ("@x", "|_@x#3|"), (".y", "|_.y#3|"), ("", "|#3|"), ("a\nb", "|a_b#3|")]
        {
            assert_eq!(symbol(name, 3), expected);
        }
    }

    #[test]
    fn scripts_declare_what_they_use() {
        for obligation in linear().into_iter().chain(nonlinear()) {
            let script = smt(&obligation.title, &obligation.names, &obligation.leaves());
            let mut declared = Vec::new();
            for (index, symbol) in script.split('|').enumerate().filter(|(index, _)| index % 2 == 1) {
                if script.split('|').nth(index - 1).is_some_and(|before| before.ends_with("(declare-const "))
                {
                    declared.push(symbol);
                }
                assert!(declared.contains(&symbol), "{symbol} in {script}");
            }
            let parens =
                |paren: char| script.lines().skip(1).map(|line| line.matches(paren).count()).sum::<usize>();
            assert_eq!(parens('('), parens(')'));
        }
    }
}
