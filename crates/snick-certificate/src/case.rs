//! One case of a proof: the premises, and what follows from them.

use std::collections::{HashMap, HashSet};

use crate::answer::{Answer, Guide};
use crate::atoms::{Atom, Atoms, Function};
use crate::classes::Classes;
use crate::graph::{Graph, Size, Value};
use crate::poly::{AtomId, Poly, TooLarge};

/// Largest number of steps of a case, and of nested calls.
const MAX_STEPS: usize = 20_000;
const MAX_DEPTH: usize = 100;

/// Why a case, or a step of it, has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The proof continues with the case that this polynomial is at least 0, and then with the other case.
    Split(Poly),
    /// The table of meanings has no entry.
    Opaque,
    /// Something could not be proved.
    Stuck(String),
}

/// The result of a step of a proof.
pub(crate) type Step<T> = Result<T, Stop>;

impl From<TooLarge> for Stop {
    fn from(error: TooLarge) -> Self {
        Stop::Stuck(error.to_string())
    }
}

pub(crate) fn stuck<T>(reason: impl Into<String>) -> Step<T> {
    Err(Stop::Stuck(reason.into()))
}

/// What an entry of the table of meanings needs, or else it does not apply.
pub(crate) fn needed<T>(part: Option<T>) -> Step<T> {
    part.ok_or(Stop::Opaque)
}

/// The result of a step, if the table of meanings has an entry.
pub(crate) fn if_known<T>(step: Step<T>) -> Step<Option<T>> {
    match step {
        Err(Stop::Opaque) => Ok(None),
        step => step.map(Some),
    }
}

/// The premises of one case, and what follows from them.
pub(crate) struct Case<'c> {
    pub(crate) graph: &'c Graph,
    classes: &'c Classes,
    pub(crate) atoms: &'c mut Atoms,
    guide: &'c mut dyn Guide,
    premises: Vec<Poly>,
    decided: HashMap<Poly, bool>,
    /// Atoms whose bounds are among the premises, and those that cannot be negative.
    bounded: HashSet<AtomId>,
    non_negative: HashSet<AtomId>,
    /// Whether elements of the value before the change are looked up: their indices are in range, or the
    /// value would not exist. Afterwards, this must be proved.
    pub(crate) is_before: bool,
    /// Whether the cases of minima, maxima and ranges are distinguished.
    splits_functions: bool,
    /// How many operations that combine elements were compared.
    combinations: usize,
    steps: usize,
    depth: usize,
}

impl<'c> Case<'c> {
    /// A case in which each polynomial is at least 0, or is not.
    pub(crate) fn new(
        graph: &'c Graph,
        classes: &'c Classes,
        atoms: &'c mut Atoms,
        guide: &'c mut dyn Guide,
        assumed: &[(Poly, bool)],
        splits_functions: bool,
    ) -> Step<Self> {
        let mut case = Self {
            graph,
            classes,
            atoms,
            guide,
            premises: Vec::new(),
            decided: HashMap::new(),
            bounded: HashSet::new(),
            non_negative: HashSet::new(),
            is_before: true,
            splits_functions,
            combinations: 0,
            steps: 0,
            depth: 0,
        };
        for (poly, is_true) in assumed {
            case.assume(if *is_true { poly.clone() } else { poly.negated()? });
        }
        Ok(case)
    }

    /// A number for the indices along the axes that an operation combines.
    pub(crate) fn next_combination(&mut self) -> usize {
        self.combinations += 1;
        self.combinations
    }

    /// Adds a premise.
    pub(crate) fn assume(&mut self, poly: Poly) {
        let poly = poly.tightened();
        if poly.as_constant().is_none_or(|constant| constant < 0) && !self.premises.contains(&poly) {
            self.premises.push(poly);
        }
    }

    /// Runs a step of a recursive function.
    pub(crate) fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        (self.depth, self.steps) = (self.depth + 1, self.steps + 1);
        let is_within_limits = self.depth <= MAX_DEPTH && self.steps <= MAX_STEPS;
        let result = if is_within_limits { step(self) } else { stuck("the proof has too many steps") };
        self.depth -= 1;
        result
    }

    /// Whether a polynomial is at least 0; if both is possible, the proof splits into two cases.
    pub(crate) fn ask(&mut self, poly: Poly) -> Step<bool> {
        match self.decide(&poly, true)? {
            Some(is_true) => Ok(is_true),
            None => stuck("it is not known which of two elements is read"),
        }
    }

    /// Whether a polynomial is known to be at least 0.
    pub(crate) fn holds(&mut self, poly: Poly) -> Step<bool> {
        Ok(self.decide(&poly, false)? == Some(true))
    }

    fn decide(&mut self, poly: &Poly, must_decide: bool) -> Step<Option<bool>> {
        let poly = poly.clone().tightened();
        let negated = poly.negated()?;
        for (poly, is_true) in [(&poly, true), (&negated, false)] {
            if self.is_manifest(poly) || self.premises.contains(poly) {
                return Ok(Some(is_true));
            }
        }
        if let Some(&is_true) = self.decided.get(&poly) {
            return Ok(Some(is_true));
        }
        let (combination, is_true) = match self.guide.answer(&self.premises, &poly, must_decide) {
            Answer::Holds(combination) => (combination, true),
            Answer::Fails(combination) => (combination, false),
            Answer::Split => return Err(Stop::Split(poly)),
            Answer::Unknown => return Ok(None),
        };
        self.premises.push(if is_true { negated } else { poly.clone() });
        let is_proved = combination.contradicts(&self.premises);
        self.premises.pop();
        if !is_proved {
            return stuck("a combination of premises proves nothing");
        }
        self.decided.insert(poly, is_true);
        Ok(Some(is_true))
    }

    /// Whether the premises are known to contradict each other.
    pub(crate) fn is_impossible(&mut self) -> bool {
        match self.guide.answer(&self.premises, &Poly::constant(-1), false) {
            Answer::Holds(combination) => combination.contradicts(&self.premises),
            _ => false,
        }
    }

    /// Whether no term of a polynomial can be negative.
    fn is_manifest(&self, poly: &Poly) -> bool {
        poly.terms().all(|(monomial, coefficient)| {
            coefficient >= 0 && monomial.iter().all(|atom| self.non_negative.contains(atom))
        })
    }

    /// Whether two integers are known to be equal.
    pub(crate) fn equal(&mut self, a: &Poly, b: &Poly) -> Step<bool> {
        let difference = a.plus(-1, b)?;
        if let Some(constant) = difference.as_constant() {
            return Ok(constant == 0);
        }
        let opposite = difference.times_constant(-1)?;
        Ok(self.holds(difference)? && self.holds(opposite)?)
    }

    /// Whether lists of integers are known to be equal.
    pub(crate) fn all_equal(&mut self, a: &[Poly], b: &[Poly]) -> Step<bool> {
        let mut are_equal = a.len() == b.len();
        for (a, b) in a.iter().zip(b) {
            are_equal = are_equal && self.equal(a, b)?;
        }
        Ok(are_equal)
    }

    /// The smaller of two integers.
    pub(crate) fn min(&mut self, a: Poly, b: Poly) -> Step<Poly> {
        let condition = b.plus(-1, &a)?;
        match self.without_cases(|case| case.ask(condition))? {
            Some(is_less) => Ok(if is_less { a } else { b }),
            None => {
                let smaller = self.function(Function::Min, vec![Some(a.clone()), Some(b.clone())])?;
                self.assume(a.plus(-1, &smaller)?);
                self.assume(b.plus(-1, &smaller)?);
                Ok(smaller)
            }
        }
    }

    /// The larger of two integers.
    pub(crate) fn max(&mut self, a: &Poly, b: &Poly) -> Step<Poly> {
        let (a, b) = (a.times_constant(-1)?, b.times_constant(-1)?);
        Ok(self.min(a, b)?.times_constant(-1)?)
    }

    /// The value of a function whose cases are not distinguished.
    pub(crate) fn function(&mut self, function: Function, arguments: Vec<Option<Poly>>) -> Step<Poly> {
        self.atom(Atom::Function(function, arguments), None, None)
    }

    /// The result of a computation that may distinguish cases; `None` if it needs cases that are not
    /// distinguished.
    pub(crate) fn without_cases<T>(&mut self, compute: impl FnOnce(&mut Self) -> Step<T>) -> Step<Option<T>> {
        match compute(self) {
            Err(Stop::Split(_)) if !self.splits_functions => Ok(None),
            result => result.map(Some),
        }
    }

    /// `a / b` rounded down, where `b` must be known to be at least 1. Multiples of `b` are divided exactly.
    pub(crate) fn quotient(&mut self, a: &Poly, b: &Poly) -> Step<Poly> {
        let last = b.plus_constant(-1)?;
        if !self.holds(last.clone())? {
            return Err(Stop::Opaque);
        }
        let (whole, rest) = a.divided(b);
        if self.holds(rest.clone())? && self.holds(last.plus(-1, &rest)?)? {
            return Ok(whole);
        }
        let atom = self.atoms.id(Atom::Quotient(rest.clone(), b.clone()));
        let quotient = Poly::atom(atom);
        if self.bounded.insert(atom) {
            let remainder = rest.plus(-1, &b.times(&quotient)?)?;
            self.assume(last.plus(-1, &remainder)?);
            self.assume(remainder);
            if self.holds(rest)? {
                self.non_negative.insert(atom);
                self.assume(quotient.clone());
            }
        }
        Ok(whole.plus(1, &quotient)?)
    }

    /// An atom with bounds.
    pub(crate) fn atom(&mut self, atom: Atom, low: Option<i64>, high: Option<Poly>) -> Step<Poly> {
        let atom = self.atoms.id(atom);
        let poly = Poly::atom(atom);
        if self.bounded.insert(atom) {
            if let Some(low) = low {
                self.assume(poly.plus_constant(-i128::from(low))?);
                if low >= 0 {
                    self.non_negative.insert(atom);
                }
            }
            if let Some(high) = high {
                self.assume(high.plus(-1, &poly)?);
            }
        }
        Ok(poly)
    }

    /// The earliest value that is known to equal a value.
    pub(crate) fn first(&self, value: Value) -> Value {
        self.classes.first(value)
    }

    /// The number of axes.
    pub(crate) fn rank(&self, value: Value) -> Step<usize> {
        Ok(needed(self.graph.dims(value))?.len())
    }

    /// The size of an axis.
    pub(crate) fn dim(&mut self, value: Value, axis: usize) -> Step<Poly> {
        let value = self.first(value);
        match needed(self.graph.dims(value).and_then(|dims| dims.get(axis)))? {
            Size::Any(low, high) => match self.nested(|case| if_known(case.computed_size(value, axis)))? {
                Some(size) => Ok(size),
                None => self.atom(
                    Atom::Dim(value, axis),
                    Some(*low),
                    high.map(|high| Poly::constant(high.into())),
                ),
            },
            size => {
                let size = self.size(size)?;
                if self.is_before {
                    self.assume(size.clone());
                }
                Ok(size)
            }
        }
    }

    /// The sizes of all axes.
    pub(crate) fn dims(&mut self, value: Value) -> Step<Vec<Poly>> {
        (0..self.rank(self.first(value))?).map(|axis| self.dim(value, axis)).collect()
    }

    fn size(&mut self, size: &Size) -> Step<Poly> {
        use crate::graph::SizeOp::*;
        self.nested(|case| match size {
            Size::Int(int) => Ok(Poly::constant((*int).into())),
            Size::Any(..) => stuck("a size is not known"),
            Size::Dim(value, axis) => case.dim(*value, *axis),
            Size::Element(value, index) => {
                let rank = case.rank(*value)?;
                case.integer(*value, &vec![Poly::constant(*index as i128); rank])
            }
            Size::Of(op, both) => {
                let (a, b) = (case.size(&both[0])?, case.size(&both[1])?);
                match op {
                    Add => Ok(a.plus(1, &b)?),
                    Multiply => Ok(a.times(&b)?),
                    Min => case.min(a, b),
                    Max => case.max(&a, &b),
                    FloorDivide => case.quotient(&a, &b),
                }
            }
        })
    }
}
