//! `snick.check/1`.

use snick::{Finding, Severity};

use super::{CheckedModel, Report, place};
use crate::cli::json::Json;

pub(super) fn render(report: &Report) -> String {
    let mut json = Json::default();
    json.object(|json| {
        json.key("schema").string("snick.check/1");
        json.line()
            .key("models")
            .array(|json| report.models.iter().for_each(|model| write_model(json, model)));
        json.line().key("findings").array(|json| {
            report.findings().for_each(|(model, finding)| write_finding(json, model, finding));
        });
        json.line().key("summary").object(|json| {
            json.key("models").plain(report.models.len());
            json.key("errors").plain(report.count(Severity::Error));
            json.key("warnings").plain(report.count(Severity::Warning));
            json.key("notes").plain(report.count(Severity::Note));
        });
    });
    json.finish()
}

fn write_model(json: &mut Json, model: &CheckedModel) {
    json.line().object(|json| {
        json.key("path").string(&model.path);
        json.key("status").string(model.status.name());
        json.key("seconds").float((model.time.as_secs_f64() * 1e6).round() / 1e6);
    });
}

fn write_finding(json: &mut Json, model: &CheckedModel, finding: &Finding) {
    json.line().object(|json| {
        json.key("code").string(finding.code);
        json.key("name").string(finding.name);
        json.key("severity").string(finding.severity_name());
        json.key("path").string(&model.path);
        let or_null = |json: &mut Json, key, text: Option<&str>| match text {
            Some(text) => json.key(key).string(text),
            None => json.key(key).plain("null"),
        };
        let layer = (!finding.op.is_empty() || !finding.layer.is_empty()).then_some(finding.layer.as_str());
        or_null(json, "layer", layer);
        or_null(json, "op", Some(finding.op.as_str()).filter(|op| !op.is_empty()));
        let loc = place(finding).map(|(line, column)| format!("{line}:{column}"));
        or_null(json, "loc", loc.as_deref());
        json.key("message").string(&finding.message);
        json.key("help").string(&finding.help);
        json.key("origins").array(|json| finding.origins.iter().for_each(|origin| json.string(origin)));
    });
}
