//! Errors in texts and tokenizers.

/// Why a text could not be processed. Does not name the layer; the caller adds it.
#[derive(thiserror::Error, Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the message of each variant explains its fields")]
#[non_exhaustive]
pub enum TextError {
    #[error("the pattern `{pattern}` is not understood: {reason}")]
    Pattern { pattern: String, reason: String },
    /// Backtracking is limited, so that every match terminates.
    #[error("the pattern `{pattern}` takes too many steps on a text of {bytes} bytes")]
    Steps { pattern: String, bytes: usize },
    #[error("a text grows above {limit} bytes")]
    TooLong { limit: usize },
    #[error("malformed map of characters: {0}")]
    CharsMap(&'static str),
    #[error("malformed SentencePiece model: {0}")]
    Model(String),
    #[error("the vocabulary has no token `{token}`, which a merge needs")]
    NoToken { token: String },
    #[error("{0} is not supported")]
    Unsupported(String),
    #[error("token {id} is out of range for a vocabulary of {size}")]
    TokenRange { id: i32, size: usize },
}

/// At most 80 characters of the bytes, for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(80).collect()
}
