//! Files that cannot be read, and checks that were stopped by a limit.

use snick_ir::{Code, Loc};
use snick_read::ReadError;

use super::finding::Findings;
use super::subject::Subject;
use super::{CheckCode, CheckStatus, Example, Family};
use crate::Error;

pub(super) static FAMILY: Family =
    Family { codes: &[&UNREADABLE, &LFS_POINTER, &UNSAFE_PATH, &LIMIT], find, reads_values: false };

static UNREADABLE: CheckCode = CheckCode {
    code: Code::Unreadable,
    meaning: "The file is not a model, or it is too damaged to be read.",
    reason: "No tool can load it. Typical causes are an interrupted download, an error page saved as the file, \
             and a file of another format with the extension of a model.",
    remedy: "download or export the file again; the message says where reading stopped",
    example: Example::Files("curl -o model.xml https://example.com/moved  # a page with `404 Not Found`"),
    on_demand: false,
};

static LFS_POINTER: CheckCode = CheckCode {
    code: Code::LfsPointer,
    meaning: "The file is a Git LFS pointer instead of the model or its weights.",
    reason: "The repository was cloned without Git LFS, so the file only contains three lines that identify \
             the real one. Loaders report broken XML or truncated weights.",
    remedy: "run `git lfs pull` in the repository, and fetch with LFS in CI (`lfs: true` of actions/checkout)",
    example: Example::Files("GIT_LFS_SKIP_SMUDGE=1 git clone https://example.com/model.git"),
    on_demand: false,
};

static UNSAFE_PATH: CheckCode = CheckCode {
    code: Code::UnsafePath,
    meaning: "External data is outside the folder of the model, through an absolute path, `..` or a link.",
    reason: "Loading the model reads a file that its author chose, such as a private key or a password file. \
             Loaders that allow this expose its content in the outputs.",
    remedy: "put the data next to the model and export it with a relative path; do not load such models from \
             untrusted sources",
    example: Example::Files("an ONNX model with an initializer whose `location` is `../../.ssh/id_rsa`"),
    on_demand: false,
};

static LIMIT: CheckCode = CheckCode {
    code: Code::Limit,
    meaning: "The check exceeded a limit, for example on time, memory, the number of layers or the rank.",
    reason: "The check of the model is incomplete. Malicious models declare sizes that exceed the memory of \
             any machine.",
    remedy: "raise the limit if the model is supposed to be that large (`--max-layers`, `--max-rank`, \
             `--max-memory`)",
    example: Example::Files("snick check model.xml --max-layers 10"),
    on_demand: false,
};

/// Adds the finding for a file that could not be loaded.
pub(super) fn add_unreadable(error: &Error, findings: &mut Findings) -> CheckStatus {
    let (code, status) = match Code::from(error) {
        Code::LfsPointer => (&LFS_POINTER, CheckStatus::Error),
        Code::Limit => (&LIMIT, CheckStatus::Limit),
        _ => (&UNREADABLE, CheckStatus::Unreadable),
    };
    if let Error::Read(ReadError::Graph(located)) = error {
        let code = super::edges::code_of(Code::from(&located.error)).unwrap_or(code);
        findings.add_error(code, located);
        return CheckStatus::Unreadable;
    }
    let (loc, message) = match error {
        Error::Read(ReadError::Xml { loc, message, .. } | ReadError::Json { loc, message, .. }) => {
            (*loc, message.clone())
        }
        error => (Loc::default(), error.with_causes()),
    };
    let finding = findings.add_file(code, message);
    finding.loc = loc;
    if let Error::Limit { layer, .. } = error {
        finding.layer.clone_from(layer);
    }
    status
}

fn find(subject: &Subject, findings: &mut Findings) {
    for error in subject.errors {
        match Code::from(&error.error) {
            Code::UnsafePath => drop(findings.add_error(&UNSAFE_PATH, error)),
            Code::Limit => drop(findings.add_error(&LIMIT, error)),
            _ => {}
        }
    }
}
