//! Findings about graphs: errors, unused layers, sizes, slices.

use snick::Release;

use super::{check_text, codes, serious};

#[test]
fn errors_behind_a_layer_with_an_error_are_not_reported() {
    // The Reshape has an inferred shape although its number of elements is wrong, and so does the sum.
    let findings = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n%to = Const-1 i64[2] <2, 4>\n\
         %r = Reshape-1(%x, %to) {special_zero: false}\n%sum = Add-1(%x, %r)\n%y = Result-1(%sum)",
    );
    assert_eq!(serious(&findings), [("S020", "r")]);
    // These two errors are independent of each other.
    let findings = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n%w = Parameter-1 {element_type: f32, shape: \"4\"}\n\
         %a = Add-1(%x, %w)\n%b = Multiply-1(%w, %x)\n%y = Result-1(%a)\n%z = Result-1(%b)",
    );
    assert_eq!(serious(&findings), [("S020", "a"), ("S020", "b")]);
}

#[test]
fn unused_layers_are_reported_where_they_end() {
    let findings = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"2\"}\n%c = Const-1 f32[1] <1.0>\n%a = Add-1(%x, %c)\n\
         %b = Exp-1(%a)\n%y = Result-1(%x)",
    );
    assert_eq!(serious(&findings), [("S015", "b")]);
    assert_eq!(findings[0].message, "no output of the model depends on it, with 2 layers that only it needs");
    let stateful = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"2\"}\n\
         %old = ReadValue-6(%x) {variable_id: \"v\", variable_type: f32, variable_shape: \"2\"}\n\
         %new = Add-1(%old, %x)\n%put = Assign-6(%new) {variable_id: \"v\"}",
    );
    assert_eq!(serious(&stateful), []);
}

#[test]
fn the_least_set_of_sizes_is_named_and_was_tried() {
    let findings = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"?,?\"}\n%w = Parameter-1 {element_type: f32, shape: \"?,4\"}\n\
         %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n%y = Result-1(%p)",
    );
    // The size of the contracted axis is not part of the output, so it is not reported.
    assert_eq!(serious(&findings), [("S023", "x")]);
    assert_eq!(
        findings[0].message,
        "axis 0 of input `x` has no upper bound, so axis 0 of output `y` has none"
    );
    assert!(findings[0].help.contains("--shape \"x[..1024,?]\" results in y[s0,4]"), "{}", findings[0].help);
    // The size of the input bounds the number of nonzero elements.
    let inner = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"?\"}\n%at = NonZero-3(%x) {output_type: i64}\n%y = Result-1(%at)",
    );
    assert_eq!(serious(&inner), [("S023", "x")]);
    // Each input size is only blamed for the outputs that depend on it.
    let two = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"?\"}\n%z = Parameter-1 {element_type: f32, shape: \"?\"}\n\
         %a = NonZero-3(%x) {output_type: i64}\n%b = NonZero-3(%z) {output_type: i64}\n%ra = Result-1(%a)\n\
         %rb = Result-1(%b)",
    );
    let messages: Vec<&str> = two.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "axis 0 of input `x` has no upper bound, so axis 1 of output `ra` has none",
            "axis 0 of input `z` has no upper bound, so axis 1 of output `rb` has none"
        ]
    );
    // Layers after an error are not inferred, so nothing else is reported.
    let failed = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n%w = Parameter-1 {element_type: f32, shape: \"5,4\"}\n\
         %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n%at = NonZero-3(%p) {output_type: i64}\n\
         %y = Result-1(%at)",
    );
    assert_eq!(serious(&failed), [("S020", "p")]);
    // A size that depends on the value of an input has no bound.
    let data = check_text(
        "%n = Parameter-1 {element_type: i64, shape: \"\"}\n%zero = Const-1 i64[] <0>\n%one = Const-1 i64[] <1>\n\
         %range = Range-4(%zero, %n, %one) {output_type: i64}\n%y = Result-1(%range)",
    );
    assert_eq!(serious(&data), [("S023", "range")]);
}

#[test]
fn sizes_that_layers_fix_are_reported_once_with_what_is_refused() {
    let reshape = |shape: &str, target: &str| {
        check_text(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n%to = Const-1 i64[2] <{target}>\n\
             %r = Reshape-1(%x, %to) {{special_zero: false}}\n%y = Result-1(%r)"
        ))
    };
    let findings = reshape("1..8,3,4", "2, 12");
    assert_eq!(serious(&findings), [("S024", "r")]);
    assert_eq!(
        findings[0].message,
        "the constant target takes only 2 for axis 0 of input `x`, declared 1..8: 1 and 3..8 would be refused"
    );
    assert_eq!(serious(&reshape("1..8,3,4", "-1, 12")), []);
    let sum = |size: &str| {
        check_text(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"3,{size}\"}}\n\
             %c = Const-1 f32[4] <1.0, 2.0, 3.0, 4.0>\n%s = Add-1(%x, %c)\n%y = Result-1(%s)"
        ))
    };
    assert_eq!(serious(&sum("2..9")), [("S025", "x")]);
    // A size of 1 is allowed, because it broadcasts.
    assert_eq!(serious(&sum("1..9")), []);
    // If a size is fixed to one value, it is not reported as unbounded.
    let open = check_text(
        "%x = Parameter-1 {element_type: f32, shape: \"2,?\"}\n%w = Parameter-1 {element_type: f32, shape: \"5,4\"}\n\
         %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n%y = Result-1(%p)\n%z = Result-1(%x)",
    );
    assert_eq!(serious(&open), [("S025", "x")]);
}

#[test]
fn slices_are_judged_for_all_sizes() {
    let slice = |size: &str, range: [&str; 3]| {
        let [start, stop, step] = range;
        check_text(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"{size}\"}}\n%start = Const-1 i64[1] <{start}>\n\
             %stop = Const-1 i64[1] <{stop}>\n%step = Const-1 i64[1] <{step}>\n\
             %s = Slice-8(%x, %start, %stop, %step)\n%y = Result-1(%s)"
        ))
    };
    for (size, range, expected) in [
        ("8", ["5", "2", "1"], &["S030"][..]),
        ("1..8", ["-1", "-2", "1"], &["S030"]),
        ("8", ["2", "5", "1"], &[]),
        ("..8", ["0", "9223372036854775807", "1"], &["S031"]),
        ("8", ["-8", "8", "1"], &["S031"]),
        // A backward range reverses the order.
        ("8", ["-1", "-9", "-1"], &[]),
        ("8", ["2", "9", "1"], &["S033"]),
        ("8", ["-9", "7", "1"], &["S033"]),
        // For some sizes, the bound is inside the axis.
        ("..100", ["2", "9", "1"], &[]),
        ("8", ["7", "-9223372036854775808", "-1"], &[]),
    ] {
        assert_eq!(codes(&slice(size, range)), expected, "{size} {range:?}");
    }
}

#[test]
fn masks_are_dead_beyond_their_entries_and_under_stronger_ones() {
    let masks = |[begin, end, new, shrink, ellipsis]: [&str; 5]| {
        let findings = check_text(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"8,8\"}}\n%b = Const-1 i64[1] <1>\n%e = Const-1 i64[1] <3>\n\
             %s = Const-1 i64[1] <1>\n%c = StridedSlice-1(%x, %b, %e, %s) {{begin_mask: [{begin}], end_mask: [{end}], \
             new_axis_mask: [{new}], shrink_axis_mask: [{shrink}], ellipsis_mask: [{ellipsis}]}}\n%y = Result-1(%c)"
        ));
        findings
            .into_iter()
            .filter(|finding| finding.code == "S032")
            .map(|finding| finding.message)
            .collect::<Vec<_>>()
    };
    assert!(masks(["0", "1", "0", "0", "0"]).is_empty());
    assert_eq!(
        masks(["0, 0", "0, 1", "", "", ""]),
        ["bit 1 of end_mask is set, but begin and end have 1 entry"]
    );
    assert_eq!(
        masks(["0", "1", "0", "1", "0"]),
        ["bit 0 of end_mask has no effect, because the bit of shrink_axis_mask is set"]
    );
    assert_eq!(
        masks(["0", "0", "1", "1", "0"]),
        ["bit 0 of shrink_axis_mask has no effect, because the bit of new_axis_mask is set"]
    );
    assert_eq!(
        masks(["0", "0", "1", "0", "1"]),
        ["bit 0 of new_axis_mask has no effect, because the bit of ellipsis_mask is set"]
    );
}

#[test]
fn targets_that_are_computed_in_part_fix_sizes_too() {
    let check = |shape: &str, target: &str| {
        check_text(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n%s = ShapeOf-3(%x) {{output_type: i64}}\n\
             %0 = Const-1 i64[] <0>\n%i0 = Const-1 i64[1] <0>\n%i1 = Const-1 i64[1] <1>\n%one = Const-1 i64[1] <1>\n\
             %three = Const-1 i64[1] <3>\n%four = Const-1 i64[1] <4>\n%rest = Const-1 i64[1] <-1>\n\
             %d0 = Gather-8(%s, %i0, %0) {{batch_dims: 0}}\n%d1 = Gather-8(%s, %i1, %0) {{batch_dims: 0}}\n\
             %to = Concat-1({target}) {{axis: 0}}\n%y = Reshape-1(%x, %to) {{special_zero: true}}\n%r = Result-1(%y)"
        ))
    };
    let baked = |findings: &[snick::Finding]| {
        let found = findings.iter().filter(|finding| finding.code == "S024");
        found.map(|finding| finding.origins.concat()).collect::<Vec<_>>()
    };
    // The axis that the Reshape target takes from the input stays dynamic; the other axis is fixed.
    assert_eq!(baked(&check("L,B,12", "%d0, %one, %three, %four")), ["axis 1 of input `x`"]);
    assert_eq!(baked(&check("B,L,12", "%one, %d1, %three, %four")), ["axis 0 of input `x`"]);
    assert_eq!(baked(&check("L=1..,B,12", "%d0, %three, %four, %four")), ["axis 1 of input `x`"]);
    assert!(baked(&check("L,B,12", "%d0, %d1, %three, %four")).is_empty());
    assert!(baked(&check("L,B,12", "%d0, %rest, %three, %four")).is_empty());
}

#[test]
fn integers_beyond_i32_are_reported_where_they_count() {
    let check = |layers: &str| {
        let findings = check_text(&format!("%x = Parameter-1 {{element_type: i64, shape: \"4\"}}\n{layers}"));
        findings
            .iter()
            .filter(|finding| finding.code == "S042")
            .map(|finding| finding.layer.clone())
            .collect::<Vec<_>>()
    };
    let big = "%c = Const-1 i64[1] <68719476736>";
    for op in [
        "Add-1(%x, %c)",
        "Multiply-1(%x, %c)",
        "Equal-1(%x, %c)",
        "Concat-1(%x, %c) {axis: 0}",
        "Maximum-1(%x, %c)",
    ] {
        assert_eq!(check(&format!("{big}\n%y = {op}\n%r = Result-1(%y)")), ["c"], "{op}");
    }
    for op in ["Minimum-1(%x, %c)", "Less-1(%x, %c)"] {
        assert!(check(&format!("{big}\n%y = {op}\n%r = Result-1(%y)")).is_empty(), "{op}");
    }
    // A sum used as the end of a slice is clamped, and the largest number of a type means the end.
    let slice = "%s = Const-1 i64[1] <0>\n%one = Const-1 i64[1] <1>\n%y = Slice-8(%x, %s, %e, %one)\n%r = Result-1(%y)";
    let size = "%n = ShapeOf-3(%x) {output_type: i64}\n%e = Add-1(%n, %c)";
    assert!(check(&format!("{big}\n{size}\n{slice}")).is_empty());
    assert!(check(&format!("%e = Const-1 i64[1] <9223372036854775807>\n{slice}")).is_empty());
    let largest = "%c = Const-1 i64[1] <9223372036854775807>\n%y = Maximum-1(%x, %c)\n%r = Result-1(%y)";
    assert!(check(largest).is_empty());
    // Constants are folded before integers are narrowed, and the folded result fits in i32.
    let folded =
        "%two = Const-1 i64[1] <34359738368>\n%d = Divide-1(%c, %two)\n%y = Add-1(%x, %d)\n%r = Result-1(%y)";
    assert!(check(&format!("{big}\n{folded}")).is_empty());
    let unsigned = "%u = Parameter-1 {element_type: u64, shape: \"1\"}\n%c = Const-1 u64[1] <18446744073709551000>\n\
                    %y = Add-1(%u, %c)\n%r = Result-1(%y)\n%q = Result-1(%x)";
    assert_eq!(check(unsigned), ["c"]);
}

#[test]
fn tables_in_16_bits_are_reported_and_weights_are_not() {
    let check = |table: &str, layers: &str| {
        let findings = check_text(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"1,3\"}}\n%c = Const-1 {table}\n\
             %t = Convert-1(%c) {{destination_type: f32}}\n{layers}\n%r = Result-1(%y)"
        ));
        findings.iter().any(|finding| finding.code == "S043" && finding.layer == "c")
    };
    let angles = "%m = Multiply-1(%x, %t)\n%y = Sin-1(%m)";
    assert!(check("f16[1,3] <1.0, 3000.0, 30000.0>", angles));
    assert!(check("bf16[1,3] <1.0, 300.0, 500.0>", angles));
    assert!(check("f16[1,3] <1.0, 3000.0, 30000.0>", "%y = Add-1(%x, %t)"));
    // Up to 2048, neighbouring f16 numbers differ by at most 1.
    assert!(!check("f16[1,3] <1.0, 1000.0, 2000.0>", angles));
    // A mask, and a single number that is repeated.
    assert!(!check("f16[1,3] <0.0, -65504.0, -65504.0>", "%y = Add-1(%x, %t)"));
    assert!(!check("f16[1,3] <1.0, 30000.0, 30000.0>", angles));
    // The rounding error of a factor is relative.
    let product = "%y = MatMul-1(%x, %t) {transpose_a: false, transpose_b: true}";
    assert!(!check("f16[1,3] <1.0, 3000.0, 30000.0>", product));
    assert!(!check("f16[1,3] <1.0, 3000.0, 30000.0>", "%y = Multiply-1(%x, %t)"));
}

/// The layer that needs the newest release of OpenVINO, and that release.
fn needed(layers: &str) -> (String, Option<Release>) {
    let finding =
        check_text(&format!("  ir 11\n{layers}")).into_iter().find(|finding| finding.code == "S040");
    let finding = finding.unwrap();
    (finding.layer, finding.release)
}

#[test]
fn the_needed_release_is_that_of_the_highest_requirement() {
    let x = "  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  %r = Result-1(%x)\n";
    let cases = [
        ("", "", Some((2022, 1))),
        ("  %y = Abs-1(%x)\n", "", Some((2022, 1))),
        ("  %y = Abs-12(%x)\n", "y", Some((2023, 1))),
        (
            "  %k = Const-1 i64[] <1>\n  %y = TopK-11(%x, %k) {axis: 1, mode: max, sort: value} : (_, _)\n",
            "y",
            Some((2023, 0)),
        ),
        ("  %y = Parameter-1 {element_type: f8e4m3, shape: \"2\"}\n", "y", Some((2024, 0))),
        ("  %y = Parameter-1 {element_type: u4, shape: \"2\"}\n", "", Some((2022, 1))),
        ("  %y = Const-1 u4[2] <1, 2>\n", "y", Some((2023, 2))),
        ("  %y = Parameter-1 {element_type: string, shape: \"2\"}\n", "y", Some((2023, 3))),
        ("  %y = Const-1 string[1] <\"a\">\n", "y", Some((2024, 0))),
        (
            "  %y = ReadValue-6() {variable_id: v, variable_type: f32, variable_shape: \"1\"}\n",
            "y",
            Some((2023, 3)),
        ),
        (
            "  %y = ReadValue-6(%x) {variable_id: v, variable_type: f32, variable_shape: \"2,3\"}\n",
            "y",
            Some((2023, 3)),
        ),
        (
            "  %z = Const-1 f32[] <0>\n  %s = ShapeOf-3(%x) {output_type: i64}\n  %b = Broadcast-3(%z, %s)\n  \
             %y = ReadValue-6(%b) {variable_id: v, variable_type: f32, variable_shape: \"2,3\"}\n",
            "",
            Some((2022, 1)),
        ),
        ("  %y = Parameter-1 {element_type: f32, shape: \"0,2\"}\n", "y", Some((2023, 3))),
        (
            "  %b = Const-1 i64[3] <0, 0, 0>\n  %e = Const-1 i64[3] <0, 2, 3>\n  \
             %y = StridedSlice-1(%x, %b, %e) {begin_mask: [0,0,0], end_mask: [0,0,0], new_axis_mask: [0,0,0], shrink_axis_mask: [0,0,0], ellipsis_mask: [1,0,0]}\n",
            "y",
            Some((2024, 0)),
        ),
        (
            "  %e = Parameter-1 {element_type: f32, shape: \"0,2\"}\n  \
             %i = Parameter-1 {element_type: i32, shape: \"2\"}\n  %y = BitwiseNot-13(%i)\n",
            "e",
            Some((2023, 3)),
        ),
        (
            "  %b = Parameter-1 {element_type: boolean, shape: \"2\"}\n  %y = BitwiseNot-13(%b)\n",
            "y",
            Some((2023, 3)),
        ),
        ("  %y = Crop-1(%x) {axis: [1], offset: [0], dim: [2]}\n", "y", None),
    ];
    for (layers, layer, release) in cases {
        let release = release.map(|(year, number)| Release::new(year, number));
        assert_eq!(needed(&format!("{x}{layers}")), (layer.to_string(), release), "{layers}");
    }
}

#[test]
fn masks_of_attention_need_releases() {
    for (mask, release) in [
        ("f32, shape: \"1,1,4,5\"", Release::new(2023, 3)),
        ("f32, shape: \"1,1,1,5\"", Release::new(2024, 3)),
        ("f32, shape: \"4,1\"", Release::new(2024, 3)),
        ("boolean, shape: \"4,5\"", Release::new(2025, 3)),
    ] {
        let layers = format!(
            "  %q = Parameter-1 {{element_type: f32, shape: \"1,2,4,8\"}}\n  \
             %k = Parameter-1 {{element_type: f32, shape: \"1,2,5,8\"}}\n  \
             %m = Parameter-1 {{element_type: {mask}}}\n  \
             %y = ScaledDotProductAttention-13(%q, %k, %k, %m) {{causal: false}}\n  %r = Result-1(%y)\n"
        );
        assert_eq!(needed(&layers), ("y".to_string(), Some(release)), "{mask}");
    }
}
