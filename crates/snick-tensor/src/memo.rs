//! A cache of data that kernels derive from constants, such as packed weights.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffer::Pool;
use crate::layout::Layout;

/// The purpose of derived data.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// The left operand of a matrix product, packed.
    Left,
    /// The right operand of a matrix product, packed.
    Right,
    /// The filters of a convolution as a left operand, packed.
    Filters,
    /// The filters of a convolution as a right operand, packed. Used for convolutions with few windows.
    FilterColumns,
    /// The filters of a Winograd convolution, transformed.
    TransformedFilters,
    /// Elements converted to the type that kernels compute in.
    Wide,
    /// Data that other crates derive.
    Derived,
}

/// The maximum number of entries per constant. Most constants have one or two uses, and more entries would
/// waste memory.
const MOST: usize = 4;

/// Data derived from a constant, by purpose and view.
#[derive(Default)]
pub(crate) struct Memo {
    forms: Mutex<Vec<DerivedTensor>>,
}

struct DerivedTensor {
    purpose: Purpose,
    layout: Layout,
    /// `None` until the second request.
    value: Option<Arc<dyn Any + Send + Sync>>,
}

impl Memo {
    /// As [`Memo::get`], but returns `None` on the first use: for derived data that pays off only when
    /// reused.
    pub fn get_if_reused<T: Send + Sync + 'static, E>(
        &self,
        purpose: Purpose,
        layout: &Layout,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Option<Arc<T>>, E> {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        if forms.iter().any(|form| form.purpose == purpose && form.layout == *layout) {
            drop(forms);
            return self.get(purpose, layout, make).map(Some);
        }
        if forms.len() < MOST {
            forms.push(DerivedTensor { purpose, layout: layout.clone(), value: None });
        }
        Ok(None)
    }

    /// The data derived for `purpose` from the view `layout`. It is kept from its second use on, so that a
    /// model that runs once does not pay for memory that is never read again. Data that other crates derive
    /// is kept from its first use on.
    pub fn get<T: Send + Sync + 'static, E>(
        &self,
        purpose: Purpose,
        layout: &Layout,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        let known = forms.iter().position(|form| form.purpose == purpose && form.layout == *layout);
        let is_new = known.is_none() && forms.len() < MOST;
        if is_new {
            forms.push(DerivedTensor { purpose, layout: layout.clone(), value: None });
        }
        let at = known.or((is_new && purpose == Purpose::Derived).then(|| forms.len() - 1));
        let known = at.and_then(|at| forms[at].value.clone());
        if let Some(Ok(value)) = known.map(Arc::downcast) {
            return Ok(value);
        }
        // Data that is not kept is computed without holding the lock.
        let kept = at.map(|at| (at, forms));
        let value = Arc::new(Pool::outside_if(kept.is_some(), make)?);
        if let Some((at, mut forms)) = kept {
            forms[at].value = Some(value.clone());
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_each_view_and_purpose_is_kept_from_the_second_use_on() {
        let (memo, mut made) = (Memo::default(), 0);
        let views = [Layout::packed(&[2, 3]), Layout::packed(&[3, 2])];
        for expected in [4, 8, 8] {
            for view in &views {
                for purpose in [Purpose::Left, Purpose::Right] {
                    let form = memo.get(purpose, view, || {
                        made += 1;
                        Ok::<_, ()>(vec![purpose])
                    });
                    assert_eq!(*form.unwrap(), [purpose]);
                }
            }
            assert_eq!(made, expected);
        }
    }

    #[test]
    fn a_form_for_reuse_is_made_by_the_second_use() {
        let (memo, view, mut made) = (Memo::default(), Layout::packed(&[2]), 0);
        let found: Vec<_> = (0..3)
            .map(|_| {
                let make = || {
                    made += 1;
                    Ok::<_, ()>(7)
                };
                memo.get_if_reused(Purpose::Right, &view, make).unwrap().as_deref().copied()
            })
            .collect();
        assert_eq!((found, made), (vec![None, Some(7), Some(7)], 1));
    }

    #[test]
    fn what_other_crates_derive_is_kept_at_once() {
        let (memo, mut made) = (Memo::default(), 0);
        for layout in [Layout::packed(&[2, 3]), Layout::packed(&[3, 2])] {
            for _ in 0..3 {
                let make = || {
                    made += 1;
                    Ok::<_, ()>(layout.dims.len())
                };
                assert_eq!(memo.get(Purpose::Derived, &layout, make).as_deref(), Ok(&2));
            }
        }
        assert_eq!(made, 2);
    }

    #[test]
    fn more_forms_than_have_room_are_not_kept() {
        let (memo, mut made) = (Memo::default(), 0);
        for i in (0..2 * MOST).chain(0..2 * MOST) {
            let make = || {
                made += 1;
                Ok::<_, ()>(i)
            };
            assert_eq!(memo.get(Purpose::Derived, &Layout::packed(&[i]), make).as_deref(), Ok(&i));
        }
        assert_eq!(made, 3 * MOST);
    }
}
