//! RGBtoNV12-17 and BGRtoNV12-17.

use snick_shape::{Interval, Shape};
use snick_tensor::ElementType::{F4E2M1, F8E4M3, F8E5M2, F8E8M0};
use snick_tensor::{Listed, Tensor, kernels};

use super::color::{ChannelOrder, channel, half, infer_plane, infer_type};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op_family! {
    /// Converts images `[N, H, W, 3]` to NV12: luma Y `[N, H, W, 1]` and chroma `[N, H/2, W/2, 2]`, with one
    /// U and one V value per four pixels, or both planes in one output `[N, 3H/2, W, 1]`.
    #[family(inputs = Arity::exactly(1), category = Other, traits = [PURE])]
    pub struct ToNv12(ChannelOrder) {
        /// Whether to store both planes in one output.
        pub single_plane: bool = true,
    }
    /// Converts RGB images to NV12: one output `[N, 3H/2, W, 1]`, or separate luma and chroma.
    RgbToNv12: "RGBtoNV12", [17] => ChannelOrder::Rgb;
    /// Converts BGR images to NV12: one output `[N, 3H/2, W, 1]`, or separate luma and chroma.
    BgrToNv12: "BGRtoNV12", [17] => ChannelOrder::Bgr;
}

impl InferOp for ToNv12 {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = infer_type(cx)?;
        if matches!(element_type, F4E2M1 | F8E4M3 | F8E5M2 | F8E8M0) {
            return Err(OpError::element_type("the image", element_type, "u8, f16, bf16, f32 or f64"));
        }
        let image = infer_plane(cx, 0, 3)?;
        let [batch, height, width] = image.unwrap_or_else(|| [(); 3].map(|()| cx.unknown(Interval::DIM)));
        let (rows, columns) = (half(cx, &height), half(cx, &width));
        let fact = |dims: [_; 4]| Fact::new(element_type, Shape::ranked(dims));
        if self.single_plane {
            let height = cx.mul(&rows, &3.into());
            return Ok(Facts::from(fact([batch, height, width, 1.into()])));
        }
        let chroma = fact([batch.clone(), rows, columns, 2.into()]);
        Ok(Facts::from([fact([batch, height, width, 1.into()]), chroma]))
    }
}

impl EvalOp for ToNv12 {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [image] = exactly(inputs)?;
        let &[batch, height, width, 3] = image.dims() else {
            return Err(OpError::mismatch("the shape of the image", Listed(image.dims()), "[N,H,W,3]"));
        };
        if height % 2 != 0 || width % 2 != 0 {
            let found = format!("{height} x {width}");
            return Err(OpError::mismatch("the size of the image", found, "even numbers"));
        }
        let (element_type, values) = (image.element_type(), image.to_f32_vec()?);
        let mut planes = [Vec::with_capacity(values.len() / 3), Vec::with_capacity(values.len() / 6)];
        for image in values.chunks_exact((height * width * 3).max(1)) {
            let pixels: Vec<[f32; 3]> = image.chunks_exact(3).map(|p| self.pixel(p)).collect();
            let rounded = |value| channel(value, element_type, f32::round);
            let pixels: Vec<[f32; 3]> = pixels.into_iter().map(|yuv| yuv.map(rounded)).collect();
            planes[0].extend(pixels.iter().map(|yuv| yuv[0]));
            for cell in 0..height / 2 * (width / 2) {
                let at = cell / (width / 2) * 2 * width + cell % (width / 2) * 2;
                let four = [at, at + 1, at + width, at + width + 1];
                let mean = |part: usize| four.iter().map(|&at| pixels[at][part]).sum::<f32>() / 4.0;
                planes[1].extend([1, 2].map(|part| rounded(mean(part))));
            }
        }
        let [luma, chroma] = planes;
        let luma = Tensor::from_vec(&[batch, height, width, 1], luma)?.cast(element_type)?;
        let chroma = Tensor::from_vec(&[batch, height / 2, width / 2, 2], chroma)?.cast(element_type)?;
        if self.single_plane {
            let chroma = chroma.reshape(&[batch, height / 2, width, 1])?;
            return Ok(vec![kernels::concat(&[&luma, &chroma], 1)?]);
        }
        Ok(vec![luma, chroma])
    }
}

impl ToNv12 {
    /// The Y, U and V values of a pixel (BT.601, limited range).
    fn pixel(&self, pixel: &[f32]) -> [f32; 3] {
        let &[first, second, last] = pixel else { return [0.0; 3] };
        let [r, g, b] = self.function.arranged([first, second, last]);
        [
            0.257 * r + 0.504 * g + 0.098 * b + 16.0,
            -0.148 * r - 0.291 * g + 0.439 * b + 128.0,
            0.439 * r - 0.368 * g - 0.071 * b + 128.0,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chroma_is_the_mean_of_four_pixels() {
        let pixels = vec![255u8, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255];
        let image = Tensor::from_vec(&[1, 2, 2, 3], pixels).unwrap();
        let run = |function, single_plane| {
            ToNv12 { function, single_plane }.eval(std::slice::from_ref(&image)).unwrap()
        };
        let planes: Vec<_> = run(ChannelOrder::Rgb, false).iter().map(|t| t.to_i64_vec().unwrap()).collect();
        assert_eq!(planes[0], [82, 145, 41, 235]);
        // The U values of the four pixels are 90, 54, 240, 128, the V values 240, 34, 110, 128; both average
        // to 128.
        assert_eq!(planes[1], [128, 128]);
        let together = run(ChannelOrder::Rgb, true);
        assert_eq!(together[0].dims(), [1, 3, 2, 1]);
        assert_eq!(together[0].to_i64_vec().unwrap(), [82, 145, 41, 235, 128, 128]);
        assert_ne!(run(ChannelOrder::Bgr, false)[0], run(ChannelOrder::Rgb, false)[0]);
        let odd = image.slice(1, 0, 1, 1).unwrap();
        assert!(ToNv12 { function: ChannelOrder::Rgb, single_plane: true }.eval(&[odd]).is_err());
    }
}
