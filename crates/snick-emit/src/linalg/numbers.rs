//! Arithmetic on numbers of type `index`: sizes and positions. Each result is written once per block.

use snick_ir::OpError;

use super::code::{Code, parts};
use super::types::{Num, Tensor, Value};

impl Code {
    /// The value of a number.
    pub(super) fn index(&mut self, number: Num) -> Value {
        match number {
            Num::Value(value) => value,
            Num::Const(known) => {
                self.once("constant", &[number], parts![format!("arith.constant {known} : index")])
            }
        }
    }

    fn binary(&mut self, op: &str, a: Num, b: Num) -> Num {
        let (x, y) = (self.index(a), self.index(b));
        let result = self.once(op, &[a, b], parts![format!("arith.{op} "), x, ", ", y, " : index"]);
        if op == "addi" {
            self.sums.insert(result, [a, b]);
        }
        Num::Value(result)
    }

    pub(super) fn add(&mut self, a: Num, b: Num) -> Num {
        match (a, b) {
            (Num::Const(0), other) | (other, Num::Const(0)) => other,
            (Num::Const(a), Num::Const(b)) => Num::Const(a.saturating_add(b)),
            // Constants come last, so that equal sums have one form.
            (Num::Const(_), _) => self.add(b, a),
            (Num::Value(sum), Num::Const(more)) => match self.sums.get(&sum) {
                Some(&[x, Num::Const(number)]) => self.add(x, Num::Const(number.saturating_add(more))),
                _ => self.binary("addi", a, b),
            },
            _ => self.binary("addi", a, b),
        }
    }

    pub(super) fn subtract(&mut self, a: Num, b: Num) -> Num {
        match (a, b) {
            (_, Num::Const(b)) if b != i64::MIN => self.add(a, Num::Const(-b)),
            _ if a == b => Num::Const(0),
            _ => self.difference(a, b).unwrap_or_else(|| self.binary("subi", a, b)),
        }
    }

    /// `(x + b) - b` and `(b + x) - b` are `x`.
    fn difference(&self, a: Num, b: Num) -> Option<Num> {
        let Num::Value(sum) = a else { return None };
        let &[x, y] = self.sums.get(&sum)?;
        if y == b { Some(x) } else { (x == b).then_some(y) }
    }

    pub(super) fn multiply(&mut self, a: Num, b: Num) -> Num {
        match (a, b) {
            (Num::Const(1), other) | (other, Num::Const(1)) => other,
            (Num::Const(0), _) | (_, Num::Const(0)) => Num::Const(0),
            (Num::Const(a), Num::Const(b)) => Num::Const(a.saturating_mul(b)),
            (Num::Const(_), _) => self.binary("muli", b, a),
            _ => self.binary("muli", a, b),
        }
    }

    /// The quotient, rounded towards zero.
    pub(super) fn divide(&mut self, a: Num, b: Num) -> Num {
        match (a, b) {
            (_, Num::Const(1)) => a,
            (Num::Const(a), Num::Const(b)) if b != 0 => Num::Const(a.saturating_div(b)),
            _ => self.binary("divsi", a, b),
        }
    }

    pub(super) fn remainder(&mut self, a: Num, b: Num) -> Num {
        match (a, b) {
            (_, Num::Const(1)) => Num::Const(0),
            (Num::Const(a), Num::Const(b)) if b != 0 => Num::Const(a.wrapping_rem(b)),
            _ => self.binary("remsi", a, b),
        }
    }

    pub(super) fn minimum(&mut self, a: Num, b: Num) -> Num {
        match (a, b) {
            (Num::Const(a), Num::Const(b)) => Num::Const(a.min(b)),
            _ if a == b => a,
            _ => self.binary("minsi", a, b),
        }
    }

    pub(super) fn maximum(&mut self, a: Num, b: Num) -> Num {
        match (a, b) {
            (Num::Const(a), Num::Const(b)) => Num::Const(a.max(b)),
            _ if a == b => a,
            _ => self.binary("maxsi", a, b),
        }
    }

    /// A comparison such as `slt`, as an i1.
    pub(super) fn compare(&mut self, predicate: &str, a: Num, b: Num) -> Value {
        let (x, y) = (self.index(a), self.index(b));
        let key = format!("cmpi {predicate}");
        self.once(&key, &[a, b], parts![format!("arith.cmpi {predicate}, "), x, ", ", y, " : index"])
    }

    pub(super) fn choose(&mut self, condition: Value, yes: Num, no: Num) -> Num {
        if yes == no {
            return yes;
        }
        let (x, y) = (self.index(yes), self.index(no));
        let operands = [Num::Value(condition), yes, no];
        let text = parts!["arith.select ", condition, ", ", x, ", ", y, " : index"];
        Num::Value(self.once("select", &operands, text))
    }

    pub(super) fn product(&mut self, numbers: &[Num]) -> Num {
        numbers.iter().fold(Num::Const(1), |all, &number| self.multiply(all, number))
    }

    /// The number of windows: `(size - reach) / stride + 1`, but at least 0.
    pub(super) fn windows(&mut self, size: Num, reach: i64, stride: i64) -> Num {
        let room = self.subtract(size, Num::Const(reach));
        let room = self.add(room, Num::Const(stride));
        let room = self.maximum(room, Num::Const(0));
        self.divide(room, Num::Const(stride))
    }

    /// The size of an axis of a value.
    pub(super) fn dim(&mut self, value: Value, ty: &super::types::TensorType, axis: usize) -> Num {
        match ty.dims.get(axis) {
            Some(&Some(size)) => Num::Const(size),
            _ => {
                let at = self.index(Num::Const(axis as i64));
                let operands = [Num::Value(value), Num::Const(axis as i64)];
                Num::Value(self.once("dim", &operands, parts!["tensor.dim ", value, ", ", at, " : ", ty]))
            }
        }
    }

    /// The sizes of a value.
    pub(super) fn tensor(&mut self, value: Value, ty: super::types::TensorType) -> Tensor {
        let sizes = (0..ty.rank()).map(|axis| self.dim(value, &ty, axis)).collect();
        Tensor { value, ty, sizes }
    }

    /// The scalar `number` of an integer type.
    pub(super) fn scalar_of(&mut self, number: Num, scalar: &str) -> Value {
        match number {
            Num::Const(known) => {
                let key = format!("constant {scalar}");
                self.once(&key, &[number], parts![format!("arith.constant {known} : {scalar}")])
            }
            Num::Value(value) => {
                let text = parts!["arith.index_cast ", value, format!(" : index to {scalar}")];
                self.once(&format!("to {scalar}"), &[number], text)
            }
        }
    }

    /// A number from a scalar of a signed integer type.
    pub(super) fn index_of(&mut self, value: Value, scalar: &str) -> Num {
        let text = parts!["arith.index_cast ", value, format!(" : {scalar} to index")];
        Num::Value(self.once(&format!("from {scalar}"), &[Num::Value(value)], text))
    }

    /// An element of a tensor, as a scalar.
    pub(super) fn element(&mut self, x: &Tensor, at: &[Num]) -> Value {
        let at: Vec<Value> = at.iter().map(|&at| self.index(at)).collect();
        let operands: Vec<Num> = std::iter::once(x.value).chain(at.iter().copied()).map(Num::Value).collect();
        self.once("extract", &operands, parts!["tensor.extract ", x.value, "[", &at, "] : ", &x.ty])
    }
}

/// The steps of an axis that a window covers.
pub(super) fn reach(size: usize, dilation: usize) -> Result<i64, OpError> {
    let reach = size.saturating_sub(1).checked_mul(dilation).and_then(|reach| reach.checked_add(1));
    let reach = reach.and_then(|reach| i64::try_from(reach).ok());
    reach.ok_or_else(|| OpError::unsupported("a window of this size"))
}

/// The padding of an axis, less what its only window does not reach: IREE 3.13 rejects such a rest.
pub(super) fn used_padding(size: Num, [low, high]: [i64; 2], reach: i64, stride: i64) -> [i64; 2] {
    let rest = size.as_const().and_then(|size| size.checked_add(low)?.checked_add(high)?.checked_sub(reach));
    match rest {
        Some(rest) if (1..stride).contains(&rest) => [low, high.saturating_sub(rest)],
        _ => [low, high],
    }
}
