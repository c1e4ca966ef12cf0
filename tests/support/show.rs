//! Rows in a notation that stands beside an input: one a line, what a reader of the chat would tell about it.

use serde_json::Value;

/// The rows of a `rows_json` value, one a line:
///
/// ```text
/// text done "Hello"
/// tool pending f#call_1({"x":1}) whole
/// tool failed f({"x":) !arguments-malformed
/// error done !rate_limit "slow down" retryable
/// notice done limit.rows
/// tool-preparing preparing f 1.2 KB
/// ```
///
/// and after that, where they apply: `truncated`, `choice 1`, `parent 3`, `sources a b`, `images a`, `output "…"`,
/// `wrong` (the output is an error), `quiet`. Rows of wires that name them: `tool-preparing preparing write_to_file
/// 1.3 KB`, `retry running say.retry attempt=1 max=3`, `question pending "…" (a | b) answer "a"`, `may` where the
/// reader is asked for permission, `chose approve` where the answer is known.
pub fn lines(rows: &Value) -> String {
    rows.as_array().into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

fn line(row: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let mut words = vec![text(&row["kind"]), text(&row["state"])];
    if let Some(tool) = row.get("tool") {
        let name = tool["name"].as_str().filter(|name| !name.is_empty()).unwrap_or("?");
        let id = tool["callId"].as_str().map(|id| format!("#{id}")).unwrap_or_default();
        words.push(format!("{name}{id}({})", text(&tool["input"])));
        if tool["inputDone"] == true {
            words.push("whole".into());
        }
        if let Some(title) = tool.get("title") {
            words.push(format!("title {title}"));
        }
        if let Some(output) = tool.get("output") {
            words.push(format!("output {output}"));
        }
        if tool["isError"] == true {
            words.push("wrong".into());
        }
    }
    if row["kind"] == "tool-preparing" {
        words.extend([text(&row["message"]["params"]["name"]), text(&row["bytes"]["label"])]);
    } else if let Some(message) = row.get("message") {
        words.push(text(&message["key"]));
        if words[0] == "retry" {
            let params = message["params"].as_object().into_iter().flatten();
            words.extend(params.map(|(name, value)| format!("{name}={}", text(value))));
        }
    }
    if let Some(error) = row.get("error") {
        words.extend(error.get("code").map(|code| format!("!{}", text(code))));
        if error["message"] != "" {
            words.push(error["message"].to_string());
        }
        match error.get("retryable") {
            Some(Value::Bool(true)) => words.push("retryable".into()),
            Some(_) => words.push("final".into()),
            None => {}
        }
    }
    words.extend(row.get("text").map(Value::to_string));
    if let Some(question) = row.get("question") {
        if let Some(options) = question["options"].as_array() {
            words.push(format!(
                "({})",
                options.iter().map(|option| text(&option["label"])).collect::<Vec<_>>().join(" | ")
            ));
        }
        words.extend(question.get("answer").map(|answer| format!("answer {answer}")));
    }
    words.extend(row.get("permission").map(|asked| match asked["chosen"].as_str() {
        Some(chosen) => format!("chose {chosen}"),
        None => "may".to_owned(),
    }));
    for file in row["files"].as_array().into_iter().flatten() {
        words.push(format!("file {}", text(&file["name"])));
    }
    for name in ["sources", "images"] {
        if let Some(list) = row.get(name).and_then(Value::as_array) {
            words.push(name.into());
            words.extend(list.iter().map(|item| text(&item["url"])));
        }
    }
    if row["truncated"] == true {
        words.push("truncated".into());
    }
    if let Some(choice) = row["meta"].get("choice") {
        words.push(format!("choice {choice}"));
    }
    if let Some(parent) = row.get("parent") {
        words.push(format!("parent {parent}"));
    }
    if row.get("quietSince").is_some() {
        words.push("quiet".into());
    }
    words.join(" ")
}

/// The fields of a call: `a.0=x` for a closed one, `a.0=x…` for an open one.
pub fn fields(row: &Value) -> String {
    let field = |field: &Value| {
        let step = |step: &Value| step.as_str().map_or_else(|| step.to_string(), str::to_owned);
        let path: Vec<String> = field["path"].as_array().into_iter().flatten().map(step).collect();
        let open = if field["closed"] == true { "" } else { "…" };
        format!("{}={}{open}", path.join("."), field["text"].as_str().unwrap_or("?"))
    };
    row["tool"]["fields"].as_array().into_iter().flatten().map(field).collect::<Vec<_>>().join(" ")
}

/// Lines without what the source indents them by.
pub fn unindent(text: &str) -> String {
    text.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The rows without their ids: a row that came and went in between has taken one.
pub fn without_ids(rows: &Value) -> Value {
    let mut rows = rows.clone();
    for row in rows.as_array_mut().into_iter().flatten() {
        row.as_object_mut().into_iter().for_each(|row| drop(row.remove("id")));
    }
    rows
}
