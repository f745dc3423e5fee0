//! Programs that a new user of the library might write.
#![cfg(all(feature = "run", feature = "emit"))]

use std::error::Error as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use snick::{
    Arity, Attrs, CustomOp, ElementType, Error, Fact, Facts, Format, GraphBuilder, Infer, InferOptions,
    Limits, LoadOptions, Model, Op, OpError, Pass, Patch, Progress, Registry, RewriteOptions, RewriteResult,
    Rule, RunOptions, Session, Shape, StridedSliceMasks, Tensor, ops,
};

type Tested = Result<(), Box<dyn std::error::Error>>;

fn crop() -> Result<Model, Error> {
    let b = GraphBuilder::new("crop");
    let x = b.parameter("x", ElementType::F32, "N,3,H=16..64,W")?;
    assert_eq!(b.fact(x)?.shape().rank(), Some(4));
    let masks = StridedSliceMasks::new().begin([1, 1, 0]).end([1, 1, 0]);
    let y = b.strided_slice(x, &[0, 0, 1], &[0, 0, -1], &[1, 1, 2], masks)?;
    let z = b.op("sum", ops::Add::default(), &[y, y])?;
    b.result("out", z)?;
    Ok(Model::from(b.finish()?))
}

#[test]
fn a_graph_built_in_code_is_inferred() -> Tested {
    let model = crop()?;
    let graph = model.graph();
    let mut lines = Vec::new();
    for id in graph.order()? {
        let node = graph.node(id);
        for (port, fact) in node.outputs().enumerate() {
            lines.push(format!("{} {port} {}", node.name(), fact.shape().display(graph.symbols())));
        }
    }
    assert!(lines.contains(&"sum 0 [N,3,(H+1)/2-1,W]".to_string()), "{lines:?}");
    let sum = graph.find("sum").expect("layer");
    assert_eq!(graph.node(sum).inputs().len(), 2);
    assert_eq!(graph.node(sum).outputs().next().expect("an output").element_type(), ElementType::F32);
    assert!(graph.find("nothing").is_none() && graph.find_tensor("nothing").is_none());
    Ok(())
}

#[test]
fn foreign_values_and_unknown_names_are_errors() -> Tested {
    let one = GraphBuilder::new("one");
    let x = one.parameter("x", ElementType::F32, "4")?;
    let y = one.relu(x)?;
    let other = GraphBuilder::new("other");
    assert!(other.relu(y).is_err());
    assert!(Op::by_name("Addd", Attrs::new()).unwrap_err().to_string().contains("did you mean `Add`?"));
    Ok(())
}

#[test]
fn a_model_is_read_from_bytes() -> Tested {
    let model = crop()?;
    let folder = std::env::temp_dir().join(format!("snick-api-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("model.xml");
    model.save(&path)?;
    let (xml, weights) = (std::fs::read_to_string(&path)?, std::fs::read(folder.join("model.bin"))?);
    std::fs::remove_dir_all(&folder)?;
    let mut read = snick::load_bytes(Format::OpenVino, &xml, Some(&weights), &LoadOptions::new())?;
    read.infer().into_result()?;
    let x = Tensor::full(&[1, 3, 16, 2], 1.5f32)?;
    assert_eq!(read.run([("x", x)])?["out"].dims(), [1, 3, 7, 2]);
    // Without weights, the values of constants are unknown, so shapes are less precise, but still correct.
    let mut without = snick::load_bytes(Format::OpenVino, xml.as_bytes(), None, &LoadOptions::new())?;
    without.infer().into_result()?;
    assert!(snick::load_bytes(Format::OpenVino, b"<net", None, &LoadOptions::new()).is_err());
    Ok(())
}

/// A server that keeps sessions in a struct and runs them from any thread.
struct Server {
    session: Session,
    served: AtomicUsize,
}

impl Server {
    fn serve(&self, row: &[f32]) -> Result<Vec<f32>, Error> {
        let outputs = self.session.run([("x", Tensor::from_slice(row, &[1, row.len()])?)])?;
        self.served.fetch_add(1, Ordering::Relaxed);
        Ok(outputs["y"].as_slice()?.to_vec())
    }
}

fn relu() -> Result<Model, Error> {
    let mut model = snick::parse(
        "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,M\"}\n  %a = ReLU-1(%x)\n  \
         %y = Result-1(%a)\n}\n",
    )?;
    model.infer().into_result()?;
    Ok(model)
}

#[test]
fn a_server_owns_its_session() -> Tested {
    fn is_shareable<T: Send + Sync + 'static>(_: &T) {}
    let server = Arc::new(Server { session: relu()?.session()?, served: AtomicUsize::new(0) });
    is_shareable(&*server);
    let workers: Vec<_> = (0..4)
        .map(|i| {
            let server = server.clone();
            std::thread::spawn(move || server.serve(&[-1.0, i as f32]))
        })
        .collect();
    for (i, worker) in workers.into_iter().enumerate() {
        assert_eq!(worker.join().expect("no panic")?, [0.0, i as f32]);
    }
    assert_eq!(server.served.load(Ordering::Relaxed), 4);
    Ok(())
}

#[test]
fn variables_stay_from_run_to_run() -> Tested {
    let mut model = snick::parse(
        "snick 1\ngraph \"sum\" {\n  %x = Parameter-1 {element_type: f32, shape: \"1\"}\n  \
         %v = ReadValue-6(%x) {variable_id: v, variable_type: f32, variable_shape: \"1\"}\n  \
         %s = Add-1(%v, %x)\n  %a = Assign-6(%s) {variable_id: v}\n  %y = Result-1(%s)\n}\n",
    )?;
    model.infer().into_result()?;
    let session = model.session()?;
    let next = || -> Result<f32, Error> {
        Ok(session.run([("x", Tensor::from_slice(&[1f32], &[1])?)])?["y"].as_slice::<f32>()?[0])
    };
    assert_eq!([next()?, next()?, next()?], [2.0, 3.0, 4.0]);
    session.reset();
    assert_eq!(next()?, 2.0);
    Ok(())
}

#[test]
fn a_run_can_be_cancelled_and_limited() -> Tested {
    let session = relu()?.session()?;
    let x = || Tensor::full(&[1, 2], 1f32);
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let options = RunOptions::new().threads(2).progress(move |progress| {
        count.fetch_add(1, Ordering::Relaxed);
        if progress.layer == "x" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let error = session.run_with([("x", x()?)], &options).unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    assert_eq!((seen.load(Ordering::Relaxed), error.code()), (1, "S057"));
    let options = RunOptions::new().limits(Limits::new().time(Duration::ZERO));
    let error = session.run_with([("x", x()?)], &options).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    Ok(())
}

#[test]
fn reading_can_be_cancelled_and_limited() -> Tested {
    let model = relu()?;
    let folder = std::env::temp_dir().join(format!("snick-watched-reading-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for file in ["m.xml", "m.onnx", "m.snick"] {
        let path = folder.join(file);
        model.save(&path)?;
        let read = |options| snick::load_with(&path, &options);
        let seen = Arc::new(AtomicUsize::new(0));
        let count = seen.clone();
        read(LoadOptions::new().limits(Limits::new().layers(model.graph().len())).progress(
            move |progress| {
                assert_eq!(progress.done, count.fetch_add(1, Ordering::Relaxed) + 1);
                ControlFlow::Continue(())
            },
        ))?;
        assert!(seen.load(Ordering::Relaxed) > 0, "{file}");
        let error = read(LoadOptions::new().progress(|_| ControlFlow::Break(()))).unwrap_err();
        assert!(matches!(&error, Error::Cancelled { layer } if !layer.is_empty()), "{file}: {error}");
        let error = read(LoadOptions::new().limits(Limits::new().layers(2))).unwrap_err();
        assert!(matches!(&error, Error::Limit { limit, .. } if limit == "2 layers"), "{file}: {error}");
        let error = read(LoadOptions::new().limits(Limits::new().time(Duration::ZERO))).unwrap_err();
        assert!(matches!(&error, Error::Limit { limit, .. } if limit == "0ns"), "{file}: {error}");
    }
    Ok(std::fs::remove_dir_all(&folder)?)
}

#[test]
fn memory_of_a_run_is_limited() -> Tested {
    let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
                %shape = Const-1 i64[2] <1024, 1024>\n  %wide = Broadcast-3(%x, %shape) {mode: numpy}\n  \
                %y = Result-1(%wide)\n}\n";
    let mut model = snick::parse(text)?;
    model.infer().into_result()?;
    let session = model.session()?;
    let run = |bytes| {
        session.run_with(
            [("x", Tensor::full(&[1], 1f32)?)],
            &RunOptions::new().limits(Limits::new().memory(bytes)),
        )
    };
    assert_eq!(run(8 << 20)?["y"].dims(), [1024, 1024]);
    let error = run(2 << 20).unwrap_err();
    assert!(matches!(&error, Error::Limit { layer, .. } if layer == "wide"), "{error}");
    Ok(())
}

/// A model with more layers than the limit is neither inferred nor rewritten.
#[test]
fn layers_are_limited_everywhere() -> Tested {
    let mut model = relu()?;
    let few = Limits::new().layers(2);
    let error = model.infer_with(&InferOptions::new().limits(few)).unwrap_err();
    assert_eq!(error.to_string(), "the limit of 2 layers is reached");
    model.infer().into_result()?;
    let error = model.apply(&[], &RewriteOptions::new().limits(few)).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    let error =
        model.session()?.run_with([("x", Tensor::full(&[1, 2], 1f32)?)], &RunOptions::new().limits(few));
    assert!(matches!(error, Err(Error::Limit { .. })), "{error:?}");
    Ok(())
}

#[test]
fn each_cause_of_an_error_is_printed_once() {
    let error = snick::load("no/such/model.xml").unwrap_err();
    let mut chain = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        chain.push(error.to_string());
        cause = error.source();
    }
    assert_eq!(chain.len(), 2, "{chain:?}");
    assert!(!chain[0].contains(&chain[1]), "{chain:?}");
    assert!(error.source().expect("a cause").is::<std::io::Error>());
}

#[test]
fn errors_of_layers_are_data() -> Tested {
    let mut model = snick::parse(
        "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
         %y = Parameter-1 {element_type: f32, shape: \"4\"}\n  %sum = Add-1(%x, %y)\n  %r = Result-1(%sum)\n}\n",
    )?;
    let inference = model.infer();
    let [error] = inference.errors() else { panic!("{:?}", inference.errors()) };
    assert_eq!((error.code, error.layer.as_str(), error.op.as_str()), ("S020", "sum", "Add"));
    assert_eq!((error.loc.line, error.origins.len()), (5, 2));
    let made: Vec<_> =
        error.origins.iter().map(|origin| (&*origin.value, &*origin.layer, origin.loc.line)).collect();
    assert_eq!(made, [("f32[2,3]", "x", 3), ("f32[4]", "y", 4)]);
    let error = inference.into_result().unwrap_err();
    assert_eq!((error.code(), error.diagnostics().len()), ("S020", 1));
    Ok(())
}

/// An op that has a decomposition but no implementation.
#[derive(Debug)]
struct Twice;

impl CustomOp for Twice {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }

    fn decompose(&self, b: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        let x = b.input(0)?;
        Ok(RewriteResult::one(b.add(x, x)?))
    }
}

/// An op that only infers shapes.
#[derive(Debug)]
struct Unknowable;

impl CustomOp for Unknowable {
    fn arity(&self) -> Arity {
        Arity::at_least(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        Ok(Facts::from(Fact::new(cx.element_type(0), Shape::unranked())))
    }
}

#[test]
fn custom_ops_run_by_their_decomposition_or_say_that_they_cannot() -> Tested {
    let mut registry = Registry::builtin();
    registry
        .register("my.ops", "Twice", |_| Ok(Arc::new(Twice)))
        .register("my.ops", "Unknowable", |_| Ok(Arc::new(Unknowable)));
    let text = |op: &str| {
        format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N\"}}\n  \
             %a = {op}-\"my.ops\"(%x)\n  %y = Result-1(%a)\n}}\n"
        )
    };
    let load = |op| -> Result<Model, Error> {
        let mut model = snick::load_bytes(Format::Text, text(op), None, &LoadOptions::new().ops(&registry))?;
        model.infer().into_result()?;
        Ok(model)
    };
    let x = || Tensor::from_slice(&[1f32, 2.], &[2]);
    assert_eq!(load("Twice")?.run([("x", x()?)])?["y"].as_slice::<f32>()?, [2., 4.]);
    let error = load("Unknowable")?.run([("x", x()?)]).unwrap_err();
    assert!(error.to_string().contains("no implementation to run `Unknowable`"), "{error}");
    Ok(())
}

#[test]
fn rules_capture_what_they_like() -> Tested {
    let mut model = relu()?;
    let count = Arc::new(AtomicUsize::new(0));
    let (seen, wanted) = (count.clone(), "ReLU".to_string());
    let rule = Rule::new("count", move |patch| {
        if patch.node().op().type_name() == wanted {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        Ok(RewriteResult::NoMatch)
    });
    let report = model.apply(&[Pass::new("mine", [rule])], &RewriteOptions::new().check(true))?;
    assert!(report.applied.is_empty());
    assert_eq!(count.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn inference_and_rewriting_end_when_they_are_told_to() -> Tested {
    let b = GraphBuilder::new("chain");
    let mut x = b.parameter("x", ElementType::F32, "N")?;
    for _ in 0..3 {
        x = b.relu(x)?;
    }
    b.result("y", x)?;
    let mut model = Model::from(b.finish()?);

    let stop_at_two = |progress: &Progress| match progress.done {
        0..2 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let error = model.infer_with(&InferOptions::new().progress(stop_at_two)).unwrap_err();
    assert!(matches!(&error, Error::Cancelled { layer } if layer == "ReLU_1"), "{error}");
    let ranks = |model: &Model| -> Vec<Option<usize>> {
        let graph = model.graph();
        graph.ids().flat_map(|id| graph.node(id).outputs().map(|fact| fact.shape().rank())).collect()
    };
    assert_eq!(ranks(&model), [Some(1), Some(1), None, None, None]);

    let no_time = Limits::new().time(Duration::ZERO);
    let error = model.infer_with(&InferOptions::new().limits(no_time)).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");

    model.infer().into_result()?;
    let once = Rule::new("relu-once", |patch| {
        let input = patch.input(0);
        match input {
            Ok(x) if patch.node().op().type_name() == "ReLU" && patch.op_of(x).type_name() == "ReLU" => {
                Ok(RewriteResult::one(x))
            }
            _ => Ok(RewriteResult::NoMatch),
        }
    });
    let passes = [Pass::new("mine", [once])];
    let error = model.clone().apply(&passes, &RewriteOptions::new().limits(no_time)).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    let options = RewriteOptions::new().progress(|progress| match progress.layer {
        "ReLU_3" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let report = model.clone().canonicalise_with(&options);
    assert!(report.stopped.is_some());
    assert_eq!(model.apply(&passes, &RewriteOptions::new())?.applied.len(), 2);
    Ok(())
}

#[test]
fn dims_of_inputs_may_be_expressions() -> Tested {
    let b = GraphBuilder::new("masked");
    let past = b.parameter("past", ElementType::F32, "?")?;
    let mask = b.parameter("mask", ElementType::F32, "?")?;
    let masked = b.multiply(past, mask)?;
    b.result("out", masked)?;
    let mut model = Model::from(b.finish()?);
    let shape_of = |model: &Model| {
        let graph = model.graph();
        let fact = graph.node(graph.results().next().unwrap()).outputs().next().unwrap().clone();
        fact.shape().display(graph.symbols()).to_string()
    };
    model.reshape("past[2*N], mask[(4*N+1)/2]")?;
    model.infer().into_result()?;
    assert_eq!(shape_of(&model), "[2*N]");
    let vector = |n: usize| Tensor::from_slice(&vec![1f32; n], &[n]);
    model.run([("past", vector(4)?), ("mask", vector(4)?)])?;
    let error = model.run([("past", vector(3)?), ("mask", vector(3)?)]).unwrap_err();
    assert!(error.to_string().contains("dim `2*N` of the input is 3"), "{error}");

    let before = model.to_text();
    for (spec, message) in [
        ("past[N],0[N]", "the shape of input `past` is given twice"),
        ("past[N],mask[2*]", "bad dimension `2*`"),
        ("past[1],mask[M=N+1]", "write the expression alone, `N+1`"),
    ] {
        let error = model.reshape(spec).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(model.to_text(), before, "{spec}");
    }
    Ok(())
}

#[test]
fn a_copy_of_a_model_changes_alone() -> Tested {
    let model = relu()?;
    let session = model.session()?;
    let mut copy = model.clone();
    copy.reshape("x[1,2]")?;
    copy.infer().into_result()?;
    assert!(model.to_text().contains("\"N,M\"") && copy.to_text().contains("\"1,2\""));
    assert_eq!(session.graph(), model.graph());
    Ok(())
}

#[cfg(feature = "analyze")]
#[test]
fn a_tensor_is_named_with_or_without_its_port() -> Tested {
    let mut model = snick::parse(
        "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
         %a = ReLU-1(%x) : f32[N,3] \"act\"\n  %y = Result-1(%a)\n}\n",
    )?;
    model.infer().into_result()?;
    assert_eq!(model.target("act:0:1")?, model.target("act:1")?);
    assert_eq!(model.target("act:0:1")?, model.target("a:1:1")?);
    assert!(model.target("act:2:1").is_err() && model.target("a:2:1").is_err());
    Ok(())
}
