//! A model that is written for an older release is the same model in canonical form.

use snick::{DiffOptions, Format, LoadOptions, Model, SaveOptions, SaveTarget, diff};

use crate::files;

/// Writes the model for OpenVINO 2023.0, and compares the written model with it. `None` if that release cannot read
/// the model in any form.
fn is_same_afterwards(mut model: Model) -> Option<bool> {
    model.infer().into_result().unwrap();
    let target: SaveTarget = "openvino=2023.0".parse().unwrap();
    let files = model.to_files("model.xml", SaveOptions::new().target(target)).ok()?;
    let [(_, weights), (_, xml)] = &files[..] else { panic!("{} files", files.len()) };
    let mut written = snick::load_bytes(Format::OpenVino, xml, Some(weights), &LoadOptions::new()).unwrap();
    written.infer().into_result().unwrap();
    Some(diff(&model, &written, &DiffOptions::new().canon(true)).unwrap().is_equal())
}

#[test]
fn models_keep_their_canonical_form() {
    let mut count = 0;
    for path in files::models() {
        let name = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let Some(is_same) = is_same_afterwards(snick::load(&path).unwrap()) else { continue };
        // The release reads no shape that is known to be empty, so this model is written without its sizes.
        assert_eq!(is_same, name != "strided_slice_05_clamped", "{name}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn newer_operations_are_recognised() {
    let text = "snick 1
graph \"g\" {
  %q = Parameter-1 {element_type: f32, shape: \"?,4,?,8\"}
  %k = Parameter-1 {element_type: f32, shape: \"?,4,?,8\"}
  %m = Parameter-1 {element_type: boolean, shape: \"?,1,?,?\"}
  %s = Parameter-1 {element_type: f32, shape: \"4\"}
  %attention = ScaledDotProductAttention-13(%q, %k, %k, %m) {causal: false}
  %masked = ScaledDotProductAttention-13(%attention, %k, %k) {causal: true}
  %x = Result-1(%masked)
  %image = Parameter-1 {element_type: f32, shape: \"?,4,?,?\"}
  %groups = GroupNormalization-12(%image, %s, %s) {num_groups: 2, epsilon: 0.001}
  %pads = Const-1 i64[4] <0, 0, 1, 1>
  %padded = Pad-12(%groups, %pads, %pads) {pad_mode: edge}
  %pool = AvgPool-16(%padded) {kernel: [2,2], strides: [1,1], pads_begin: [0,0], pads_end: [0,0], rounding_type: floor}
  %y = Result-1(%pool)
  %not = BitwiseNot-13(%m)
  %both = BitwiseAnd-13(%m, %not)
  %z = Result-1(%both)
}
";
    assert_eq!(is_same_afterwards(snick::parse(text).unwrap()), Some(true));
}
