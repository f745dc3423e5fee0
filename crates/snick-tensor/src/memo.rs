//! A cache of forms that kernels derive from constants.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use crate::layout::Layout;

/// The purpose of a derived form.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// The left side of a matrix product.
    Left,
    /// The right side of a matrix product.
    Right,
    /// The filters of a convolution.
    Filters,
    /// The same, for products with few windows.
    FilterColumns,
    /// The same, transformed for fewer products.
    TransformedFilters,
    /// The type that kernels compute in.
    Wide,
    /// What other crates make of the elements.
    Derived,
}

/// The limit of forms of one constant: it has one or two uses, and more would waste memory.
const MOST: usize = 4;

/// Derived forms of one constant, by purpose and view.
#[derive(Default)]
pub(crate) struct Memo {
    forms: Mutex<Vec<DerivedTensor>>,
}

struct DerivedTensor {
    purpose: Purpose,
    layout: Layout,
    value: Arc<dyn Any + Send + Sync>,
}

impl Memo {
    /// The form for `purpose` of the view `layout`, made on first use.
    pub fn get<T: Send + Sync + 'static, E>(
        &self,
        purpose: Purpose,
        layout: &Layout,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        let known = forms.iter().find(|form| form.purpose == purpose && form.layout == *layout);
        if let Some(Ok(value)) = known.map(|form| form.value.clone().downcast()) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        if forms.len() < MOST {
            forms.push(DerivedTensor { purpose, layout: layout.clone(), value: value.clone() });
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_made_once_for_each_view_and_purpose() {
        let (memo, mut made) = (Memo::default(), 0);
        let views = [Layout::packed(&[2, 3]), Layout::packed(&[3, 2])];
        for _ in 0..2 {
            for view in &views {
                for purpose in [Purpose::Left, Purpose::Right] {
                    let form = memo.get(purpose, view, || {
                        made += 1;
                        Ok::<_, ()>(vec![purpose])
                    });
                    assert_eq!(*form.unwrap(), [purpose]);
                }
            }
        }
        assert_eq!(made, 4);
    }
}
