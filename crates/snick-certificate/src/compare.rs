//! Compares two values element by element.

use crate::answer::Guide;
use crate::atoms::{Atom, Atoms};
use crate::case::{Case, Step, Stop, if_known, stuck};
use crate::classes::Classes;
use crate::graph::{Graph, Value};
use crate::meaning::Element;
use crate::poly::Poly;

/// Largest number of cases of a proof.
const MAX_CASES: usize = 2_000;

/// Proves that two values have the same element type, shape and elements, and that the second exists where the
/// first does.
///
/// # Errors
/// The reason why this is not proved.
pub(crate) fn prove(
    graph: &Graph,
    classes: &Classes,
    (before, after): (Value, Value),
    guide: &mut dyn Guide,
) -> Result<(), String> {
    let mut atoms = Atoms::default();
    // The cases of minima, maxima and ranges are rarely needed, and their number grows exponentially.
    prove_cases(graph, classes, (before, after), &mut atoms, guide, false)
        .or_else(|_| prove_cases(graph, classes, (before, after), &mut atoms, guide, true))
}

fn prove_cases(
    graph: &Graph,
    classes: &Classes,
    (before, after): (Value, Value),
    atoms: &mut Atoms,
    guide: &mut dyn Guide,
    splits_functions: bool,
) -> Result<(), String> {
    let mut cases = vec![Vec::new()];
    for _ in 0..MAX_CASES {
        let Some(assumed) = cases.pop() else { return Ok(()) };
        let case = Case::new(graph, classes, atoms, guide, &assumed, splits_functions);
        let proved = case.and_then(|mut case| {
            let result = case.values_are_equal(before, after);
            // A case that cannot occur proves nothing wrong.
            let is_stuck = matches!(result, Err(Stop::Stuck(_) | Stop::Opaque));
            if is_stuck && case.is_impossible() { Ok(()) } else { result }
        });
        match proved {
            Ok(()) => {}
            Err(Stop::Stuck(reason)) => return Err(reason),
            Err(Stop::Opaque) => return Err("the meaning of a layer is not known".to_string()),
            Err(Stop::Split(condition)) => {
                for is_true in [false, true] {
                    cases.push([assumed.as_slice(), &[(condition.clone(), is_true)]].concat());
                }
            }
        }
    }
    if cases.is_empty() { Ok(()) } else { Err("the proof has too many cases".to_string()) }
}

impl Case<'_> {
    fn values_are_equal(&mut self, before: Value, after: Value) -> Step<()> {
        if self.element_type(before) != self.element_type(after) {
            return stuck("the element types differ");
        }
        let old = self.dims(before)?;
        self.is_before = false;
        let new = self.dims(after)?;
        if old.len() != new.len() {
            return stuck(format!("the ranks are {} and {}", old.len(), new.len()));
        }
        for (axis, (a, b)) in old.iter().zip(&new).enumerate() {
            if !self.equal(a, b)? {
                return stuck(format!("the size of axis {axis} may differ"));
            }
        }
        let mut index = Vec::new();
        for (axis, dim) in old.iter().enumerate() {
            // An index exists, so the axis is not empty.
            let last = dim.plus_constant(-1)?;
            self.assume(last.clone());
            index.push(self.atom(Atom::Index(axis), Some(0), Some(last))?);
        }
        self.elements_are_equal((before, index.clone()), (after, index))
    }

    fn elements_are_equal(&mut self, before: Element, after: Element) -> Step<()> {
        self.nested(|case| {
            case.is_before = true;
            let old = case.origins(before)?;
            case.is_before = false;
            let new = case.origins(after)?;
            for (a, i) in &old {
                for (b, j) in &new {
                    if a == b && case.all_equal(i, j)? {
                        return Ok(());
                    }
                }
            }
            let (Some((a, i)), Some((b, j))) = (old.last(), new.last()) else { return stuck("no element") };
            case.computed_elements_are_equal((*a, i), (*b, j))
        })
    }

    /// Compares elements that are no copies of others.
    fn computed_elements_are_equal(
        &mut self,
        (a, i): (Value, &[Poly]),
        (b, j): (Value, &[Poly]),
    ) -> Step<()> {
        let graph = self.graph;
        let (Some(old), Some(new)) = (graph.node(a), graph.node(b)) else { return stuck("no such value") };
        if self.element_type(a) != self.element_type(b) {
            return stuck(format!("{} and {} have different element types", old.op, new.op));
        }
        if let Some(before) = if_known(self.known_integer(a, i))?
            && let Some(after) = if_known(self.known_integer(b, j))?
            && self.equal(&before, &after)?
        {
            return Ok(());
        }
        if old.op != new.op
            || !old.other_attributes().eq(new.other_attributes())
            || old.inputs.len() != new.inputs.len()
        {
            return stuck(format!("an element of {} is compared with one of {}", old.op, new.op));
        }
        if graph.function(a).is_none() || graph.function(b).is_none() {
            return stuck(format!("two layers {} may differ", old.op));
        }
        let have_equal_inputs = old.attributes == new.attributes
            && old.bodies == new.bodies
            && a.port == b.port
            && old
                .inputs
                .iter()
                .zip(&new.inputs)
                .all(|(x, y)| x.map(|x| self.first(x)) == y.map(|y| self.first(y)));
        if have_equal_inputs && self.all_equal(i, j)? {
            return Ok(());
        }
        let [before, mut after] = match if_known(self.combined([(a, old, i), (b, new, j)]))? {
            Some(Some(terms)) => terms,
            // There is nothing to combine.
            Some(None) => return Ok(()),
            None => return stuck(format!("the inputs of two layers {} may differ", old.op)),
        };
        match self.lists_are_equal(&before, &after) {
            Err(Stop::Stuck(_) | Stop::Opaque) if old.is_commutative() => {
                after.reverse();
                self.lists_are_equal(&before, &after)
            }
            result => result,
        }
    }

    fn lists_are_equal(&mut self, before: &[Element], after: &[Element]) -> Step<()> {
        before.iter().zip(after).try_for_each(|(a, b)| self.elements_are_equal(a.clone(), b.clone()))
    }
}
