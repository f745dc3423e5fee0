//! Measures the time to read, infer and canonicalise a model of `models/`, and chains of slices. The chains
//! have two lengths, so that their times show whether the cost is linear.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fmt::Write as _;
use std::path::Path;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use snick_ir::{Graph, infer};

/// The XML and the weights of an IR with a chain of `n` StridedSlices, each with its own constants.
fn chain(n: usize) -> (String, Vec<u8>) {
    let mut xml = String::from("<net name=\"chain\" version=\"11\">\n<layers>\n");
    let (mut edges, mut weights) = (String::new(), Vec::new());
    let port = |id: usize, precision: &str, dims: &[i64]| {
        let dims: String = dims.iter().map(|d| format!("<dim>{d}</dim>")).collect();
        format!("<port id=\"{id}\" precision=\"{precision}\">{dims}</port>")
    };
    let data = [8, 64, 64];
    let _ = writeln!(
        xml,
        "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"8,64,64\" element_type=\"f32\"/>\
         <output>{}</output></layer>",
        port(0, "FP32", &data)
    );
    let mut last = (0, 0);
    for i in 0..n {
        let slice = 4 * i + 4;
        for (k, values) in [[0i64, 0, -64], [0, 0, 64], [1, 1, 1]].iter().enumerate() {
            let id = 4 * i + k + 1;
            let _ = writeln!(
                xml,
                "<layer id=\"{id}\" name=\"c{id}\" type=\"Const\" version=\"opset1\"><data element_type=\"i64\" shape=\"3\" \
                 offset=\"{}\" size=\"24\"/><output>{}</output></layer>",
                weights.len(),
                port(0, "I64", &[3])
            );
            weights.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            let _ = writeln!(
                edges,
                "<edge from-layer=\"{id}\" from-port=\"0\" to-layer=\"{slice}\" to-port=\"{}\"/>",
                k + 1
            );
        }
        let indices: String = (1..4).map(|p| port(p, "I64", &[3])).collect();
        let _ = writeln!(
            xml,
            "<layer id=\"{slice}\" name=\"slice{i}\" type=\"StridedSlice\" version=\"opset1\"><data begin_mask=\"1,1,0\" \
             end_mask=\"1,1,0\" new_axis_mask=\"\" shrink_axis_mask=\"\" ellipsis_mask=\"\"/><input>{}{indices}</input>\
             <output>{}</output></layer>",
            port(0, "FP32", &data),
            port(4, "FP32", &data)
        );
        let (from, out) = last;
        let _ = writeln!(
            edges,
            "<edge from-layer=\"{from}\" from-port=\"{out}\" to-layer=\"{slice}\" to-port=\"0\"/>"
        );
        last = (slice, 4);
    }
    let _ = write!(xml, "</layers>\n<edges>\n{edges}</edges>\n</net>\n");
    (xml, weights)
}

fn read(xml: &str, weights: &snick_read::openvino::Weights) -> Graph {
    snick_read::openvino::read(xml, weights, "bench.xml").unwrap().graph
}

fn stages(c: &mut Criterion) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/focus_cnn/model.xml");
    let focus = std::fs::read_to_string(&model).unwrap();
    let bytes = std::fs::read(model.with_extension("bin")).unwrap();
    let mut models = vec![("focus_cnn".to_string(), focus, bytes)];
    for n in [1_000, 2_000] {
        let (xml, weights) = chain(n);
        models.push((format!("chain of {n}"), xml, weights));
    }
    let mut group = c.benchmark_group("stages");
    for (name, xml, bytes) in models {
        let weights =
            snick_read::openvino::Weights::in_memory("bench.bin", snick_tensor::Storage::heap(bytes));
        let graph = read(&xml, &weights);
        let mut inferred = graph.clone();
        assert!(infer(&mut inferred).is_empty());
        group.throughput(Throughput::Elements(graph.len() as u64));
        group.bench_function(BenchmarkId::new("read", &name), |b| {
            b.iter_with_large_drop(|| read(&xml, &weights))
        });
        group.bench_function(BenchmarkId::new("infer", &name), |b| {
            b.iter_batched_ref(|| graph.clone(), infer, BatchSize::LargeInput);
        });
        group.bench_function(BenchmarkId::new("canon", &name), |b| {
            let options = snick_pass::RewriteOptions::new();
            b.iter_batched_ref(
                || inferred.clone(),
                |graph| snick_pass::canonicalise(graph, &options),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
