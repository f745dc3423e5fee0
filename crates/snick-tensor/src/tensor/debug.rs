//! `Debug` for tensors.

use std::fmt;

use super::Tensor;

impl fmt::Debug for Tensor {
    /// Prints type and dims, and the elements if they are few: `f32[2, 2] {0, 1, 2, 3}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "{}{:?}", self.element_type, self.dims())?;
        if self.len() > SHOWN {
            return Ok(());
        }
        let shown: Vec<String> = match (self.as_strings(), self.to_i64_vec(), self.to_f64_vec()) {
            (Ok(texts), ..) => texts.iter().map(|t| format!("{t:?}")).collect(),
            (_, Ok(ints), _) if !self.element_type.is_float() => ints.iter().map(i64::to_string).collect(),
            (_, _, Ok(floats)) => floats.iter().map(f64::to_string).collect(),
            _ => return Ok(()),
        };
        write!(f, " {{{}}}", shown.join(", "))
    }
}
