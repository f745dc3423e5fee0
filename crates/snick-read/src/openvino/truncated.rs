//! Truncated weights.

use snick_ir::{Located, OpError};

/// Constants that extend beyond the end of the weights. They are reported as a single error.
#[derive(Default)]
pub(super) struct Truncated {
    /// The error of the first such constant.
    first: Option<Located>,
    /// The number of further such constants.
    others: usize,
    /// The end of the last such constant.
    end: usize,
}

impl Truncated {
    pub(super) fn count(&mut self, end: usize, error: impl FnOnce() -> Located) {
        match self.first {
            Some(_) => self.others += 1,
            None => self.first = Some(error()),
        }
        self.end = self.end.max(end);
    }

    pub(super) fn into_error(self) -> Option<Located> {
        let mut first = self.first?;
        if let (OpError::WeightsTruncated { why }, 1..) = (&mut first.error, self.others) {
            let count = self.others + 1;
            why.push_str(&format!(" {count} constants are beyond its end; they need {} bytes", self.end));
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use snick_tensor::Storage;

    use crate::openvino::{Weights, read};

    /// The errors for constants of 8 bytes at these offsets of a file of 20 bytes.
    fn constants_at(offsets: &[usize]) -> Vec<String> {
        let layer = |(id, offset): (usize, &usize)| {
            format!(
                "<layer id=\"{id}\" name=\"c{id}\" type=\"Const\" version=\"opset1\"><data element_type=\"i64\" \
                 shape=\"1\" offset=\"{offset}\" size=\"8\"/><output><port id=\"0\"/></output></layer>"
            )
        };
        let layers: String = offsets.iter().enumerate().map(layer).collect();
        let text = format!("<net name=\"n\" version=\"11\"><layers>{layers}</layers></net>");
        let read = read(&text, &Weights::in_memory("w.bin", Storage::heap(vec![0; 20])), "n.xml").unwrap();
        read.errors.iter().map(|error| error.error.to_string()).collect()
    }

    #[test]
    fn weights_that_are_cut_are_one_error() {
        let one = "no value for the constant: needs bytes 16..24 of w.bin, but the file has 20: truncated?";
        assert_eq!(constants_at(&[0, 16]), [one]);
        let several = format!("{one} 3 constants are beyond its end; they need 108 bytes");
        assert_eq!(constants_at(&[0, 16, 100, 24]), [several]);
    }
}
