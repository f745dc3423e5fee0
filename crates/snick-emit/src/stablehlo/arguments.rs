//! Constants that become arguments of the function.

use snick_tensor::Tensor;

use super::emitter::{FunctionBuilder, Operand, Result};
use super::module::ArgumentData;
use super::types::Type;
use super::weights::is_large;

impl FunctionBuilder {
    /// The argument for a large constant that is stored in a file of the model; `None` for other constants.
    pub(super) fn stored(&mut self, name: &str, tensor: &Tensor) -> Result<Option<Operand>> {
        let stored = |function: &mut Self| function.weights.as_mut()?.get_mut(tensor).cloned();
        let (Some(stored), Some((path, range))) = (stored(self), tensor.file_range()) else {
            return Ok(None);
        };
        let argument = match stored.argument {
            Some(argument) => argument,
            None => {
                let ty = Type::fixed_at(tensor.element_type(), &stored.dims)?;
                let data = ArgumentData::File { path: path.to_path_buf(), range };
                let argument = self.argument(&stored.name, ty, data);
                if let Some(stored) = self.weights.as_mut().and_then(|weights| weights.get_mut(tensor)) {
                    stored.argument = Some(argument.clone());
                }
                argument
            }
        };
        let ty = argument.ty.sized(tensor.dims());
        let shaped = self.shaped(name, argument, &ty);
        Ok(Some(self.computed(name, shaped)))
    }

    /// The argument for a large constant that is not stored in a file; `None` for other constants.
    pub(super) fn folded(&mut self, name: &str, tensor: &Tensor) -> Result<Option<Operand>> {
        if self.weights.is_none() || !is_large(tensor) {
            return Ok(None);
        }
        let ty = Type::fixed_at(tensor.element_type(), tensor.dims())?;
        let argument = self.argument(name, ty, ArgumentData::Folded(tensor.clone()));
        Ok(Some(self.computed(name, argument)))
    }
}
