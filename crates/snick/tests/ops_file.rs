//! Ops declared in a file: messages, dims and attributes.
#![allow(clippy::expect_used, reason = "helpers of tests are tests")]
#![cfg(feature = "ops-toml")]

use snick::{Format, LoadOptions, parse_ops};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// The message for an op `Op` declared with these fields.
fn ops_error(fields: &str) -> String {
    let text = format!("[[op]]\nopset = \"my\"\ntype = \"Op\"\n{fields}\n");
    parse_ops(&text).map(drop).expect_err(fields).to_string()
}

#[test]
fn messages_of_declared_ops_name_the_op_and_the_dim() -> Tested {
    assert_eq!(
        ops_error("inputs = [\"N\"]\noutputs = [\"M\"]"),
        "op `Op`: output dim `M`: no input dim or attribute is named `M`"
    );
    assert_eq!(
        ops_error("inputs = [\"N\"]\noutputs = [\"N+\"]"),
        "op `Op`: output dim `N+`: expected a number, a name or `(`, found the end"
    );
    assert_eq!(
        ops_error("inputs = [\"N+1\"]\noutputs = []"),
        "op `Op`: input dim `N+1`: expected a name, a number, `_` or `?`"
    );
    let long = format!("{}M", "N+".repeat(200));
    assert!(ops_error(&format!("inputs = [\"N\"]\noutputs = [\"{long}\"]")).len() < 160);
    let twice = "[[op]]\nopset = \"my\"\ntype = \"Op\"\noutputs = []\n";
    let error = parse_ops(&twice.repeat(2)).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "op `Op` of opset `my` is declared twice; remove one");
    assert!(parse_ops("")?.is_builtin());
    let ops = parse_ops(&format!("{twice}attributes = {{ s = 1 }}\n"))?;
    let text = "snick 1\ngraph \"g\" {\n  %o = Op-my {s: \"two\"}\n}\n";
    let options = LoadOptions::new().ops(&ops);
    let error = snick::load_bytes(Format::Text, text, None, &options).unwrap_err();
    assert!(error.to_string().ends_with("attribute `s` is \"two\", expected an integer"), "{error}");
    Ok(())
}

#[test]
fn dims_of_declared_ops_may_be_numbers_or_of_any_size() -> Tested {
    let ops =
        parse_ops("[[op]]\nopset = \"my\"\ntype = \"Op\"\ninputs = [\"_,_,?,3\"]\noutputs = [\"3\"]\n")?;
    let infer = |shape: &str| {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n  %o = Op-my(%x)\n}}\n"
        );
        let mut model = snick::load_bytes(Format::Text, text, None, &LoadOptions::new().ops(&ops))?;
        model.infer().into_result()
    };
    infer("1,2,5,3")?;
    assert!(infer("1,2,5,4").unwrap_err().to_string().contains("3"));
    Ok(())
}

#[test]
fn attributes_of_declared_ops_are_printed_once() -> Tested {
    let ops = parse_ops("[[op]]\nopset = \"my\"\ntype = \"Op\"\noutputs = [\"1\"]\n")?;
    let xml = r#"<net name="g" version="11"><layers><layer id="0" name="o" type="Op" version="my"><data mood="sunny"/>
        <output><port id="0" precision="FP32"><dim>1</dim></port></output></layer></layers><edges/></net>"#;
    let mut model = snick::load_bytes(Format::OpenVino, xml, None, &LoadOptions::new().ops(&ops))?;
    model.infer().into_result()?;
    let text = model.to_text();
    assert_eq!(text.matches("mood").count(), 1, "{text}");
    Ok(())
}
