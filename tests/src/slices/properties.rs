//! Random slices: ops, masks, sizes and sources of the indices. The cases are the same in every test run.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use snick_ir::text::{PrintOptions, parse, print};
use snick_tensor::ElementType;

use super::model::{Source, canonical, counting, given, load, printed, run, text};
use super::rule::{Refused, Slicing};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x51c3),
        max_shrink_iters: 512,
        ..ProptestConfig::default()
    }
}

/// The information that the model declares about a size.
#[derive(Copy, Clone, Debug)]
enum Known {
    Exactly,
    Between(usize, usize),
    AtLeast(usize),
    Symbol,
}

#[derive(Clone, Debug)]
struct Case {
    slicing: Slicing,
    dims: Vec<usize>,
    shape: String,
    sources: [Source; 4],
}

fn index() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => -9i64..=9,
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1]),
        1 => prop::sample::select(vec![i64::from(i32::MIN), i64::from(i32::MAX), 1 << 40]),
    ]
}

fn step() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => prop::sample::select(vec![-3i64, -2, -1, 1, 1, 2, 3]),
        1 => prop::sample::select(vec![i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX), 0]),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    prop::sample::select(vec![Source::Constant, Source::Constant, Source::Given, Source::Computed])
}

fn mask(length: usize, odds: f64) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::bool::weighted(odds).prop_map(u8::from), length)
}

fn masks(count: usize) -> impl Strategy<Value = [Vec<u8>; 5]> {
    let length = prop_oneof![4 => Just(count), 1 => Just(count + 1), 1 => Just(count.saturating_sub(1))];
    length.prop_flat_map(|length| {
        let ellipsis = (0..=2 * length).prop_map(move |at| (0..length).map(|i| u8::from(i == at)).collect());
        let dropped = prop::bool::weighted(0.2);
        let bits = (
            mask(length, 0.25),
            mask(length, 0.25),
            mask(length, 0.15),
            mask(length, 0.2),
            ellipsis,
            prop::array::uniform4(dropped),
        );
        bits.prop_map(|(begin, end, new_axis, shrink, ellipsis, dropped): (_, _, _, _, Vec<u8>, _)| {
            let mut masks = [begin, end, new_axis, shrink, ellipsis];
            for (mask, dropped) in masks[1..].iter_mut().zip(dropped) {
                if dropped {
                    mask.clear();
                }
            }
            masks
        })
    })
}

fn known() -> impl Strategy<Value = Known> {
    prop_oneof![
        2 => Just(Known::Exactly),
        2 => (0usize..3, 0usize..4).prop_map(|(below, above)| Known::Between(below, above)),
        1 => (0usize..3).prop_map(Known::AtLeast),
        1 => Just(Known::Symbol),
    ]
}

fn shape(dims: &[usize], known: &[Known]) -> String {
    let dim = |(axis, (&dim, &known)): (usize, (&usize, &Known))| match known {
        Known::Exactly => dim.to_string(),
        Known::Between(below, above) => format!("{}..{}", dim.saturating_sub(below), dim + above),
        Known::AtLeast(below) => format!("{}..", dim.saturating_sub(below)),
        Known::Symbol => format!("N{axis}"),
    };
    dims.iter().zip(known).enumerate().map(dim).collect::<Vec<_>>().join(",")
}

fn case() -> impl Strategy<Value = Case> {
    let sized = prop::collection::vec((0usize..=5, known()), 0..=5);
    let counted = sized.prop_flat_map(|sized| {
        let rank = sized.len();
        (Just(sized), 0..=rank + 1, prop::bool::ANY)
    });
    let full = counted.prop_flat_map(|(sized, count, strided)| {
        let rank = sized.len().max(1) as i64;
        let order: Vec<i64> = (0..sized.len() as i64).collect();
        let numbers = (
            prop::collection::vec(index(), count),
            prop::collection::vec(index(), count),
            prop::collection::vec(step(), count),
            prop::bool::weighted(if strided { 0.2 } else { 0.0 }),
            prop::option::of((Just(order).prop_shuffle(), prop::collection::vec(prop::bool::ANY, count))),
            masks(count),
            prop::array::uniform4(source()),
            prop::bool::weighted(0.1),
        );
        (Just((sized, count, strided, rank)), numbers)
    });
    full.prop_map(
        |((sized, count, strided, rank), (start, stop, step, unit, axes, masks, mut sources, open))| {
            let (dims, known): (Vec<usize>, Vec<Known>) = sized.into_iter().unzip();
            // A Slice-8 is lowered even if its number of entries is known only at run time.
            if open && !strided {
                sources = [Source::GivenAnyLength; 4];
            }
            let axes = axes.filter(|_| !strided).map(|(order, from_end)| {
                let named = order.into_iter().chain([0]).cycle().zip(from_end).take(count);
                named.map(|(axis, from_end)| if from_end { axis - rank } else { axis }).collect()
            });
            let slicing =
                Slicing { masks: strided.then_some(masks), start, stop, step: (!unit).then_some(step), axes };
            Case { slicing, shape: shape(&dims, &known), dims, sources }
        },
    )
}

/// All properties of one case.
fn holds(case: &Case) {
    let Case { slicing, dims, shape, sources } = case;
    let text = text(slicing, shape, ElementType::I32, "i64", *sources, dims);
    let expected = slicing.select(dims);
    let graph = match (load(&text), &expected) {
        (Err(error), Ok(_) | Err(Refused::Run)) => panic!("{error}\n{text}"),
        (Err(_), Err(Refused::Infer)) => return,
        (Ok(graph), _) => graph,
    };
    let canonical_graph = canonical(&graph);

    let mut inputs = vec![counting(dims)];
    inputs.extend(given(slicing, *sources));
    for graph in [&graph, &canonical_graph] {
        match (run(graph, &inputs), &expected) {
            (Ok(got), Ok((out, positions))) => {
                assert_eq!(got.dims(), out, "\n{}", printed(graph));
                let positions: Vec<i64> = positions.iter().map(|&at| at as i64).collect();
                assert_eq!(got.to_i64_vec().unwrap(), positions, "\n{}", printed(graph));
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(refused)) => panic!("runs, but is to be refused: {refused:?}\n{}", printed(graph)),
            (Err(error), Ok(_)) => panic!("{error}\n{}", printed(graph)),
        }
    }

    let fact = |graph: &snick_ir::Graph| {
        let result = graph.results().next().unwrap();
        graph.fact(graph.inputs(result)[0].unwrap()).unwrap().clone()
    };
    let (before, after) = (fact(&graph), fact(&canonical_graph));
    let within = |(a, b)| {
        let (a, b) = (canonical_graph.symbols().interval(a), graph.symbols().interval(b));
        b.covers(&a)
    };
    if let (Some(a), Some(b)) = (after.shape.dims(), before.shape.dims()) {
        assert!(a.iter().zip(b).all(within), "\n{}\n{}", printed(&graph), printed(&canonical_graph));
    }
    assert_eq!(printed(&canonical(&canonical_graph)), printed(&canonical_graph));
    for graph in [&graph, &canonical_graph] {
        let text = print(graph, PrintOptions::default());
        let mut again = parse(&text, None).unwrap_or_else(|e| panic!("{e}\n{text}"));
        snick_ir::infer(&mut again);
        // A lowered slice may infer more than its readers declare.
        let bare = PrintOptions::new().types(false);
        let (again, bare) = (print(&again, bare), print(graph, bare));
        let other = again.lines().zip(bare.lines()).find(|(a, b)| a != b);
        assert!(other.is_none() && again.len() == bare.len(), "{other:?}");
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn random_slices_follow_the_rule_in_every_form(case in case()) {
        holds(&case);
    }
}
