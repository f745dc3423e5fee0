//! `linalg.generic`: a computation for each point of an iteration space.

use super::code::{list, parts};
use super::lowering::{Lowering, Result};
use super::types::{Num, Tensor, Value};

/// A tensor and the index of its element that a point uses, as expressions such as `d0 + d2`.
pub(super) struct Access {
    pub(super) tensor: Tensor,
    pub(super) at: Vec<String>,
}

impl Access {
    /// The element at the point itself.
    pub(super) fn same(tensor: &Tensor) -> Self {
        Self::axes(tensor, 0..tensor.rank())
    }

    /// The element at these coordinates of the point.
    pub(super) fn axes(tensor: &Tensor, axes: impl IntoIterator<Item = usize>) -> Self {
        Self { tensor: tensor.clone(), at: axes.into_iter().map(|axis| format!("d{axis}")).collect() }
    }
}

/// The coordinates of a point, and how many of the last of them are reduced.
pub(super) struct Space {
    pub(super) rank: usize,
    pub(super) reduced: usize,
}

impl Space {
    pub(super) fn parallel(rank: usize) -> Self {
        Self { rank, reduced: 0 }
    }
}

impl Lowering<'_> {
    /// Computes `out` over a space. The body receives the elements of the inputs, and the element of `out` as
    /// the last one.
    pub(super) fn generic(
        &mut self,
        name: &str,
        space: &Space,
        inputs: &[Access],
        out: &Access,
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Value>,
    ) -> Result<Tensor> {
        let coordinates = list((0..space.rank).map(|axis| format!("d{axis}")));
        let all = || inputs.iter().chain([out]);
        let maps = all().map(|access| format!("({coordinates}) -> ({})", access.at.join(", ")));
        let maps: Vec<String> = maps.collect();
        let maps: Vec<_> = maps.into_iter().map(|map| self.code.map(map)).collect();
        let parallel = std::iter::repeat_n("\"parallel\"", space.rank - space.reduced);
        let iterators = list(parallel.chain(std::iter::repeat_n("\"reduction\"", space.reduced)));
        let outside = self.open();
        let arguments: Vec<Value> = all().map(|_| self.code.value("")).collect();
        let types = all().map(|access| access.tensor.ty.scalar().to_string());
        let declared = arguments.iter().copied().zip(types).collect();
        let result = body(self, &arguments)?;
        let element = out.tensor.ty.scalar();
        self.code.push(vec![], parts!["linalg.yield ", result, format!(" : {element}")]);
        let block = self.close(outside, declared);
        let values: Vec<Value> = inputs.iter().map(|access| access.tensor.value).collect();
        let types = list(inputs.iter().map(|access| &access.tensor.ty));
        let ty = &out.tensor.ty;
        let mut text =
            parts!["linalg.generic {indexing_maps = [", &maps, "], iterator_types = [", iterators, "]}"];
        if !values.is_empty() {
            text.extend(parts![" ins(", &values, " : ", types, ")"]);
        }
        text.extend(parts![" outs(", out.tensor.value, " : ", ty, ") ", block, " -> ", ty]);
        let value = self.code.op(name, text);
        Ok(Tensor { value, ..out.tensor.clone() })
    }

    /// Computes each element of a new tensor from the elements of the inputs.
    pub(super) fn map(
        &mut self,
        name: &str,
        inputs: &[Access],
        ty: &super::types::TensorType,
        sizes: &[Num],
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Value>,
    ) -> Result<Tensor> {
        let out = self.empty(ty, sizes);
        self.generic(name, &Space::parallel(ty.rank()), inputs, &Access::same(&out), body)
    }

    /// The coordinate of the point in the body of a [`Lowering::generic`].
    pub(super) fn coordinate(&mut self, axis: usize) -> Num {
        let text = format!("linalg.index {axis}");
        Num::Value(self.code.once(&text, &[], parts![format!("{text} : index")]))
    }
}
