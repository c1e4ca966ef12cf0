//! The smallest records of a chat completion stream.

/// One chunk of response `r` with this delta.
pub fn chunk(delta: &str) -> String {
    format!(
        r#"{{"id":"r","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    )
}

/// A chunk of text; `text` stands between the quotes as given.
pub fn content(text: &str) -> String {
    chunk(&format!(r#"{{"content":"{text}"}}"#))
}

/// A chunk with these fragments of tool calls.
pub fn call(fragments: &str) -> String {
    chunk(&format!(r#"{{"tool_calls":[{fragments}]}}"#))
}

/// The chunk that finishes response `r`.
pub fn end(reason: &str) -> String {
    format!(
        r#"{{"id":"r","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#
    )
}

/// Records as an event stream, without an end marker.
pub fn sse<R: AsRef<str>>(records: impl IntoIterator<Item = R>) -> String {
    records.into_iter().map(|record| format!("data: {}\n\n", record.as_ref())).collect()
}

/// Records as bare values, one a line.
pub fn values<R: AsRef<str>>(records: impl IntoIterator<Item = R>) -> String {
    records.into_iter().map(|record| format!("{}\n", record.as_ref())).collect()
}
