//! Tests of edits.

use snick_ir::{AttrValue, Attrs, Op};
use snick_tensor::{ElementType, Tensor};

use crate::{Error, Model};

const TEXT: &str = "snick 1
graph \"g\" {
  %x = Parameter-1 {element_type: f32, shape: \"N,4\"} : _ \"x\"
  %unused = Parameter-1 {element_type: f32, shape: \"2\"}
  %w = Const-1 f32[4,2] <1, 2, 3, 4, 5, 6, 7, 8>
  %product = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false} : _ \"hidden\"
  %relu = ReLU-1(%product)
  %axis = Const-1 i64[] <1>
  %halves = Split-1(%relu, %axis) {num_splits: 2} : (_ \"left\", _ \"right\")
  %y = Result-1(%halves:0)
  %z = Result-1(%halves:1)
}
";

fn model() -> Model {
    crate::parse(TEXT).unwrap()
}

fn inputs(model: &Model) -> Vec<&str> {
    model.graph().parameters().map(|id| model.graph().node(id).name()).collect()
}

fn outputs(model: &Model) -> Vec<Vec<&str>> {
    model.graph().results().map(|id| crate::output_names(model.graph(), id)).collect()
}

/// The shape of a value as text.
fn shape(model: &Model, name: &str) -> String {
    let graph = model.graph();
    graph.fact(graph.find_value(name).unwrap()).unwrap().shape().display(graph.symbols()).to_string()
}

#[test]
fn a_layer_is_renamed_with_its_tensor() {
    let mut model = model();
    model.edit(|e| e.rename("x", "image")).unwrap();
    let value = model.graph().find_tensor("image").unwrap();
    assert_eq!(model.graph().node(value.node).name(), "image");
    assert!(model.graph().find_value("x").is_none());
    model.edit(|e| e.rename("hidden", "features")).unwrap();
    assert_eq!(model.graph().node(model.graph().find_tensor("features").unwrap().node).name(), "product");
    // A Result is renamed with the tensor that it returns only if both have the same name.
    model.edit(|e| e.rename("y", "first")).unwrap();
    model.edit(|e| e.rename("right", "z")).unwrap();
    model.edit(|e| e.rename("z", "second")).unwrap();
    assert_eq!(outputs(&model), [vec!["first", "left"], vec!["second", "second"]]);
}

#[test]
fn a_name_belongs_to_one_layer() {
    let mut model = model();
    let before = model.clone();
    for (old, new) in [("x", "relu"), ("left", "hidden"), ("x", ""), ("halves:1", "right"), ("none", "some")]
    {
        assert!(matches!(model.edit(|e| e.rename(old, new)), Err(Error::Edit { .. })), "{old} {new}");
        assert_eq!(model, before);
    }
    model.edit(|e| e.rename("x", "x")).unwrap();
}

#[test]
fn attributes_are_set_and_checked() {
    let mut model = model();
    model.edit(|e| e.set_attr("x", "shape", "M=1..3,4")).unwrap();
    assert_eq!(shape(&model, "product"), "[M,2]");
    let before = model.to_text();
    let refused: [(&str, &str, AttrValue); 5] = [
        ("product", "transpose_b", AttrValue::Bool(true)),
        ("product", "transpose_c", AttrValue::Bool(true)),
        ("w", "shape", AttrValue::from("2,4")),
        ("halves", "num_splits", AttrValue::from(0)),
        ("nothing", "axis", AttrValue::from(0)),
    ];
    for (layer, attr, value) in refused {
        assert!(model.edit(|e| e.set_attr(layer, attr, value)).is_err(), "{layer} {attr}");
        assert_eq!(model.to_text(), before);
    }
}

#[test]
fn a_layer_may_lose_outputs_that_nothing_reads() {
    let mut model = model();
    assert!(model.edit(|e| e.set_attr("halves", "num_splits", 1)).is_err());
    model
        .edit(|e| {
            e.set_outputs(&["y"])?;
            e.set_attr("halves", "num_splits", 1)
        })
        .unwrap();
    let halves = model.graph().node(model.graph().find("halves").unwrap());
    assert_eq!((halves.outs().len(), outputs(&model)), (1, vec![vec!["y", "left"]]));
    assert_eq!(shape(&model, "y"), "[N,2]");
    // Outputs that nothing reads keep their names.
    let mut model = crate::parse(&TEXT.replace("  %z = Result-1(%halves:1)\n", "")).unwrap();
    model.edit(|e| e.together(|e| e.set_attr("halves", "num_splits", 2))).unwrap();
    assert_eq!(shape(&model, "right"), "[N,1]");
}

#[test]
fn constants_are_replaced_by_constants_that_fit() {
    let mut model = model();
    let wide = Tensor::zeros(ElementType::F32, &[4, 6]).unwrap();
    model.edit(|e| e.replace_constant("w", &wide)).unwrap();
    assert_eq!(shape(&model, "left"), "[N,3]");
    for (layer, dims) in [("w", [5, 6].as_slice()), ("w", &[4, 5]), ("relu", &[4, 6])] {
        let tensor = Tensor::zeros(ElementType::F32, dims).unwrap();
        assert!(model.edit(|e| e.replace_constant(layer, &tensor)).is_err(), "{layer} {dims:?}");
    }
    let error =
        model.edit(|e| e.replace_constant("w", &Tensor::zeros(ElementType::F16, &[4, 6])?)).unwrap_err();
    let origins: Vec<&str> =
        error.diagnostics()[0].origins.iter().map(|origin| origin.layer.as_str()).collect();
    assert_eq!((error.diagnostics()[0].layer.as_str(), origins), ("product", vec!["x", "w"]));
}

#[test]
fn the_input_of_a_removed_layer_takes_its_place() {
    let mut model = model();
    model.edit(|e| e.remove("relu")).unwrap();
    let halves = model.graph().node(model.graph().find("halves").unwrap());
    assert_eq!(model.graph().node(halves.input(0).unwrap().node).name(), "product");
    model.edit(|e| e.remove("unused")).unwrap();
    assert_eq!(inputs(&model), ["x"]);
    for layer in ["product", "halves", "x", "y", "w"] {
        assert!(model.edit(|e| e.remove(layer)).is_err(), "{layer}");
    }
}

#[test]
fn an_inserted_layer_is_read_in_place_of_its_input() {
    let mut model = model();
    let [clamp, again, named] = model
        .edit(|e| {
            let clamp = || Op::by_name("Clamp", Attrs::new().with("min", 0.0).with("max", 6.0));
            let names = [
                e.insert_after("hidden", None, clamp()?)?,
                e.insert_after("hidden", None, clamp()?)?,
                e.insert_after("halves:1", Some("bounded"), clamp()?)?,
            ];
            assert!(e.insert_after("hidden", Some("relu"), clamp()?).is_err());
            assert!(e.insert_after("hidden", None, Op::by_name("Add", Attrs::new())?).is_err());
            Ok(names)
        })
        .unwrap();
    assert_eq!([&*clamp, &*again, &*named], ["product/Clamp", "product/Clamp_1", "bounded"]);
    // The outputs keep their tensor names.
    assert_eq!(outputs(&model), [vec!["y", "left"], vec!["z", "right"]]);
    let product = model.graph().find_tensor("hidden").unwrap();
    assert_eq!(model.graph().node(product.node).name(), "product");
}

#[test]
fn redirected_readers_read_the_other_value() {
    let mut model = model();
    model.edit(|e| e.redirect("halves:1", "halves:0")).unwrap();
    assert_eq!(outputs(&model), [vec!["y", "left"], vec!["z", "left"]]);
    // `relu` reads `product` itself.
    model.edit(|e| e.redirect("product", "relu")).unwrap();
    // `x` remains an input, although nothing reads it any more.
    model.edit(|e| e.set_attr("unused", "shape", "N,2").and_then(|()| e.redirect("relu", "unused"))).unwrap();
    assert_eq!((inputs(&model), model.graph().find("product")), (vec!["x", "unused"], None));
    assert_eq!(shape(&model, "left"), "[N,1]");
    assert!(model.edit(|e| e.redirect("unused", "nothing")).is_err());
}

#[test]
fn outputs_are_chosen_in_order() {
    let mut model = model();
    model.edit(|e| e.set_outputs(&["right", "relu", "y", "halves:1"])).unwrap();
    assert_eq!(outputs(&model), [vec!["z", "right"], vec!["relu/sink_port_0", "relu"], vec!["y", "left"]]);
    assert_eq!(shape(&model, "relu/sink_port_0"), "[N,2]");
    model.edit(|e| e.set_outputs(&["hidden"])).unwrap();
    assert_eq!((inputs(&model), model.graph().find("relu")), (vec!["x", "unused"], None));
    assert!(model.edit(|e| e.set_outputs(&["hiden"])).is_err());
    assert!(model.edit(|e| e.set_outputs::<&str>(&[])).is_err());
}

#[test]
fn an_input_of_another_type_is_converted() {
    let mut model = model();
    model.edit(|e| e.set_input_type("x", ElementType::F16)).unwrap();
    let convert = model.graph().node(model.graph().find("x/Convert").unwrap());
    assert_eq!(convert.outputs().next().unwrap().element_type(), ElementType::F32);
    let input = model.graph().node(model.graph().find("x").unwrap());
    let fact = input.outputs().next().unwrap();
    assert_eq!(
        (fact.element_type(), input.outs()[0].names()),
        (ElementType::F16, ["x".to_string()].as_slice())
    );
    assert!(model.edit(|e| e.set_input_type("relu", ElementType::F16)).is_err());
    assert!(model.edit(|e| e.set_input_type("x", ElementType::Dynamic)).is_err());
}

#[test]
fn errors_that_the_model_has_already_do_not_refuse_edits() {
    let broken = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
                  %w = Const-1 f32[3] <1, 2, 3>\n  %sum = Add-1(%x, %w) {auto_broadcast: \"numpy\"}\n  \
                  %y = Result-1(%sum)\n}\n";
    let mut model = crate::parse(broken).unwrap();
    model.edit(|e| e.set_attr("x", "shape", "4")).unwrap();
    model.edit(|e| e.set_attr("x", "shape", "3")).unwrap();
    assert!(model.infer().errors().is_empty());
    assert!(model.edit(|e| e.set_attr("x", "shape", "4")).is_err());
}

#[test]
fn a_failed_edit_that_is_handled_leaves_the_others() {
    let mut model = model();
    model
        .edit(|e| {
            e.rename("x", "image")?;
            assert!(e.remove("product").is_err());
            assert!(e.together(|e| e.rename("z", "second").and_then(|()| e.remove("none"))).is_err());
            Ok(())
        })
        .unwrap();
    assert_eq!((inputs(&model), outputs(&model)[1][0]), (vec!["image", "unused"], "z"));
}
