//! The state of lowering: the values so far, and helpers that write operations.

use std::collections::HashSet;

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::code::{Code, Part, list, parts};
use super::types::{AxisSlice, Num, Tensor, TensorType, Value, known_sizes, malformed};
use crate::stablehlo::hlo::{Function, Op, Region, ValueId};
use crate::stablehlo::literal::Literal;
use crate::stablehlo::scope::ScopedMap;

/// A result whose error defaults to [`OpError`].
pub(super) type Result<T = (), E = OpError> = std::result::Result<T, E>;

/// Maximum number of elements of a vector of sizes.
const MAX_NUMBERS: i64 = 16;

/// Lowers a function.
pub(super) struct Lowering<'f> {
    pub(super) function: &'f Function,
    /// Lowers an operation.
    lower: fn(&mut Lowering<'f>, &Op) -> Result,
    pub(super) code: Code,
    /// The values that were lowered so far, in up to three forms: as a tensor; as numbers, if it is an integer
    /// scalar or a short vector; and as an i1, if it is a boolean scalar.
    pub(super) tensors: ScopedMap<ValueId, Tensor>,
    pub(super) numbers: ScopedMap<ValueId, Vec<Num>>,
    pub(super) flags: ScopedMap<ValueId, Value>,
    /// The element that all elements of a value are equal to, as a literal.
    pub(super) uniform: ScopedMap<ValueId, String>,
    /// For each slice, the value that it is a part of.
    pub(super) slices: ScopedMap<ValueId, (Tensor, Vec<AxisSlice>)>,
    /// Numbers that are elements of tensors, so that they may be negative where a size is expected.
    elements: HashSet<Value>,
}

/// The state outside of an open block.
pub(super) struct Outside {
    code: super::code::Outside,
    marks: [usize; 5],
}

impl<'f> Lowering<'f> {
    pub(super) fn new(function: &'f Function, lower: fn(&mut Lowering<'f>, &Op) -> Result) -> Self {
        Self {
            function,
            lower,
            code: Code::default(),
            tensors: ScopedMap::default(),
            numbers: ScopedMap::default(),
            flags: ScopedMap::default(),
            uniform: ScopedMap::default(),
            slices: ScopedMap::default(),
            elements: HashSet::new(),
        }
    }

    /// Opens a block. Values that are defined inside are not visible outside.
    pub(super) fn open(&mut self) -> Outside {
        let marks = [
            self.tensors.mark(),
            self.numbers.mark(),
            self.flags.mark(),
            self.uniform.mark(),
            self.slices.mark(),
        ];
        Outside { code: self.code.open(), marks }
    }

    /// Closes the innermost block.
    pub(super) fn close(&mut self, outside: Outside, arguments: Vec<(Value, String)>) -> super::code::Block {
        let [tensors, numbers, flags, uniform, slices] = outside.marks;
        self.slices.forget(slices);
        self.tensors.forget(tensors);
        self.numbers.forget(numbers);
        self.flags.forget(flags);
        self.uniform.forget(uniform);
        self.code.close(outside.code, arguments)
    }

    /// Lowers the operations of a region. After an error, `code.place` names the layer that failed.
    pub(super) fn region(&mut self, region: &Region) -> Result {
        let around = self.code.place;
        for op in &region.ops {
            self.code.place = op.place;
            (self.lower)(self, op)?;
        }
        self.code.place = around;
        Ok(())
    }

    /// The type of a value.
    pub(super) fn type_of(&self, id: ValueId) -> TensorType {
        self.function.values.get(id).map_or_else(
            || TensorType { element: ElementType::F32, dims: vec![] },
            |value| TensorType::of(&value.ty),
        )
    }

    /// The name of a value.
    pub(super) fn name(&self, id: ValueId) -> &'f str {
        self.function.values.get(id).map_or("", |value| value.base.as_str())
    }

    /// Operand `i` as a tensor.
    pub(super) fn operand(&mut self, op: &Op, i: usize) -> Result<Tensor> {
        self.tensor(*op.operands.get(i).ok_or(OpError::NotConnected { port: i })?)
    }

    /// A value as a tensor.
    pub(super) fn tensor(&mut self, id: ValueId) -> Result<Tensor> {
        if let Some(tensor) = self.tensors.get(&id) {
            return Ok(tensor.clone());
        }
        let ty = self.type_of(id);
        if let Some(&flag) = self.flags.get(&id) {
            // IREE 3.13 does not compile `tensor.from_elements` of i1.
            let tensor = self.filled(flag, &ty, &[]);
            self.tensors.insert(id, tensor.clone());
            return Ok(tensor);
        }
        let elements: Vec<Value> = if let Some(numbers) = self.numbers.get(&id).cloned() {
            numbers.into_iter().map(|number| self.code.scalar_of(number, ty.scalar())).collect()
        } else {
            return Err(malformed("a value"));
        };
        let value = self.code.op(self.name(id), parts!["tensor.from_elements ", &elements, " : ", &ty]);
        let tensor = Tensor::new(value, ty, &[Num::Const(elements.len() as i64)]);
        self.tensors.insert(id, tensor.clone());
        Ok(tensor)
    }

    /// Whether a value can be expressed as numbers: an i32 or i64 scalar or short vector.
    pub(super) fn is_number(&self, id: ValueId) -> bool {
        let ty = self.type_of(id);
        matches!(ty.element, ElementType::I64 | ElementType::I32)
            && match ty.dims.as_slice() {
                [] => true,
                [Some(size)] => *size <= MAX_NUMBERS,
                _ => false,
            }
    }

    /// The elements of a scalar or short vector as numbers.
    pub(super) fn read_numbers(&mut self, id: ValueId) -> Result<Vec<Num>> {
        if let Some(numbers) = self.numbers.get(&id) {
            return Ok(numbers.clone());
        }
        let tensor = self.tensor(id)?;
        let count = match tensor.ty.dims.as_slice() {
            [] => None,
            [Some(size)] => Some(*size),
            _ => return Err(malformed("a vector of sizes")),
        };
        let scalar = tensor.ty.scalar();
        let places: Vec<Vec<Num>> = match count {
            None => vec![vec![]],
            Some(count) => (0..count).map(|place| vec![Num::Const(place)]).collect(),
        };
        let mut numbers = Vec::with_capacity(places.len());
        for place in places {
            let element = self.code.element(&tensor, &place);
            let number = self.code.index_of(element, scalar);
            if let Num::Value(value) = number {
                self.elements.insert(value);
            }
            numbers.push(number);
        }
        self.numbers.insert(id, numbers.clone());
        Ok(numbers)
    }

    /// Operand `i`, a scalar, as a number.
    pub(super) fn number(&mut self, op: &Op, i: usize) -> Result<Num> {
        self.operand_numbers(op, i)?.first().copied().ok_or_else(|| malformed("a number"))
    }

    /// Operand `i` as numbers.
    pub(super) fn operand_numbers(&mut self, op: &Op, i: usize) -> Result<Vec<Num>> {
        self.read_numbers(*op.operands.get(i).ok_or(OpError::NotConnected { port: i })?)
    }

    /// A boolean scalar as an i1.
    pub(super) fn flag(&mut self, id: ValueId) -> Result<Value> {
        if let Some(&flag) = self.flags.get(&id) {
            return Ok(flag);
        }
        let tensor = self.tensor(id)?;
        let flag = self.code.element(&tensor, &[]);
        self.flags.insert(id, flag);
        Ok(flag)
    }

    /// A scalar value as a scalar of its element type.
    pub(super) fn scalar(&mut self, id: ValueId) -> Result<Value> {
        if let Some(literal) = self.uniform.get(&id).cloned() {
            return Ok(self.literal(&literal, self.type_of(id).element));
        }
        let tensor = self.tensor(id)?;
        Ok(self.code.element(&tensor, &[]))
    }

    /// A constant scalar.
    pub(super) fn literal(&mut self, literal: &str, element: ElementType) -> Value {
        let text = match element {
            ElementType::Boolean => format!("arith.constant {literal}"),
            _ => format!("arith.constant {literal} : {}", super::types::scalar(element)),
        };
        self.code.once(&text, &[], parts![text.as_str()])
    }

    /// A constant scalar of any number type.
    pub(super) fn scalar_constant(&mut self, value: f64, element: ElementType) -> Value {
        let literal = match element {
            ElementType::Boolean => (value != 0.0).to_string(),
            _ if element.is_integer() => format!("{}", value as i64),
            _ => crate::stablehlo::literal::real(value, element),
        };
        self.literal(&literal, element)
    }

    /// A tensor without defined elements, as the destination of an operation. A negative size becomes 0.
    pub(super) fn empty(&mut self, ty: &TensorType, sizes: &[Num]) -> Tensor {
        let mut sizes = known_sizes(ty, sizes);
        for size in &mut sizes {
            if matches!(size, Num::Value(value) if self.elements.contains(value)) {
                *size = self.code.maximum(*size, Num::Const(0));
            }
        }
        let open = ty.dims.iter().zip(&sizes).filter(|(dim, _)| dim.is_none());
        let open: Vec<Num> = open.map(|(_, &size)| size).collect();
        let open: Vec<Value> = open.into_iter().map(|size| self.code.index(size)).collect();
        let value = self.code.op("", parts!["tensor.empty(", &open, ") : ", ty]);
        Tensor { value, ty: ty.clone(), sizes }
    }

    /// A tensor with all elements equal to a scalar.
    pub(super) fn filled(&mut self, element: Value, ty: &TensorType, sizes: &[Num]) -> Tensor {
        let empty = self.empty(ty, sizes);
        let text = parts![
            "linalg.fill ins(",
            element,
            format!(" : {}) outs(", ty.scalar()),
            empty.value,
            " : ",
            ty,
            ") -> ",
            ty
        ];
        let value = self.code.op("", text);
        Tensor { value, ..empty }
    }

    /// The same tensor in a type that differs only in which dims are dynamic.
    pub(super) fn cast(&mut self, x: &Tensor, ty: &TensorType) -> Tensor {
        if x.ty == *ty {
            return x.clone();
        }
        let value = self.code.op("", parts!["tensor.cast ", x.value, " : ", &x.ty, " to ", ty]);
        Tensor::new(value, ty.clone(), &x.sizes)
    }

    /// Writes a constant.
    pub(super) fn constant(&mut self, op: &Op, literal: &Literal) -> Result {
        let id = result(op)?;
        let ty = self.type_of(id);
        if let Some(numbers) = literal.integers().filter(|_| self.is_number(id)) {
            let count = ty.dims.first().map_or(1, |dim| dim.unwrap_or(0)) as usize;
            // A single number stands for all elements.
            let numbers = if numbers.len() == 1 { vec![numbers[0]; count] } else { numbers };
            self.numbers.insert(id, numbers.into_iter().map(Num::Const).collect());
        }
        if let Some(one) = literal.uniform() {
            self.uniform.insert(id, one.to_string());
        }
        let value = match literal {
            Literal::Bytes(tensor) if tensor.element_type().bit_width().is_some_and(|bits| bits >= 8) => {
                let number = self.code.resources.len();
                self.code.resources.push((format!("constant_{number}"), tensor.clone()));
                let text = parts!["arith.constant dense_resource<", Part::Resource(number), "> : ", &ty];
                self.code.op(self.name(id), text)
            }
            _ => self.code.op(self.name(id), parts![format!("arith.constant dense<{literal}> : "), &ty]),
        };
        let sizes = vec![Num::Const(0); ty.rank()];
        self.tensors.insert(id, Tensor::new(value, ty, &sizes));
        Ok(())
    }

    /// Declares the arguments of the function.
    pub(super) fn arguments(&mut self) -> Vec<(Value, String)> {
        let function = self.function;
        let mut arguments = Vec::with_capacity(function.body.arguments.len());
        for &id in &function.body.arguments {
            let ty = self.type_of(id);
            let value = self.code.value(self.name(id));
            arguments.push((value, ty.to_string()));
            let tensor = self.code.tensor(value, ty);
            self.tensors.insert(id, tensor);
        }
        arguments
    }

    /// Writes the terminator, and returns the types of the results.
    pub(super) fn finish(&mut self) -> Result<String> {
        self.code.place = self.function.places.len().saturating_sub(1);
        let results = self.function.body.results.clone();
        let results = results.into_iter().map(|id| self.tensor(id)).collect::<Result<Vec<_>>>()?;
        let values: Vec<Value> = results.iter().map(|result| result.value).collect();
        let types = list(results.iter().map(|result| &result.ty));
        let text = if values.is_empty() {
            parts!["return"]
        } else {
            parts!["return ", &values, " : ", types.as_str()]
        };
        self.code.push(vec![], text);
        Ok(types)
    }
}

/// The only result of an operation.
pub(super) fn result(op: &Op) -> Result<ValueId> {
    match op.results.as_slice() {
        [id] => Ok(*id),
        _ => Err(malformed(op.kind.name())),
    }
}
