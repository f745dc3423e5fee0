//! Execution graphs, which `CompiledModel.get_runtime_model` returns: the layers that a plug-in ran, with
//! kernels and times but without attributes. Such layers cannot be inferred or run, and keep their declared
//! ports.

/// The note for a file with this number of such layers.
pub(super) fn note(layers: usize) -> Option<String> {
    let text = "an execution graph: layers as a plug-in ran them, with its times, kernels and shapes. They have no \
                attributes, so they cannot be inferred or run";
    (layers > 0).then(|| format!("{text} ({layers} layers)"))
}

#[cfg(test)]
mod tests {
    use snick_tensor::Storage;

    use crate::openvino::{Weights, read};

    #[test]
    fn layers_of_an_execution_graph_are_kept_as_they_are() {
        let data =
            r#"execOrder="1" execTimeMcs="not_executed" originalLayersNames="x" primitiveType="unknown_f32""#;
        let layer = |id: usize, name: &str| {
            format!(
                "<layer id=\"{id}\" name=\"{name}\" type=\"Const\"><data {data}/><output><port id=\"0\" \
                 precision=\"FP32\"><dim>4</dim></port></output></layer>"
            )
        };
        let text = format!(
            "<net name=\"n\" version=\"11\"><layers>{}{}</layers></net>",
            layer(0, "a"),
            layer(1, "b")
        );
        let read = read(&text, &Weights::in_memory("w.bin", Storage::heap(Vec::new())), "n.xml").unwrap();
        assert!(read.errors.is_empty(), "{:?}", read.errors);
        assert_eq!(read.notes.len(), 1, "{:?}", read.notes);
        assert!(read.notes[0].ends_with("(2 layers)"), "{:?}", read.notes);
        assert!(read.graph.ids().all(|id| read.graph.node(id).op().is_opaque()));
    }
}
