//! Greedy CTC decoding, shared by CTCGreedyDecoder and CTCGreedyDecoderSeqLen.

use snick_tensor::Tensor;

use super::checks::dims_of;
use crate::OpError;

/// The decoded sequences of a batch.
pub struct Decoded {
    /// `[batch, time]`: the classes of each sequence, padded with -1.
    pub classes: Vec<i64>,
    /// `[batch]`: the number of classes of each sequence.
    pub counts: Vec<i64>,
}

/// Decodes probabilities `[batch, time, classes]` of sequences with these lengths.
pub fn decode(
    data: &Tensor,
    lengths: &[usize],
    blank: Option<usize>,
    merge_repeated: bool,
) -> Result<Decoded, OpError> {
    let [batch, time, classes] = dims_of("the data", data)?;
    if classes == 0 {
        return Err(OpError::mismatch("the number of classes", 0, "1 or more"));
    }
    let values = data.to_f32_vec()?;
    let mut decoded = vec![-1i64; batch * time];
    let mut counts = Vec::with_capacity(batch);
    for (i, &length) in lengths.iter().enumerate() {
        let out = decoded.get_mut(i * time..(i + 1) * time).unwrap_or_default();
        let mut last = None;
        let mut count = 0;
        for row in values.chunks_exact(classes).skip(i * time).take(length) {
            let best = row.iter().enumerate().fold(0, |best, (i, v)| if *v > row[best] { i } else { best });
            if Some(best) != blank && !(merge_repeated && last == Some(best)) {
                out[count] = best as i64;
                count += 1;
            }
            last = Some(best);
        }
        counts.push(count as i64);
    }
    Ok(Decoded { classes: decoded, counts })
}
