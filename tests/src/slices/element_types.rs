//! Every element type is sliced element by element, including packed types of 1 to 6 bits, 8-bit floats and
//! strings.

use snick_tensor::{ElementType, Storage, Tensor};

use super::model::{Source, canonical, load, run, text};
use super::rule::Slicing;

use ElementType::*;

const TYPES: [ElementType; 25] = [
    Boolean, U1, U2, U3, U4, U6, U8, U16, U32, U64, I4, I8, I16, I32, I64, F16, BF16, F32, F64, NF4, F8E4M3,
    F8E5M2, F8E8M0, F4E2M1, String,
];

/// Elements that differ as far as the type allows.
fn filled(et: ElementType, dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product();
    if et == String {
        return Tensor::strings(dims, (0..count).map(|k| format!("text {k}")).collect()).unwrap();
    }
    let bytes = et.byte_len(count).unwrap();
    let mut state = 1u32;
    let noise = (0..bytes).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let noise = if et == Boolean { noise.map(|b| b & 1).collect() } else { noise.collect() };
    Tensor::new(et, dims, Storage::heap(noise)).unwrap()
}

/// The elements as text, for comparison.
fn elements(tensor: &Tensor) -> Vec<std::string::String> {
    if tensor.element_type() == String {
        return tensor.as_strings().unwrap().iter().map(ToString::to_string).collect();
    }
    // All NaNs are equal here; their bits are compared below.
    tensor.to_f64_vec().unwrap().iter().map(f64::to_string).collect()
}

#[test]
fn every_type_is_sliced_element_by_element() {
    let dims = [3usize, 7];
    let mut cases = Vec::new();
    for (start, stop) in [(-1, -99), (5, 1), (0, 99), (2, -1), (99, 0), (6, -8)] {
        for step in [-3, -2, -1, 1, 2, 3] {
            cases.push(Slicing {
                masks: None,
                start: vec![2, start],
                stop: vec![-9, stop],
                step: Some(vec![-1, step]),
                axes: Some(vec![0, 1]),
            });
        }
    }
    let constant = [Source::Constant; 4];
    for et in TYPES {
        let data = filled(et, &dims);
        let before = elements(&data);
        assert!(before.iter().any(|e| *e != before[0]), "{et}: all elements are equal");
        for slicing in &cases {
            let (out, positions) = slicing.select(&dims).unwrap();
            let graph = load(&text(slicing, "3,7", et, "i64", constant, &dims)).unwrap();
            for graph in [&graph, &canonical(&graph)] {
                let sliced = run(graph, std::slice::from_ref(&data)).unwrap();
                assert_eq!((sliced.element_type(), sliced.dims()), (et, &out[..]));
                let expected: Vec<_> = positions.iter().map(|&at| before[at].clone()).collect();
                assert_eq!(elements(&sliced), expected, "{et} {slicing:?}");
                if et != String {
                    // After packing the result again, each element has the same bits as before.
                    let packed =
                        Tensor::new(et, &out, Storage::heap(sliced.to_bytes().into_owned())).unwrap();
                    let bits = |tensor: &Tensor, at: usize| {
                        let flat = tensor.reshape(&[tensor.len()]).unwrap();
                        flat.slice(0, at, 1, 1).unwrap().to_bytes().into_owned()
                    };
                    for (i, &at) in positions.iter().enumerate() {
                        assert_eq!(bits(&packed, i), bits(&data, at), "{et} {slicing:?}");
                    }
                }
            }
        }
    }
}
