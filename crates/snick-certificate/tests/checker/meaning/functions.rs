//! Operations that compute elements.

use super::*;

/// A function of the elements at the same index: equal on equal operands, and different for other operations,
/// attributes, types and orders of operands.
#[test]
fn element_wise_operations() {
    let (mut builder, a) = with_input(&[2, 3]);
    let b = builder.input("f32", &sizes(&[3]));
    let moved = |builder: &mut Builder,
                 value: Value,
                 op: &str,
                 inputs: &[Value],
                 attributes: &[(&str, Attribute)]| {
        let dims = builder.dims(value);
        let copies: Vec<Value> = inputs
            .iter()
            .map(|input| {
                let dims = builder.dims(*input);
                builder.op("Identity", &[*input], &[("copy", text(""))], &dims)
            })
            .collect();
        builder.op(op, &copies, attributes, &dims)
    };
    let numpy = [("auto_broadcast", text("numpy"))];
    for (op, is_commutative) in
        [("Add", true), ("Subtract", false), ("Multiply", true), ("Divide", false), ("Power", false)]
    {
        let new = builder.op(op, &[a, b], &numpy, &sizes(&[2, 3]));
        let same = moved(&mut builder, new, op, &[a, b], &numpy);
        assert!(builder.is_proved(new, same), "{op}");
        let swapped = moved(&mut builder, new, op, &[b, a], &numpy);
        assert_eq!(builder.is_proved(new, swapped), is_commutative, "{op}");
        for other in [
            moved(&mut builder, new, op, &[a, a], &numpy),
            moved(&mut builder, new, "Maximum", &[a, b], &numpy),
            moved(&mut builder, new, op, &[a, b], &[("auto_broadcast", text("pdpd"))]),
            moved(
                &mut builder,
                new,
                op,
                &[a, b],
                &[("auto_broadcast", text("numpy")), ("variant", Attribute::from(1))],
            ),
        ] {
            assert!(!builder.is_proved(new, other), "{op}");
        }
    }
    let pdpd = [("auto_broadcast", text("pdpd"))];
    let [left, right] = [[a, b], [b, a]].map(|inputs| moved(&mut builder, a, "Add", &inputs, &pdpd));
    assert!(!builder.is_proved(left, right));
}

#[test]
fn layers_that_are_not_functions_of_their_inputs_equal_only_themselves() {
    for op in ["Abs", "Add", "Identity", "ShapeOf", "Range", "Reshape", "Concat", "Opaque"] {
        for is_unique in [true, false] {
            let mut builder = Builder::default();
            let [a, b] = [(), ()].map(|()| {
                let new = snick_certificate::Node { is_unique, ..node(op, &[], &[]) };
                builder.push(new, vec![output("i64", &sizes(&[2]))])
            });
            assert!(!builder.is_proved(a, b), "{op}");
        }
        let (mut builder, data) = with_input(&[2]);
        let [a, b] = [(), ()].map(|()| {
            let new = snick_certificate::Node { is_unique: true, ..node(op, &[data], &[]) };
            builder.push(new, vec![output("f32", &sizes(&[2]))])
        });
        assert!(!builder.is_proved(a, b) && !builder.is_proved(data, a), "{op}");
    }
}

#[test]
fn opaque_operations_are_functions_of_their_inputs() {
    let (mut builder, data) = with_input(&[2]);
    let dims = sizes(&[2]);
    let copy = builder.op("Identity", &[data], &[], &dims);
    let a = builder.op("Softmax", &[data], &[("axis", Attribute::from(0))], &dims);
    let b = builder.op("Softmax", &[copy], &[("axis", Attribute::from(0))], &dims);
    let others = [
        builder.op("Softmax", &[data], &[("axis", Attribute::from(1))], &dims),
        builder.op("LogSoftmax", &[data], &[("axis", Attribute::from(0))], &dims),
        builder.op("Softmax", &[data, data], &[("axis", Attribute::from(0))], &dims),
        builder.typed("Softmax", &[data], &[], output("f16", &dims)),
    ];
    let mut equalities = snick_certificate::Equalities::new(&builder.graph, []);
    equalities.prove(data, copy, &mut crate::support::guide::Elimination::default()).unwrap();
    equalities.advance(builder.graph.nodes.len());
    assert_eq!(equalities.first(a), equalities.first(b));
    assert!(others.iter().all(|other| equalities.first(*other) != equalities.first(a)));
    assert!(others.iter().all(|other| !builder.is_proved(a, *other)));
}

#[test]
fn outputs_and_sizes_of_opaque_operations_are_unknown() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY]);
    let outputs = builder.parts("Opaque", &[data], &[&[ANY], &[ANY]]);
    assert!(!builder.is_proved(outputs[0], outputs[1]));
    let [one, other] = [1, 2].map(|body| {
        let node = snick_certificate::Node { bodies: vec![body], ..node("If", &[data], &[]) };
        builder.push(node, vec![output("f32", &[Size::Int(2)])])
    });
    assert!(!builder.is_proved(one, other));
    let parts = builder.parts("Opaque2", &[data], &[&[Size::Int(2)], &[Size::Int(2)]]);
    assert!(!builder.is_proved(parts[0], parts[1]));
    let [old, new] = [data, outputs[0]].map(|value| builder.shape_of(value));
    assert!(!builder.is_proved(old, new));
}
