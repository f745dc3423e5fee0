//! DynamicQuantize, from OpenVINO's plug-ins.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector};

use super::rms::output_type;
use crate::ops::control::opaque::declared_facts;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError, RawNode, normalize_each_axis};

op! {
    /// Quantizes data to integers, with a scale for each group of elements. Outputs: the quantized data; the
    /// scales; the zero points, if they are a separate output; and the sums of the groups, if
    /// `precomputed_reduction` is set. Newer OpenVINO releases do not write the attributes; inference then
    /// uses the declared outputs. Shape inference only; cannot be run.
    #[op(
        "DynamicQuantize", since = [1], inputs = Arity::exactly(1),
        category = Quantisation, traits = [PURE], name = internal(), check = Self::check
    )]
    pub struct DynamicQuantize {
        /// Whether there are zero points.
        pub quantization_type: QuantizationType = QuantizationType::Symmetric,
        /// The element type of the integers.
        pub quantization_dt: ElementType = ElementType::Dynamic,
        /// The element type of the scales.
        pub scale_dt: ElementType = ElementType::Dynamic,
        /// The element type of the zero points.
        pub zp_dt: ElementType = ElementType::Dynamic,
        /// The element type of the sums.
        pub precomputed_reduction_dt: ElementType = ElementType::Dynamic,
        /// Whether the sums of the groups are an output.
        pub precomputed_reduction: bool = false,
        /// The group size on each axis; 18446744073709551615 for the whole axis.
        pub group_sizes: Option<Vec<String>>,
        /// The permutation from the axes of the data to the axes of the scales; empty for none.
        pub scales_zp_output_order: SmallVector<i64, 4> = SmallVector::new(),
        /// Where zero points are stored.
        pub output_storage_type: StorageType = StorageType::Planar,
    }
}

/// Whether there are zero points.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum QuantizationType {
    /// No zero points.
    Symmetric,
    /// One zero point per scale.
    Asymmetric,
}

attr_words!(QuantizationType { Symmetric = "symmetric", Asymmetric = "asymmetric" });

/// Where zero points are stored.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum StorageType {
    /// In a separate output.
    Planar,
    /// After each scale, in the output of the scales.
    Interleaved,
}

attr_words!(StorageType { Planar = "planar", Interleaved = "interleaved_scales_zp" });

impl InferOp for DynamicQuantize {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let mut facts: Vec<Fact> = declared_facts(cx).into_iter().collect();
        let scales = self.scales(cx)?;
        let types = self.outputs();
        facts.resize_with(facts.len().max(types.len()), Fact::unknown);
        for (at, fact) in facts.iter_mut().enumerate() {
            let shape = if at == 0 { Some(cx.shape(0).clone()) } else { scales.clone() };
            let own = types.get(at).copied().unwrap_or(ElementType::Dynamic);
            let shape = shape.unwrap_or_else(|| fact.shape.clone());
            *fact = Fact::new(output_type(own, fact.element_type), shape);
        }
        Ok(facts.into_iter().collect())
    }
}

impl DynamicQuantize {
    fn check(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.groups() {
            Some(Err(())) => Err(raw.attrs.bad("group_sizes", "sizes of 1 or more")),
            _ => Ok(()),
        }
    }

    /// The group size on each axis; `None` for the whole axis.
    fn groups(&self) -> Option<Result<Vec<Option<i64>>, ()>> {
        let size = |text: &String| match text.trim().parse::<u64>() {
            Ok(u64::MAX) => Ok(None),
            Ok(size @ 1..) => i64::try_from(size).map(Some).map_err(|_| ()),
            _ => Err(()),
        };
        self.group_sizes.as_ref().map(|sizes| sizes.iter().map(size).collect())
    }

    /// The element type of each output.
    fn outputs(&self) -> Vec<ElementType> {
        let has_zero_points = self.quantization_type == QuantizationType::Asymmetric
            && self.output_storage_type == StorageType::Planar;
        let zero_points = has_zero_points.then_some(self.zp_dt);
        let sums = self.precomputed_reduction.then_some(self.precomputed_reduction_dt);
        [self.quantization_dt, self.scale_dt].into_iter().chain(zero_points).chain(sums).collect()
    }

    /// The shape of the scales, zero points and sums, if the attributes determine it.
    fn scales(&self, cx: &mut Infer) -> Result<Option<Shape>, OpError> {
        let (Some(Ok(groups)), Some(dims)) = (self.groups(), cx.shape(0).dims()) else { return Ok(None) };
        if self.output_storage_type == StorageType::Interleaved {
            return Ok(None);
        }
        if groups.len() != dims.len() {
            return Err(OpError::mismatch("the number of group sizes", groups.len(), dims.len()));
        }
        let scales: Vec<SymExpr> = dims
            .iter()
            .zip(groups)
            .map(|(dim, group)| match group {
                Some(size) => cx.ceil_div(dim, &size.into()),
                // An axis that is not divided into groups has one scale, or none if the axis is empty.
                None => cx.min(dim, &1.into()),
            })
            .collect();
        let order = &self.scales_zp_output_order;
        if order.is_empty() {
            return Ok(Some(Shape::ranked(scales)));
        }
        if order.len() != dims.len() {
            return Err(OpError::mismatch("the number of axes of the scales", order.len(), dims.len()));
        }
        let order = normalize_each_axis(order, dims.len())?;
        Ok(Some(Shape::ranked(order.iter().map(|&axis| scales[axis].clone()))))
    }
}

only_inferred!(DynamicQuantize);
