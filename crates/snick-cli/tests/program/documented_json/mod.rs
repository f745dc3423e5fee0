//! `docs/src/json.md` lists exactly the members that the program prints.
//!
//! Runs commands on several models, and compares all their answers with the tables of the page.

mod audit;
mod page;

use std::path::Path;
use std::process::Command;

use serde_json::{Deserializer, Value};

use self::audit::Audit;
use self::page::Table;
use crate::{root, scratch, text};

/// Commands whose answers together contain all members and all listed values. They run in the root of the
/// repository. `OUT/` is a folder for files, and `IN/` the folder of the models that only this test needs.
const COMMANDS: &[&str] = &[
    "convert docs/examples/two_inputs.snick -o OUT/two.onnx",
    "convert docs/examples/mismatch.snick -o OUT/mismatch.xml",
    "extract docs/examples/classifier.snick --to features -o OUT/features.snick",
    "edit docs/examples/classifier.snick --remove relu -o OUT/edited.snick",
    "inspect models",
    "inspect docs/examples/focus_cnn_executed.xml",
    "inspect docs/examples/key_cache.snick",
    "inspect docs/examples/two_inputs.snick docs/examples/ops.toml",
    "inspect IN/cycle.xml",
    "inspect IN/variable.snick",
    "infer models",
    "infer docs/examples/fancy_pad.snick",
    "infer docs/examples/mismatch.snick",
    "infer OUT/two.onnx --shape x[2,4],y[3,1]",
    "infer nosuch.xml",
    "canon models/focus_cnn/model.xml",
    "canon models/rotary_embedding/model.xml --verify",
    "canon docs/examples/mismatch.snick",
    "canon IN/unranked.snick",
    "certify docs/examples/crop.snick -o OUT/crop.json",
    "certify --check OUT/crop.json docs/examples/crop.snick",
    "certify --check OUT/crop.json docs/examples/two_inputs.snick",
    "certify docs/examples/crop.snick --after IN/crop_edited.snick",
    "run models/focus_cnn/model.xml --profile",
    "run models/bpe_tokenizer/model.xml --text hello",
    "run models/bpe_detokenizer/model.xml",
    "run IN/fails_in_a_run.snick",
    "run IN/recorded.snick -o OUT/recorded.npz",
    "run IN/inner.snick --compare OUT/recorded.npz",
    "run models/slice8_01_basic/model.xml -o OUT/slice.npz",
    "run models/slice8_03_step_2/model.xml --compare OUT/slice.npz",
    "why docs/examples/two_inputs.snick sum:2",
    "why models/shape_subgraph/model.xml left:4:3",
    "why models/shape_subgraph/model.xml left_end",
    "why models/bpe_tokenizer/model.xml Range_14",
    "why IN/fails_in_a_run.snick at:1:1",
    "why OUT/two.onnx sum:2:0",
    "why docs/examples/masked_keys.snick --unknown",
    "why models/bpe_tokenizer/model.xml --unknown",
    "why IN/unranked.snick --unknown",
    "why models/slice8_01_basic/model.xml --unknown",
    "why OUT/two.onnx --unknown",
    "why docs/examples/mismatch.snick --error 1",
    "why IN/elements.snick --error 1",
    "why OUT/two.onnx --error 1 --shape x[2,4],y[3,1]",
    "cost models/focus_cnn/model.xml",
    "cost OUT/two.onnx",
    "plan docs/examples/feed_forward.snick --shape x[6,16] --devices 4 --memory 4000",
    "plan IN/sharded.snick --mesh m=2 --shard x[_,m],w[_,m],v[m,_]",
    "plan IN/shifted.snick --mesh m=2 --shard x[m,_],w[m,_]",
    "diff models/slice8_01_basic/model.xml models/slice8_03_step_2/model.xml --run",
    "diff docs/examples/masked_keys.snick docs/examples/two_inputs.snick",
    "diff IN/branches.snick IN/branches_edited.snick --run",
    "diff models/focus_cnn/model.xml docs/examples/focus_cnn_executed.xml",
    "diff docs/examples/two_inputs.snick docs/examples/focus_cnn_executed.xml",
    "check models docs/examples/mismatch.snick docs/examples/ops.toml",
    "check models/focus_cnn --max-layers 2",
    "explain",
    "reduce docs/examples/mismatch.snick -o OUT/small.snick",
    "bench docs/examples/two_inputs.snick -n 1",
    "bench --cold docs/examples/two_inputs.snick docs/examples/mismatch.snick",
    "ops",
];

/// Commands that write the data of a report to `OUT/report.html`.
const REPORTS: &[&str] = &[
    "report models/focus_cnn/model.xml --diff docs/examples/mismatch.snick -o OUT/report.html",
    "report IN/branches.snick --diff IN/branches_edited.snick -o OUT/report.html",
    "report models/subgraphs_loop/model.xml -o OUT/report.html",
    "report models/bpe_tokenizer/model.xml -o OUT/report.html",
    "report docs/examples/masked_keys.snick -o OUT/report.html",
    "report docs/examples/fancy_pad.snick -o OUT/report.html",
    "report IN/equal_sizes.snick -o OUT/report.html",
    "report IN/scopes.snick -o OUT/report.html",
    "report IN/unranked.snick -o OUT/report.html",
    "report IN/cycle.xml -o OUT/report.html",
    "report OUT/two.onnx -o OUT/report.html",
];

/// Commands that write a manifest to `OUT/folder/manifest.json`.
const FOLDERS: &[&str] = &[
    "convert models/focus_cnn/model.xml -o OUT/folder/ --to stablehlo --shape [1,3,64,64] --mesh m=2 --shard head_weights[m]",
    "convert docs/examples/key_cache.snick -o OUT/folder/ --to stablehlo --stateless",
    "convert models/focus_cnn/model.xml -o OUT/folder/ --to linalg",
];

/// Optional members that these commands always print: the memory, if the system reports it, and the layer of a
/// symbol, unless the layer is gone.
const ALWAYS_PRINTED: &[[&str; 2]] =
    &[["bench", "peak_rss_mb"], ["bench---cold", "peak_rss_mb"], ["report-data", "symbols[].layer"]];

/// Runs a command, and adds its answers and diagnostics.
fn audit_command(audit: &mut Audit, command: &str, out: &Path) {
    let here = root().join("crates/snick-cli/tests/program/documented_json/models");
    let folders = [("OUT", out), ("IN", &here)];
    let arg = |arg: &str| {
        let is_in =
            |(name, _): &&(&str, &Path)| arg.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        match folders.iter().find(is_in) {
            Some((name, folder)) => format!("{}{}", folder.display(), &arg[name.len()..]),
            None => arg.to_string(),
        }
    };
    let output = Command::new(env!("CARGO_BIN_EXE_snick"))
        .args(command.split(' ').map(arg))
        .args(["--format", "json", "--error-format", "json"])
        .current_dir(root())
        .output()
        .unwrap();
    let objects = |stream: &[u8]| -> Vec<Value> {
        let objects: Result<_, _> = Deserializer::from_slice(stream).into_iter().collect();
        objects.unwrap_or_else(|error| panic!("{command}: {error}: {}", text(stream)))
    };
    objects(&output.stdout).iter().for_each(|answer| audit.answer(answer));
    objects(&output.stderr).iter().for_each(|diagnostic| audit.diagnostic(diagnostic));
}

/// The data of a report.
fn report_data(page: &Path) -> Value {
    let page = std::fs::read_to_string(page).unwrap();
    let start = page.find("{\"schema\":\"snick.view/1\"").unwrap();
    Deserializer::from_str(&page[start..]).into_iter().next().unwrap().unwrap()
}

#[test]
fn tables_list_what_the_program_prints() {
    let out = scratch("documented-json");
    let tables = Table::all();
    let mut audit = Audit::new(&tables);
    for command in COMMANDS {
        audit_command(&mut audit, command, &out);
    }
    for command in REPORTS {
        audit_command(&mut audit, command, &out);
        audit.answer(&report_data(&out.join("report.html")));
    }
    for command in FOLDERS {
        audit_command(&mut audit, command, &out);
        let manifest = std::fs::read_to_string(out.join("folder/manifest.json")).unwrap();
        audit.answer(&serde_json::from_str(&manifest).unwrap());
    }
    std::fs::remove_dir_all(out).unwrap();
    let problems = audit.finish(ALWAYS_PRINTED);
    assert!(problems.is_empty(), "docs/src/json.md:\n{}", problems.join("\n"));
}

#[test]
fn each_schema_has_an_example() {
    let tables = Table::all();
    let schemas = tables.iter().flat_map(|table| table.schemas.iter().map(move |schema| (table, schema)));
    let bare: Vec<&String> =
        schemas.filter(|(table, schema)| !table.has_example(schema)).map(|(_, schema)| schema).collect();
    assert!(bare.is_empty(), "docs/src/json.md has no example of {bare:?}");
}
