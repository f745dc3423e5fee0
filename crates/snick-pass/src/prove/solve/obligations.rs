//! Statements about slices that have to be provable.

use snick_certificate::Poly;

use super::cases::{Condition, Obligation, Term};

/// Names for atoms, and terms for the names.
fn atoms<const N: usize>(names: [&str; N]) -> (Vec<String>, [Term; N]) {
    let mut atom = 0..;
    (names.map(String::from).to_vec(), names.map(|_| Term::Poly(Poly::atom(atom.next().unwrap()))))
}

/// A step other than 0, and the absolute value of it.
struct Step {
    step: Term,
    is_forward: bool,
}

impl Step {
    fn known(step: i128) -> Self {
        Self { step: step.into(), is_forward: step > 0 }
    }

    fn abs(&self) -> Term {
        match &self.step {
            Term::Poly(step) if !self.is_forward => Term::Poly(step.times_constant(-1).unwrap()),
            step => step.clone(),
        }
    }
}

/// Start, length, and whether `k` is selected, of `begin:end:step` along an axis of a size.
fn strided(
    size: &Term,
    k: &Term,
    begin: Option<&Term>,
    end: Option<&Term>,
    step: &Step,
) -> (Term, Term, Condition) {
    let from_end = |bound: &Term| Term::if_else(bound.below(0), bound + size, bound);
    let clamp = |bound: Option<&Term>, default: Term, low: i128, high: Term| {
        bound.map_or(default, from_end).max(low).min(high)
    };
    let at = |start: &Term| start + k * &step.step;
    let (start, span, is_selected) = if step.is_forward {
        let start = clamp(begin, 0.into(), 0, size.clone());
        let stop = clamp(end, size.clone(), 0, size.clone());
        (start.clone(), &stop - &start, at(&start).below(&stop))
    } else {
        let start = clamp(begin, size - 1, 0, size - 1);
        let stop = clamp(end, (-1).into(), -1, size.clone());
        (start.clone(), &start - &stop, at(&start).at_least(&stop + 1))
    };
    let len = Term::if_else(span.at_most(0), 0, (&span - 1).div(step.abs()) + 1);
    (start, len, k.at_least(0).and(is_selected))
}

/// Statements about slices with steps that are known.
pub(crate) fn linear() -> Vec<Obligation> {
    let mut obligations = Vec::new();
    let mut add = |title: String, names: &Vec<String>, hypotheses: &[&Condition], goal: Condition| {
        let hypotheses = hypotheses.iter().copied().cloned().collect();
        obligations.push(Obligation { title, names: names.clone(), hypotheses, goal });
    };
    slices(&mut add);
    slices_of_concats(&mut add);
    slices_of_slices(&mut add);
    obligations
}

/// Adds an obligation.
type Add<'a> = dyn FnMut(String, &Vec<String>, &[&Condition], Condition) + 'a;

fn slices(add: &mut Add) {
    let (names, [size, k, begin, end]) = atoms(["W", "k", "begin", "end"]);
    let constant = |value: Option<i128>| value.map(Term::from);
    let title = |begin: Option<i128>, end: Option<i128>, step: i128| {
        let bound = |bound: Option<i128>| bound.map_or_else(String::new, |bound| bound.to_string());
        format!("W[{}:{}:{step}]", bound(begin), bound(end))
    };
    let mut bounds: Vec<(Option<Term>, Option<Term>, i128, String)> = [
        (None, None, -2),
        (Some(-3), Some(1), -2),
        (Some(1), Some(-1), 1),
        (None, None, 3),
        (Some(5), Some(3), 1),
        (Some(-1), Some(-(1 << 31)), -1),
        (Some(0), Some((1 << 31) - 1), 1),
    ]
    .map(|(begin, end, step)| (constant(begin), constant(end), step, title(begin, end, step)))
    .to_vec();
    for step in [1, -1, 2, -3] {
        bounds.push((Some(begin.clone()), Some(end.clone()), step, format!("W[begin:end:{step}]")));
    }
    let is_size = size.at_least(0);
    for (begin, end, step, title) in bounds {
        let (start, len, is_selected) = strided(&size, &k, begin.as_ref(), end.as_ref(), &Step::known(step));
        let is_within = k.at_least(0).and(k.below(&len));
        let at = &start + &k * step;
        let goal = is_selected.iff(is_within.clone());
        add(format!("{title} selects below its length"), &names, &[&is_size], goal);
        let goal = at.at_least(0).and(at.below(&size));
        add(format!("{title} is in bounds"), &names, &[&is_size, &is_within], goal);
    }
    let closed_forms = [
        (None, None, -2, (&size + 1).div(2)),
        (None, None, 2, (&size + 1).div(2)),
        (Some(-3), Some(1), -2, ((&size + 1).div(2) - 2).max(0)),
        (Some(0), Some(-1), 1, (&size - 1).max(0)),
        (Some(2), Some(-2), 1, (&size - 4).max(0)),
    ];
    for (begin, end, step, expected) in closed_forms {
        let (_, len, _) =
            strided(&size, &k, constant(begin).as_ref(), constant(end).as_ref(), &Step::known(step));
        let title = title(begin, end, step);
        add(format!("length of {title}"), &names, &[&is_size], len.equals(expected));
    }
    let (start, odd, _) = strided(&size, &k, Some(&1.into()), None, &Step::known(2));
    let (_, len, _) = strided(&odd, &k, None, Some(&(-3).into()), &Step::known(1));
    let goal = len.equals((size.div(2) - 3).max(0));
    add("length of x[1::2][:-3]".into(), &names, &[&is_size], goal);
    let goal =
        start.at_least(0).and(k.at_least(0).and(k.below(&odd)).implies((&start + &k * 2).below(&size)));
    add("x[1::2] is in bounds".into(), &names, &[&is_size], goal);
    let (first, reversed, _) = strided(&size, &k, None, None, &Step::known(-1));
    let (second, len, _) = strided(&reversed, &k, Some(&1.into()), None, &Step::known(2));
    let is_within = k.at_least(0).and(k.below(&len));
    let goal = len.equals(size.div(2));
    add("length of x[::-1][1::2]".into(), &names, &[&is_size], goal);
    let goal = (first - (second + &k * 2)).equals(&size - 2 - &k * 2);
    add("elements of x[::-1][1::2]".into(), &names, &[&is_size, &is_within], goal);
}

fn slices_of_concats(add: &mut Add) {
    let (names, [a, b, start, len, k]) = atoms(["A", "B", "start", "len", "k"]);
    for step in [1_i128, 2, -1, -3] {
        // How many elements come from the part in which the slice starts.
        let first =
            if step > 0 { (&start - &a).div(step) * -1 } else { ((&start - &a + 1) * -1).div(-step) * -1 };
        let first = first.max(0).min(&len);
        let (at, last) = (&start + &k * step, &start + (&len - 1) * step);
        let total = &a + &b;
        let hypotheses = [
            a.at_least(0),
            b.at_least(0),
            len.at_least(1),
            start.at_least(0),
            start.below(&total),
            last.at_least(0),
            last.below(&total),
            k.at_least(0),
            k.below(&len),
        ];
        let in_a = at.at_least(0).and(at.below(&a));
        let in_b = at.at_least(&a).and(at.below(&total));
        let (in_first, in_second) = if step > 0 { (in_a, in_b) } else { (in_b, in_a) };
        let goal = k.below(&first).implies(in_first).and(k.at_least(&first).implies(in_second));
        add(format!("slice of concat by {step}"), &names, &hypotheses.each_ref(), goal);
    }
}

fn slices_of_slices(add: &mut Add) {
    let (names, [d, s1, l1, s2, l2, k]) = atoms(["d", "s1", "l1", "s2", "l2", "k"]);
    for (p1, p2) in [(2, 3), (-2, 1), (3, -2), (-1, -1)] {
        let within = |start: &Term, len: &Term, step: i128, size: &Term| {
            let last = start + (len - 1) * step;
            start.at_least(0).and(start.below(size)).and(last.at_least(0)).and(last.below(size))
        };
        let hypotheses = [
            l2.at_least(1),
            within(&s1, &l1, p1, &d),
            within(&s2, &l2, p2, &l1),
            k.at_least(0),
            k.below(&l2),
        ];
        let at = &s1 + (&s2 + &k * p2) * p1;
        add(
            format!("slice of slice by {p1} and {p2}"),
            &names,
            &hypotheses.each_ref(),
            at.at_least(0).and(at.below(&d)),
        );
    }
}

/// Statements with products of sizes and steps.
pub(crate) fn nonlinear() -> Vec<Obligation> {
    let mut obligations = Vec::new();
    let mut add = |title: &str, names: &Vec<String>, hypotheses: &[Condition], goal: Condition| {
        let (title, hypotheses) = (title.to_owned(), hypotheses.to_vec());
        obligations.push(Obligation { title, names: names.clone(), hypotheses, goal });
    };
    slices_of_reshapes(&mut add);
    symbolic_steps(&mut add);
    obligations
}

/// Adds an obligation.
type AddOwned<'a> = dyn FnMut(&str, &Vec<String>, &[Condition], Condition) + 'a;

fn within(index: &Term, len: &Term) -> Condition {
    index.at_least(0).and(index.below(len))
}

fn slices_of_reshapes(add: &mut AddOwned) {
    let (names, [n, rows, columns, start, len, batch, i, c]) =
        atoms(["N", "R", "C", "start", "len", "n", "i", "c"]);
    for (title, rows, columns) in [("R C", rows, columns), ("3 4", 3.into(), 4.into())] {
        let hypotheses = [
            n.at_least(1),
            rows.at_least(1),
            columns.at_least(1),
            start.at_least(0),
            len.at_least(1),
            (&start + &len).at_most(&rows),
            within(&batch, &n),
            within(&i, &len),
            within(&c, &columns),
        ];
        let before = (&batch * &rows + &start + &i) * &columns + &c;
        let after = &batch * (&rows * &columns) + &start * &columns + (&i * &columns + &c);
        let title = |statement: &str| format!("slice of reshape {title}: {statement}");
        add(&title("element"), &names, &hypotheses, before.equals(after));
        let (first, selected, total) = (&start * &columns, &len * &columns, &rows * &columns);
        let goal = first.at_least(0).and((first + &selected).at_most(&total));
        add(&title("slice within the flat axis"), &names, &hypotheses, goal);
        add(&title("index within the slice"), &names, &hypotheses, within(&(&i * &columns + &c), &selected));
        add(&title("flat index"), &names, &hypotheses, within(&before, &(&n * &total)));
        let row = &batch * &rows + &start + &i;
        add(&title("row of the flat index"), &names, &hypotheses, before.div(&columns).equals(&row));
        let goal = row.div(&rows).equals(&batch);
        add(&title("batch of the row"), &names, &hypotheses, goal);
        let goal = before.div(&total).equals(&batch);
        add(&title("batch of the flat index"), &names, &hypotheses, goal);
    }

    let (names, [columns, start, len, element]) = atoms(["C", "start", "len", "e"]);
    for (title, columns) in [("C", columns), ("7", 7.into())] {
        let hypotheses = [columns.at_least(1), within(&element, &(&len * &columns))];
        let quotient = element.div(&columns);
        let remainder = &element - &columns * &quotient;
        let goal = ((&start + &quotient) * &columns + &remainder).equals(&start * &columns + &element);
        add(&format!("rows of {title}: element"), &names, &hypotheses, goal);
        let goal = within(&quotient, &len).and(within(&remainder, &columns));
        add(&format!("rows of {title}: indices"), &names, &hypotheses, goal);
    }
}

fn symbolic_steps(add: &mut AddOwned) {
    let (names, [size, k, begin, end, step]) = atoms(["W", "k", "begin", "end", "step"]);
    for is_forward in [true, false] {
        let sign = if is_forward { step.at_least(1) } else { step.at_most(-1) };
        let slice = Step { step: step.clone(), is_forward };
        for (title, begin, end) in [("[::step]", None, None), ("[begin:end:step]", Some(&begin), Some(&end))]
        {
            let title = format!("{title}{}", if is_forward { "" } else { " backward" });
            let (start, len, is_selected) = strided(&size, &k, begin, end, &slice);
            let is_within = within(&k, &len);
            let hypotheses = [size.at_least(0), sign.clone()];
            let goal = is_selected.iff(is_within.clone());
            add(&format!("W{title} selects below its length"), &names, &hypotheses, goal);
            let hypotheses = [size.at_least(0), sign.clone(), is_within];
            add(&format!("W{title} is in bounds"), &names, &hypotheses, within(&(start + &k * &step), &size));
        }
    }

    let (names, [d, s1, l1, p1, s2, l2, p2, k]) = atoms(["d", "s1", "l1", "p1", "s2", "l2", "p2", "k"]);
    let fits = |start: &Term, len: &Term, step: &Term, size: &Term| {
        within(start, size).and(within(&(start + (len - 1) * step), size))
    };
    let element = &s1 + (&s2 + &k * &p2) * &p1;
    let composed = &s1 + &s2 * &p1 + &k * (&p1 * &p2);
    add("slice of slice: element", &names, &[], element.equals(composed));
    for signs in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
        let hypotheses = [
            l1.at_least(1),
            fits(&s1, &l1, &p1, &d),
            fits(&s2, &l2, &p2, &l1),
            within(&k, &l2),
            (&p1 * signs.0).at_least(0),
            (&p2 * signs.1).at_least(0),
        ];
        let title = format!("slice of slice in bounds, signs {} and {}", signs.0, signs.1);
        add(&title, &names, &hypotheses, within(&element, &d));
    }
}
