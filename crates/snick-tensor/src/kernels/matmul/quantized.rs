//! Products of quantised codes and integer weights, with int8 dot products (VNNI).
//!
//! **Loop nest**: the loops of [`gemm`](crate::kernels::gemm), whose terms are sums of four products. Once
//! the sums of a tile are complete, they are scaled and written as rows of values.
//!
//! **Layout.** Codes are a `u8` tensor `[.., K]`. Weights are packed as the right operand, four bytes of a
//! column at a time.

use crate::buffer::Buffer;
use crate::kernels::conv::{Columns, MAX_CODES_SUM, QuantizedFilters, values_of};
use crate::kernels::elementwise::{FusedElementwise, Stage};
use crate::kernels::gemm::{
    Epilogue, Factor, MAX_PANEL_COLUMNS, Matrix, PackedLhs, PackedRhs, StoreTile, TilePosition, product,
    write_row,
};
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::vectors::{I8x4Dot, Instructions, Isa, Vector, Vectorised, has_int8_dot};
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

/// A product of the codes of a [`Quantizer`] with weights of 8 bits. Its results are values, which are rounded
/// only after their exact sum.
pub struct QuantizedMatMul {
    /// K / 4 rows, and a column for each output.
    weights: PackedRhs<'static, CodesFirst>,
    /// K.
    depth: usize,
    /// What turns the sums of each output into values, in panels.
    factors: Vec<Columns<f32>>,
    offsets: Vec<Columns<f32>>,
}

impl QuantizedMatMul {
    /// The product of a matrix whose elements have the codes of `input` and the transposed weights `[N, K]`.
    /// `None` if the codes are grouped by channel, K is not a multiple of four or too large, the values would
    /// not be precise, or this machine has no int8 dot products.
    pub fn new(weights: QuantizedFilters, input: &Quantizer) -> Option<Self> {
        let [outputs, depth] = *weights.codes.dims() else { return None };
        let is_supported = depth.is_multiple_of(CHANNELS) && (1..=MAX_CODES_SUM).contains(&depth);
        if !has_int8_dot() || !is_supported || outputs == 0 {
            return None;
        }
        let (rule, integers) = (input.element_rule()?, weights.integers()?);
        if !integers.are_precise() {
            return None;
        }
        let quads: Vec<CodesFirst> = bytemuck::pod_collect_to_vec(&integers.codes);
        let matrix = Matrix::packed(&quads, outputs, depth / CHANNELS).transposed();
        let weights = PackedRhs::new(Isa::best(), &matrix).into_packed();
        let mut factors = vec![[0.0; MAX_PANEL_COLUMNS]; outputs.div_ceil(MAX_PANEL_COLUMNS)];
        let mut offsets = factors.clone();
        let panels = factors.as_flattened_mut().iter_mut().zip(offsets.as_flattened_mut());
        for (output, numbers) in (0..outputs).zip(panels) {
            let [factor, offset] = integers.scaling(output, &rule).map(|number| number as f32);
            if !(factor.is_finite() && offset.is_finite()) {
                return None;
            }
            (*numbers.0, *numbers.1) = (factor, offset);
        }
        Some(Self { weights, depth, factors, offsets })
    }

    /// Multiplies codes `[.., K]` with the weights; the result is `[.., N]`.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn run(&self, codes: &Tensor) -> Result<Tensor, TensorError> {
        self.multiply(codes, &self.dims(codes)?, None)
    }

    /// [`Self::run`], followed by element-wise functions. `None` if [`FusedElementwise`] does not support them.
    ///
    /// # Errors
    /// Same as [`Self::run`].
    pub fn run_then(&self, codes: &Tensor, stages: &[Stage<&Tensor>]) -> Result<Option<Tensor>, TensorError> {
        let dims = self.dims(codes)?;
        let then = FusedElementwise::of_dims(&dims, stages);
        let Some(then) = then.filter(|then| then.has_rows_of(self.weights.columns())) else {
            return Ok(None);
        };
        let on_piece = |first: usize, values: &mut [f32]| then.on_piece(first, values);
        self.multiply(codes, &dims, Some(Epilogue::new(&on_piece))).map(Some)
    }

    /// The dims of the product.
    fn dims(&self, codes: &Tensor) -> Result<Dims, TensorError> {
        let mut dims = Dims::from_slice(codes.dims());
        match dims.last_mut() {
            Some(last) if *last == self.depth => *last = self.weights.columns(),
            _ => {
                let refused = "cannot multiply codes {} with weights {}";
                return Err(TensorError::mismatch(
                    refused,
                    codes.dims(),
                    &[self.depth, self.weights.columns()],
                ));
            }
        }
        stored_bytes(ElementType::F32, &dims)?;
        Ok(dims)
    }

    fn multiply(
        &self,
        codes: &Tensor,
        dims: &[usize],
        epilogue: Option<Epilogue<f32>>,
    ) -> Result<Tensor, TensorError> {
        let codes = codes.contiguous();
        let quads: Vec<CodesFirst>;
        let bytes = codes.as_slice::<u8>()?;
        let quads = match bytemuck::try_cast_slice(bytes) {
            Ok(quads) => quads,
            // The memory is not aligned.
            Err(_) => {
                quads = bytemuck::pod_collect_to_vec(bytes);
                &quads
            }
        };
        let (rows, columns) = (bytes.len() / self.depth, self.weights.columns());
        let matrix = Matrix::packed(quads, rows, self.depth / CHANNELS);
        let left = PackedLhs::pack(Isa::best(), &matrix).with_sequential_sums();
        let mut out = Buffer::any(rows * columns)?;
        product(&left, &self.weights, &mut out, columns, &ScaleColumns { of: self, epilogue });
        Tensor::from_buffer(ElementType::F32, dims, out)
    }
}

/// Writes the sums of a row as values.
struct ScaleColumns<'a> {
    of: &'a QuantizedMatMul,
    epilogue: Option<Epilogue<'a, f32>>,
}

impl StoreTile<CodesFirst> for ScaleColumns<'_> {
    type Out = f32;
    const ROWS: usize = 1;

    #[inline(always)]
    fn store<I: Instructions>(
        &self,
        out: &mut [f32],
        at: TilePosition,
        rows: &[[CodesFirst; MAX_PANEL_COLUMNS]],
    ) {
        // Int8 dot products need AVX-512, whose panels have the most columns.
        let panel = at.column / MAX_PANEL_COLUMNS;
        let (factors, offsets) = (&self.of.factors[panel], &self.of.offsets[panel]);
        let values = values_of::<I>(bytemuck::cast_ref(&rows[0]), [factors, offsets]);
        write_row(out, at.column - at.first, &values[..at.width]);
    }

    fn epilogue(&self) -> Option<Epilogue<'_, f32>> {
        self.epilogue
    }
}

/// An [`I8x4Dot`] in a product whose left operand is unsigned and whose right operand is signed.
#[derive(Copy, Clone, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct CodesFirst(I8x4Dot);

impl Factor for CodesFirst {
    type Vector<I: Instructions> = Swapped<I::I8x4Dots>;
    const HAS_BASELINE: bool = I8x4Dot::HAS_BASELINE;

    fn dispatch_on<W: Vectorised>(isa: Isa, work: W) -> W::Output {
        I8x4Dot::dispatch_on(isa, work)
    }
}

/// A vector whose products exchange their operands.
#[derive(Copy, Clone)]
struct Swapped<V>(V);

impl<V: Vector<I8x4Dot>> Vector<CodesFirst> for Swapped<V> {
    const LANES: usize = V::LANES;

    #[inline(always)]
    fn splat(x: CodesFirst) -> Self {
        Swapped(V::splat(x.0))
    }

    #[inline(always)]
    fn load(from: &[CodesFirst]) -> Self {
        Swapped(V::load(bytemuck::cast_slice(from)))
    }

    #[inline(always)]
    fn store(self, to: &mut [CodesFirst]) {
        self.0.store(bytemuck::cast_slice_mut(to));
    }

    #[inline(always)]
    fn multiply_add(self, b: Self, c: Self) -> Self {
        Swapped(b.0.multiply_add(self.0, c.0))
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Swapped(self.0.plus(b.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{BinaryOp, Unpacking, fake_quantize, matmul};

    /// Products of codes beside products of floats, with ranges that have a code for 0 and ranges that do not.
    #[test]
    fn products_of_codes_have_the_values_of_products_of_floats() {
        for (dims, outputs) in [(&[1, 64][..], 40), (&[7, 8], 5), (&[2, 13, 260], 97), (&[130, 2052], 33)] {
            let depth = dims[dims.len() - 1];
            let noise = |i: usize| ((i * 7919 + 131) % 1013) as f32 / 300.0 - 1.5;
            let x = Tensor::from_vec(dims, (0..dims.iter().product()).map(noise).collect()).unwrap();
            let codes: Vec<i8> = (0..outputs * depth).map(|i| (i * 37 % 255) as i8).collect();
            let codes = Tensor::from_vec(&[outputs, depth], codes).unwrap();
            let scales = (0..outputs).map(|o| 0.0077 + (o * 13 % 31) as f32 / 1000.0).collect();
            let scales = Tensor::from_vec(&[outputs, 1], scales).unwrap();
            let unpacking = Unpacking::Scale { zeros: None, scales: &scales };
            let weights = BinaryOp::Mul.apply(&codes.cast(ElementType::F32).unwrap(), &scales).unwrap();
            for ends in [[-1.0f32, 191.0 / 64.0], [0.2, 2.1], [-0.77, 1.9]] {
                let [low, high] = ends.map(Tensor::scalar);
                let ends = [&low, &high, &low, &high];
                let input = Quantizer::of_elements(ends, 256).unwrap();
                let quantized = input.quantize(&x).unwrap();
                let rounded = fake_quantize(&x, ends, 256).unwrap();
                assert_eq!(input.dequantize(&quantized).unwrap(), rounded);
                let product = QuantizedMatMul::new(QuantizedFilters { codes: &codes, unpacking }, &input);
                let Some(product) = product else {
                    assert!(!has_int8_dot());
                    continue;
                };
                let found = product.run(&quantized).unwrap();
                let expected = matmul(&rounded, &weights, false, true).unwrap();
                assert_eq!(found.dims(), expected.dims());
                let [values, floats] = [&found, &expected].map(|values| values.as_slice::<f32>().unwrap());
                let largest = floats.iter().fold(0f32, |largest, x| largest.max(x.abs()));
                let error = values.iter().zip(floats).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
                assert!(error <= 1e-5 * largest, "{error} beside {largest}");
                let halved = [Stage::Right(BinaryOp::Mul, &Tensor::scalar(0.5f32))];
                let then = product.run_then(&quantized, &halved).unwrap();
                assert_eq!(then, Some(halved[0].apply(&found).unwrap()));
            }
        }
    }
}
