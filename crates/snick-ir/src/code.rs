//! The codes of errors and findings.

use std::fmt;

use crate::Severity;

/// Declares the codes: text, variant, default severity, name, and a description.
macro_rules! codes {
    ($($text:ident $variant:ident $severity:ident $name:literal: $meaning:literal,)+) => {
        /// The code of an error or a finding. Its text never changes, even if the message does, and is never
        /// reused. Codes below S048 and from S060 on are findings about a model; see `snick explain`.
        ///
        /// ```
        /// use snick::{Code, OpError, Severity};
        ///
        /// let code = Code::from(&OpError::Cycle);
        /// assert_eq!((code, code.text(), code.name()), (Code::Cycle, "S013", "cycle"));
        /// assert_eq!(code.severity(), Severity::Error);
        /// ```
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!(stringify!($text), ": ", $meaning, ".")] $variant,)+
        }

        impl Code {
            /// All codes, ascending.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The code in messages: `S015`.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => stringify!($text),)+ }
            }

            /// The name that can be used in place of the code: `unused-layer`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The default severity; a particular finding can be more severe.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    S001 Unreadable Error "unreadable": "a file that is not a model, or cannot be read",
    S002 WeightsMissing Error "weights-missing": "weights of a constant that are not there",
    S003 WeightsTruncated Error "weights-truncated": "weights that end before a constant does",
    S004 WeightsUnused Warning "weights-unused": "weights that no constant uses",
    S005 LfsPointer Error "lfs-pointer": "a git-LFS pointer in place of a file",
    S006 UnsafePath Error "unsafe-path": "external data outside the folder of the model",
    S007 ControlCharacters Warning "control-characters": "control characters in a name",
    S008 Limit Error "limit": "a limit of time, memory or layers, or a tensor that is too large",
    S009 WeightsOverlap Note "weights-overlap": "two constants that share some of their bytes",
    S010 DanglingEdge Error "dangling-edge": "an edge from or to a layer or a port that is not there",
    S011 DuplicateId Error "duplicate-id": "two layers with one id",
    S012 DuplicateName Warning "duplicate-name": "two layers or two tensors with one name",
    S013 Cycle Error "cycle": "a cycle",
    S014 UnknownOp Warning "unknown-op": "an unknown operation",
    S015 UnusedLayer Warning "unused-layer": "a layer that no output depends on",
    S016 UnusedInput Warning "unused-input": "an input that nothing reads",
    S017 SecondProducer Error "second-producer": "two edges to one input",
    S020 ShapeError Error "shape-error": "any other error of a layer: inference fails",
    S021 PortMismatch Error "port-mismatch": "a declared port that contradicts inference",
    S022 PortLoose Note "port-loose": "a declared port without the sizes that are inferred",
    S023 UnboundedDim Warning "unbounded-dim": "an output dimension without an upper bound",
    S024 HardCodedReshape Warning "hard-coded-reshape": "a Reshape constant that fixes a dynamic size of an input",
    S025 BakedSize Warning "baked-size": "an open dimension of an input that only one size satisfies",
    S030 EmptySlice Warning "empty-slice": "a slice that selects nothing",
    S031 NoOpSlice Note "no-op-slice": "a slice that selects everything",
    S032 DeadMask Note "dead-mask": "mask bits without effect",
    S033 ClampedSlice Note "clamped-slice": "bounds of a slice outside its axis",
    S040 NeedsOpenVino Note "needs-openvino": "the lowest release of OpenVINO that reads the model",
    S041 RuntimeRefuses Warning "runtime-refuses": "a layer that the OpenVINO runtime refuses or misreads",
    S042 NarrowedIntegers Warning "narrowed-integers": "integers that are computed in fewer bits than they need",
    S043 RoundedTable Warning "rounded-table": "a table of numbers that an element type rounds",
    S044 WrongWeights Error "wrong-weights": "weights that belong to another model",
    S047 WrongCertificate Error "wrong-certificate": "a certificate that does not prove what it says about a model",
    S048 CannotPlan Error "cannot-plan": "a module of sizes that only a run shows, which cannot be planned for devices",
    S049 CannotShard Error "cannot-shard": "a mesh or a sharding that does not fit",
    S050 CannotRun Error "cannot-run": "an operation without an implementation to run",
    S051 CannotExpress Error "cannot-express": "something that the output format cannot express",
    S052 InputNotGiven Error "input-not-given": "an input that a run needs and is not given",
    S053 Unwritable Error "unwritable": "a file that cannot be written",
    S054 WrongName Error "wrong-name": "a name that no input or layer has, or an input given twice",
    S055 WrongShape Error "wrong-shape": "an input shape that cannot be set",
    S056 UnknownFormat Error "unknown-format": "an output file whose extension names no format",
    S057 Cancelled Error "cancelled": "work that the progress function stopped",
    S058 NotOneModel Error "not-one-model": "a folder without a model, or with several",
    S059 UnreadableOps Error "unreadable-ops": "declarations of ops that cannot be read",
    S060 NanWeights Warning "nan-weights": "weights that are not numbers",
    S061 OverflowsF16 Warning "overflows-f16": "weights beyond the range of f16",
    S062 RepeatedWeights Note "repeated-weights": "constants with the same bytes",
    S063 UnnamedPort Note "unnamed-port": "an input or an output without a tensor name",
    S064 ConstantOutput Warning "constant-output": "an output that depends on no input",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// Errors and findings hold the text of a code; this compares the text with a [`Code`].
impl PartialEq<Code> for &str {
    fn eq(&self, code: &Code) -> bool {
        *self == code.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_or_name_stands_for_two_things() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.text() < b.text()));
        let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }
}
