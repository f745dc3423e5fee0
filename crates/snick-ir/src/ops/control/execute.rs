//! Execution of TensorIterator, Loop and If. The caller supplies a [`RunBody`], which computes the Results of
//! a body from its Parameters.

use snick_shape::ShapeSpec;
use snick_tensor::Tensor;
use snick_tensor::kernels::concat;

use super::iterate::{ITERATIONS_DIFFER, is_whole, output_parts};
use super::no_trips::no_parts;
use super::port_map::{Cut, PortLink, PortMap, Purpose};
use super::subgraph::{SubGraph, SubGraphKind};
use crate::{Graph, Op, OpError, normalize_axis};

/// A callback that runs the body with the given index: takes the values of its Parameters, returns the values
/// of its Results.
pub type RunBody<'r> = dyn FnMut(usize, &[Tensor]) -> Result<Vec<Tensor>, OpError> + 'r;

impl SubGraph {
    /// Computes the outputs for concrete inputs.
    ///
    /// # Errors
    /// If a body fails, or if the inputs contradict the port map.
    pub fn execute(&self, inputs: &[Tensor], run: &mut RunBody) -> Result<Vec<Tensor>, OpError> {
        match self.kind {
            SubGraphKind::If => self.branch(inputs, run),
            SubGraphKind::TensorIterator => {
                let trips = parts(&self.maps[0], inputs)?;
                self.iterate(inputs, Some(trips), true, run)
            }
            SubGraphKind::Loop => {
                let trips = number("the number of iterations", input(inputs, 0)?)?;
                let starts = number("the condition", input(inputs, 1)?)? != 0;
                self.iterate(inputs, u64::try_from(trips).ok(), starts, run)
            }
        }
    }

    fn branch(&self, inputs: &[Tensor], run: &mut RunBody) -> Result<Vec<Tensor>, OpError> {
        let holds = number("the condition", input(inputs, 0)?)? != 0;
        let taken = usize::from(!holds);
        let (Some(map), Some(body)) = (self.maps.get(taken), self.bodies.get(taken)) else {
            return Err(OpError::mismatch("the number of bodies", self.bodies.len(), self.roles().len()));
        };
        let mut arguments = vec![None; body.parameters().count()];
        for link in &map.inputs {
            enter(&mut arguments, link, link.external.map(|port| input(inputs, port)).transpose()?.cloned());
        }
        let results = run(taken, &complete(arguments)?)?;
        let values =
            map.outputs.iter().map(|link| Ok((link.external, result(&results, link.internal)?.clone())));
        self.collect(values)
    }

    /// Runs the body until the condition is false, at most `trips` times.
    fn iterate(
        &self,
        inputs: &[Tensor],
        trips: Option<u64>,
        starts: bool,
        run: &mut RunBody,
    ) -> Result<Vec<Tensor>, OpError> {
        let (Some(map), Some(body)) = (self.maps.first(), self.bodies.first()) else {
            return Err(OpError::mismatch("the number of bodies", self.bodies.len(), 1));
        };
        let mut arguments = vec![None; body.parameters().count()];
        for link in map.inputs.iter().filter(|link| link.cut.is_none()) {
            enter(&mut arguments, link, link.external.map(|port| input(inputs, port)).transpose()?.cloned());
        }
        let condition = map.with_purpose(Purpose::ExecutionCondition).map(|link| link.internal);
        let mut made: Vec<Vec<Tensor>> = vec![Vec::new(); map.outputs.len()];
        let mut results = None;
        let mut goes_on = starts;
        let mut trip = 0;
        while goes_on && trips.is_none_or(|trips| trip < trips) {
            for link in &map.inputs {
                match (link.external, link.cut, link.purpose) {
                    (Some(port), Some(cut), _) => {
                        enter(&mut arguments, link, Some(part(input(inputs, port)?, cut, trip)?));
                    }
                    (None, _, Some(Purpose::CurrentIteration)) => {
                        enter(&mut arguments, link, Some(counter(body, link.internal, trip)?));
                    }
                    _ => {}
                }
            }
            let given = run(0, &complete(arguments.clone())?)?;
            for (link, parts) in map.outputs.iter().zip(&mut made) {
                if let Some(cut) = link.cut {
                    parts.push(fitting(result(&given, link.internal)?, cut)?);
                }
            }
            for &(from, to) in &map.back_edges {
                if let Some(argument) = arguments.get_mut(to) {
                    *argument = Some(result(&given, from)?.clone());
                }
            }
            if let Some(condition) = condition {
                goes_on = number("the condition", result(&given, condition)?)? != 0;
            }
            results = Some(given);
            trip += 1;
        }
        let last = |number: usize| match &results {
            Some(results) => result(results, number).cloned(),
            // If there are no iterations, a state keeps its initial value.
            None => match map.back_edges.iter().find(|(from, _)| *from == number) {
                Some(&(_, to)) => argument(&arguments, to),
                None => Err(OpError::NoValue {
                    what: format!("Result {number} of the body"),
                    why: "no iteration runs".into(),
                }),
            },
        };
        let values = map.outputs.iter().zip(made).filter(|(link, _)| link.external.is_some());
        self.collect(values.map(|(link, parts)| {
            let value = match link.cut {
                Some(cut) if parts.is_empty() => no_parts(body, map, link.internal, cut, inputs),
                Some(cut) => join(parts, cut),
                None => last(link.internal),
            };
            Ok((link.external, value?))
        }))
    }

    /// Sorts the outputs by port.
    fn collect(
        &self,
        values: impl Iterator<Item = Result<(Option<usize>, Tensor), OpError>>,
    ) -> Result<Vec<Tensor>, OpError> {
        let mut outputs = vec![None; self.outputs()];
        for value in values {
            let (port, value) = value?;
            if let Some(out) = port.and_then(|port| outputs.get_mut(port)) {
                *out = Some(value);
            }
        }
        let complete = outputs.into_iter().collect::<Option<Vec<_>>>();
        complete
            .ok_or_else(|| OpError::mismatch("the port map", "missing an output", "a Result for each output"))
    }
}

fn input(inputs: &[Tensor], port: usize) -> Result<&Tensor, OpError> {
    inputs.get(port).ok_or(OpError::NotConnected { port })
}

fn result(results: &[Tensor], number: usize) -> Result<&Tensor, OpError> {
    results.get(number).ok_or_else(|| OpError::mismatch("the Results of the body", results.len(), number + 1))
}

fn enter(arguments: &mut [Option<Tensor>], link: &PortLink, value: Option<Tensor>) {
    if let (Some(argument), Some(value)) = (arguments.get_mut(link.internal), value) {
        *argument = Some(value);
    }
}

fn argument(arguments: &[Option<Tensor>], number: usize) -> Result<Tensor, OpError> {
    let missing = || OpError::NoValue {
        what: format!("Parameter {number} of the body"),
        why: "the port map has no input for it".into(),
    };
    arguments.get(number).cloned().flatten().ok_or_else(missing)
}

fn complete(arguments: Vec<Option<Tensor>>) -> Result<Vec<Tensor>, OpError> {
    (0..arguments.len()).map(|number| argument(&arguments, number)).collect()
}

/// Reads an integer or boolean from the first element of a tensor, which usually has only one.
fn number(what: &str, tensor: &Tensor) -> Result<i64, OpError> {
    is_whole(what, tensor.element_type())?;
    let empty = || OpError::mismatch(format!("the number of elements of {what}"), 0, "1");
    tensor.to_i64_vec()?.first().copied().ok_or_else(empty)
}

/// The iteration number with the type of its Parameter: a scalar, or a vector of one element.
fn counter(body: &Graph, parameter: usize, trip: u64) -> Result<Tensor, OpError> {
    let declared = body.parameters().nth(parameter).map(|id| body.node(id).op());
    let number = Tensor::scalar(i64::try_from(trip).unwrap_or(i64::MAX));
    let Some(Op::Parameter(declared)) = declared else { return Ok(number) };
    let number = number.cast(declared.element_type)?;
    let is_vector = matches!(&declared.shape, ShapeSpec::Dims(dims) if dims.len() == 1);
    Ok(if is_vector { number.unsqueeze(0)? } else { number })
}

/// The start of the first part on an axis, and the number of parts.
///
/// # Errors
/// If the parts are not adjacent, or do not fill the range exactly.
pub fn parts_of(cut: Cut, size: usize) -> Result<(usize, usize), OpError> {
    let wrong = || {
        let Cut { start, end, stride, part_size, .. } = cut;
        let got = format!("start {start}, end {end}, stride {stride} and part_size {part_size}");
        OpError::mismatch("a slicing", got, format!("parts that fill an axis of size {size}"))
    };
    let behind = i64::try_from(size).ok().and_then(|size| size.checked_add(1)).ok_or_else(wrong)?;
    let border = |at: i64| if at < 0 { behind.checked_add(at) } else { Some(at) };
    let (start, end) = (border(cut.start).ok_or_else(wrong)?, border(cut.end).ok_or_else(wrong)?);
    let (first, last) = if cut.stride < 0 { (end, start) } else { (start, end) };
    let step = cut.stride.unsigned_abs();
    let fits = 0 <= first && first < last && last < behind && cut.part_size.unsigned_abs() == step;
    let length = last.abs_diff(first);
    if !fits || step == 0 || length % step != 0 {
        return Err(wrong());
    }
    Ok((usize::try_from(first).map_err(|_| wrong())?, usize::try_from(length / step).map_err(|_| wrong())?))
}

/// The number of iterations of a TensorIterator.
fn parts(map: &PortMap, inputs: &[Tensor]) -> Result<u64, OpError> {
    let mut count = None;
    for link in &map.inputs {
        let (Some(port), Some(cut)) = (link.external, link.cut) else { continue };
        let data = input(inputs, port)?;
        let axis = normalize_axis(cut.axis, data.rank())?;
        let found = parts_of(cut, data.dims()[axis])?.1;
        if *count.get_or_insert(found) != found {
            return Err(OpError::conflict(ITERATIONS_DIFFER, count.unwrap_or(0), found));
        }
    }
    match count {
        Some(count) => Ok(count as u64),
        None => {
            let made = map.outputs.iter().find_map(|link| link.cut);
            Ok(made.map_or(1, |cut| u64::try_from(output_parts(&cut)).unwrap_or(0)))
        }
    }
}

/// The slice of `data` for one iteration, as a view.
fn part(data: &Tensor, cut: Cut, trip: u64) -> Result<Tensor, OpError> {
    let axis = normalize_axis(cut.axis, data.rank())?;
    let (first, count) = parts_of(cut, data.dims()[axis])?;
    let size = usize::try_from(cut.part_size).unwrap_or(0);
    let past = || {
        OpError::out_of_range("iteration", i64::try_from(trip).unwrap_or(i64::MAX), format!("0 to {count}"))
    };
    let trip = usize::try_from(trip).ok().filter(|&trip| trip < count).ok_or_else(past)?;
    let at = if cut.stride < 0 { count - 1 - trip } else { trip };
    Ok(data.slice(axis, first + at * size, size, 1)?)
}

/// Checks that a part of an output has the size of the stride; a scalar counts as one element.
fn fitting(part: &Tensor, cut: Cut) -> Result<Tensor, OpError> {
    let part = if part.rank() == 0 { part.unsqueeze(0)? } else { part.clone() };
    let axis = normalize_axis(cut.axis, part.rank())?;
    let (size, step) = (part.dims()[axis], cut.stride.unsigned_abs());
    if u64::try_from(size) != Ok(step) {
        return Err(OpError::mismatch(format!("the size of a part on axis {axis}"), size, step));
    }
    Ok(part)
}

/// Concatenates the parts, in iteration order or reversed.
fn join(mut parts: Vec<Tensor>, cut: Cut) -> Result<Tensor, OpError> {
    if cut.stride < 0 {
        parts.reverse();
    }
    let axis = normalize_axis(cut.axis, parts.first().map_or(0, Tensor::rank))?;
    Ok(concat(&parts.iter().collect::<Vec<_>>(), axis)?)
}
