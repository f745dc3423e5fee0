//! The content of pictures.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fmt::Write as _;

use snick_ir::{Graph, infer, text};
use snick_view::{BoxKind, Item, PictureOptions, Scene, Scope, scopes, svg};

const MODEL: &str = "snick 1\ngraph \"<b>&\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N=1..,8\"}\n  \
    %k = Const-1 f32[8] <1,2,3,4,5,6,7,8>\n  %enc/one/add = Add-1(%x, %k)\n  %enc/one/relu = ReLU-1(%enc/one/add)\n  \
    %enc/two/exp = Exp-1(%enc/one/relu)\n  %top = Add-1(%enc/two/exp, %x)\n  %y = Result-1(%top)\n}\n";

fn model() -> Graph {
    let mut graph = text::parse(MODEL, None).unwrap();
    assert!(infer(&mut graph).is_empty());
    graph
}

fn names(scene: &Scene) -> Vec<&str> {
    scene.boxes.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn constants_are_part_of_their_readers() {
    let scene = Scene::new(&model(), &PictureOptions::new());
    assert_eq!(names(&scene), ["x", "enc/one/add", "enc/one/relu", "enc/two/exp", "top", "y"]);
    assert_eq!(
        (&scene.boxes[1].constants[..], scene.boxes[1].details.len()),
        (&["1: f32[8]".to_owned()][..], 0)
    );
    let shown = &scene.boxes[1].outputs[0];
    assert_eq!((shown.text.as_str(), shown.is_bounded), ("f32[N,8]", false));
    assert_eq!((scene.boxes[0].kind, scene.boxes[5].kind), (BoxKind::Input, BoxKind::Output));
}

#[test]
fn scopes_become_one_box() {
    let graph = model();
    let folded = Scene::new(&graph, &PictureOptions::new().depth(1));
    assert_eq!(names(&folded), ["x", "enc", "top", "y"]);
    assert_eq!((folded.boxes[1].kind, folded.boxes[1].title.as_str()), (BoxKind::Scope, "Add, ReLU, Exp"));
    let arrows: Vec<(usize, usize)> = folded.arrows.iter().map(|arrow| (arrow.from, arrow.to)).collect();
    assert_eq!(arrows, [(0, 1), (0, 2), (1, 2), (2, 3)]);
    let deeper = Scene::new(&graph, &PictureOptions::new().depth(2));
    assert_eq!(names(&deeper), ["x", "enc/one", "enc/two/exp", "top", "y"]);
}

/// The names and sizes of scopes, each in brackets, and the names of layers.
fn outline(graph: &Graph, items: &[Item]) -> String {
    let part = |item: &Item| match item {
        Item::Layer(id) => graph.node(*id).name().to_owned(),
        Item::Scope(Scope { name, items, .. }) => format!("{name} [{}]", outline(graph, items)),
    };
    items.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// A graph of layers given as operations, names and the names of their sources.
fn graph(layers: &[(&str, &str, &str)]) -> Graph {
    let mut text =
        String::from("snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"8,8\"}\n");
    for (op, name, sources) in layers {
        let sources: Vec<String> = sources.split(' ').map(|name| format!("%\"{name}\"")).collect();
        let _ = writeln!(text, "  %\"{name}\" = {op}-1({})", sources.join(", "));
    }
    let last = layers.last().unwrap().1;
    text::parse(&(text + &format!("  %y = Result-1(%\"{last}\")\n}}\n")), None).unwrap()
}

#[test]
fn a_scope_that_is_left_and_entered_again_is_two_scopes() {
    let graph = graph(&[
        ("ReLU", "a/1", "x"),
        ("ReLU", "a/2", "a/1"),
        ("Tanh", "b/1", "a/2"),
        ("Exp", "b/2", "b/1"),
        ("Tanh", "a/3", "b/2"),
        ("Tanh", "a/4", "a/3"),
    ]);
    let outline = outline(&graph, &scopes(&graph));
    assert_eq!(outline, "x a [a/1 a/2] b [b/1 b/2] a [a/3 a/4] y");
}

#[test]
fn layers_of_a_shared_module_belong_to_the_blocks_that_call_it() {
    let mut layers = Vec::new();
    let mut last = String::from("x");
    for block in 0..6 {
        for (at, part) in ["conv", "", "norm", "up", "down", "add"].into_iter().enumerate() {
            let name = if at == 1 { format!("act.{block}") } else { format!("block.{block}.{part}") };
            layers.push((["ReLU", "Tanh", "Exp"][at % 3], name.clone(), last));
            last = name;
        }
    }
    let layers: Vec<_> =
        layers.iter().map(|(op, name, source)| (*op, name.as_str(), source.as_str())).collect();
    let graph = graph(&layers);
    let items = scopes(&graph);
    let Item::Scope(blocks) = &items[1] else { panic!("{}", outline(&graph, &items)) };
    assert_eq!((items.len(), blocks.size), (3, 36), "{}", outline(&graph, &items));
}

#[test]
fn what_depends_on_constants_only_is_part_of_its_reader() {
    let text = MODEL
        .replace("%enc/one/add = Add-1(%x, %k)", "%neg = Negative-1(%k)\n  %enc/one/add = Add-1(%x, %neg)");
    let graph = text::parse(&text, None).unwrap();
    let outline = outline(&graph, &scopes(&graph));
    assert_eq!(outline, "x enc [enc/one [enc/one/add enc/one/relu] enc/two/exp] top y");
}

#[test]
fn a_group_of_blocks_is_the_first_block_and_the_others() {
    let mut layers = Vec::new();
    let mut last = String::from("x");
    for block in 0..4 {
        for op in ["ReLU", "Tanh"] {
            let name = format!("h.{block}/{op}");
            layers.push((op, name.clone(), last));
            last = name;
        }
    }
    let layers: Vec<_> =
        layers.iter().map(|(op, name, source)| (*op, name.as_str(), source.as_str())).collect();
    let graph = graph(&layers);
    let titles = |options: &PictureOptions| -> Vec<String> {
        Scene::new(&graph, options).boxes.into_iter().map(|one| one.title).collect()
    };
    assert_eq!(titles(&PictureOptions::new()), ["Parameter", "ReLU", "Tanh", "3 × 2 layers", "Result"]);
    assert_eq!(titles(&PictureOptions::new().each_repeat(true)).len(), 10);
    assert_eq!(titles(&PictureOptions::new().depth(1)), ["Parameter", "4 × 2 layers", "Result"]);
    let deep = PictureOptions::new().depth(2);
    assert_eq!(titles(&deep), ["Parameter", "ReLU, Tanh", "3 × 2 layers", "Result"]);
    assert_eq!(titles(&deep.each_repeat(true)).len(), 6);
}

#[test]
fn equal_layers_of_a_long_chain_are_a_group() {
    let names: Vec<String> = (0..10_000).map(|at| format!("layer_{at}")).collect();
    let sources = ["x"].into_iter().chain(names.iter().map(String::as_str));
    let layers: Vec<_> =
        names.iter().zip(sources).map(|(name, source)| ("ReLU", name.as_str(), source)).collect();
    let graph = graph(&layers);
    let first = Scene::new(&graph, &PictureOptions::new());
    let titles: Vec<&str> = first.boxes.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["Parameter", "ReLU", "9999 × ReLU", "Result"]);
    assert_eq!(Scene::new(&graph, &PictureOptions::new().each_repeat(true)).boxes.len(), 10_002);
}

#[test]
fn unnamed_blocks_of_equal_structure_are_a_group() {
    let ops = ["ReLU", "Tanh", "Exp", "Sigmoid"];
    let mut layers = vec![("Exp", String::from("stem"), String::from("x"))];
    for at in 0..30 {
        let (name, before) = (|part: &str| format!("{part}_{at}"), layers.last().unwrap().1.clone());
        layers.push((ops[0], name("relu"), before.clone()));
        layers.push((ops[1], name("tanh"), name("relu")));
        layers.push((ops[2], name("exp"), name("tanh")));
        layers.push(("Add", name("add"), format!("{} {before}", name("exp"))));
    }
    let layers: Vec<_> =
        layers.iter().map(|(op, name, source)| (*op, name.as_str(), source.as_str())).collect();
    let graph = graph(&layers);
    let items = scopes(&graph);
    let [_, _, Item::Scope(group), _] = items.as_slice() else { panic!("{}", outline(&graph, &items)) };
    assert_eq!(
        (group.repeats, group.size, group.name.as_str()),
        (30, 120, "relu_0 … add_0 … relu_29 … add_29")
    );
}

#[test]
fn a_long_graph_without_repeats_is_divided_where_a_single_value_leads_on() {
    // The numbers of layers between the places differ, so no two pieces are equal.
    let mut layers = Vec::new();
    let mut last = String::from("x");
    for piece in 0..30 {
        let before = last.clone();
        for at in 0..=piece {
            let name = format!("layer_{piece}_{at}");
            layers.push(("ReLU", name.clone(), last));
            last = name;
        }
        let name = format!("add_{piece}");
        layers.push(("Add", name.clone(), format!("{last} {before}")));
        last = name;
    }
    let layers: Vec<_> =
        layers.iter().map(|(op, name, source)| (*op, name.as_str(), source.as_str())).collect();
    let graph = graph(&layers);
    let scene = Scene::new(&graph, &PictureOptions::new());
    assert!(scene.boxes.len() <= 90);
    let sections = scene.boxes.iter().filter(|one| one.kind == BoxKind::Scope);
    assert!(sections.clone().count() > 5 && sections.clone().all(|one| one.name.contains("… add_")));
    assert!(scene.arrows.iter().all(|arrow| arrow.to == arrow.from + 1), "{:?}", scene.arrows);
}

#[test]
fn around_a_layer_is_what_it_is_connected_to() {
    let graph = model();
    let near = |steps| names(&Scene::new(&graph, &PictureOptions::new().around("enc/one/relu", steps))).len();
    assert_eq!([near(0), near(1), near(2)], [1, 3, 5]);
    assert_eq!(Scene::new(&graph, &PictureOptions::new().around("absent", 3)).boxes.len(), 0);
}

#[test]
fn failed_layers_stay_visible() {
    let graph = model();
    let options = PictureOptions::new().failed(["enc/one/add".to_owned()]);
    assert_eq!(Scene::new(&graph, &options).boxes[1].kind, BoxKind::Failed);
    assert_eq!(Scene::new(&graph, &options.depth(1)).boxes[1].kind, BoxKind::Failed);
}

#[test]
fn names_are_quoted() {
    let picture = svg(&model(), &PictureOptions::new());
    assert!(picture.contains("&lt;b&gt;&amp;"));
    assert!(!picture.contains("<b>"));
}

#[test]
fn bodies_are_drawn_below() {
    let text = "snick 1\ngraph \"g\" {\n  %c = Parameter-1 {element_type: boolean, shape: \"\"}\n  \
        %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
        %choice = If-8(%c, %x) {inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [], \
        else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}\n  \
        then_body graph \"\" {\n    %p = Parameter-1 {element_type: f32, shape: \"4\"}\n    %e = Exp-1(%p)\n    \
        %r = Result-1(%e)\n  }\n  else_body graph \"\" {\n    %p = Parameter-1 {element_type: f32, shape: \"4\"}\n    \
        %r = Result-1(%p)\n  }\n  %y = Result-1(%choice)\n}\n";
    let mut graph = text::parse(text, None).unwrap();
    infer(&mut graph);
    let scene = Scene::new(&graph, &PictureOptions::new());
    let titles: Vec<&str> = scene.bodies.iter().map(|body| body.title.as_str()).collect();
    assert_eq!(titles, ["then_body of If choice", "else_body of If choice"]);
    assert!(svg(&graph, &PictureOptions::new()).contains("else_body of If choice"));
}
