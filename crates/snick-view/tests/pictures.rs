//! The content of pictures.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use snick_ir::{Graph, infer, text};
use snick_view::{BoxKind, PictureOptions, Scene, svg};

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
    assert_eq!(scene.boxes[1].details, ["1: f32[8]"]);
    let shown = &scene.boxes[1].outputs[0];
    assert_eq!((shown.text.as_str(), shown.is_bounded), ("f32[N,8]", false));
    assert_eq!((scene.boxes[0].kind, scene.boxes[5].kind), (BoxKind::Input, BoxKind::Output));
}

#[test]
fn scopes_become_one_box() {
    let graph = model();
    let folded = Scene::new(&graph, &PictureOptions::new().depth(1));
    assert_eq!(names(&folded), ["x", "enc", "top", "y"]);
    assert_eq!((folded.boxes[1].kind, folded.boxes[1].title.as_str()), (BoxKind::Scope, "3 layers"));
    let arrows: Vec<(usize, usize)> = folded.arrows.iter().map(|arrow| (arrow.from, arrow.to)).collect();
    assert_eq!(arrows, [(0, 1), (0, 2), (1, 2), (2, 3)]);
    let deeper = Scene::new(&graph, &PictureOptions::new().depth(2));
    assert_eq!(names(&deeper), ["x", "enc/one", "enc/two/exp", "top", "y"]);
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
