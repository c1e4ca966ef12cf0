//! The judges of the other tests, judged: the oracle takes what `src/wasm/types.ts` documents and refuses the rest, the
//! second reading of op buffers is exact, and the strict judge of arguments agrees with another strict parser.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::*;

/// An oracle with row 1, a call with one open field, and a usage panel.
fn oracle() -> Oracle {
    let mut oracle = Oracle::default();
    let fields = json!([{"path": ["a"], "text": "xé😀", "closed": false}]);
    let tool = json!({"name": "f", "input": "{", "inputDone": false, "fields": fields});
    let row = json!({"id": 1, "kind": "tool", "state": "preparing", "busy": true, "tool": tool, "text": "aé😀b"});
    oracle.apply(&json!({"op": "insert", "id": 1, "before": null, "row": row})).unwrap();
    oracle.apply(&json!({"op": "panel", "name": "usage", "patch": {"inputTokens": 1}})).unwrap();
    oracle
}

#[track_caller]
fn takes(op: Value, expected: impl FnOnce(&Value) -> bool) {
    let mut oracle = oracle();
    oracle.apply(&op).unwrap();
    assert!(expected(&oracle.rows()), "{}", oracle.rows());
}

#[track_caller]
fn refuses(op: Value, why: &str) {
    let refused = oracle().apply(&op).unwrap_err();
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn documented_ops_are_applied() {
    let update = |patch: Value| json!({"op": "update", "id": 1, "patch": patch});
    takes(update(json!({"state": "pending", "busy": false})), |rows| rows[0]["state"] == "pending");
    takes(update(json!({"text": null})), |rows| rows[0].get("text").is_none());
    takes(update(json!({"tool": {"name": "g"}})), |rows| {
        rows[0]["tool"]["input"] == "{" && rows[0]["tool"]["name"] == "g"
    });
    let news = json!({"0": {"closed": true}, "1": {"path": ["b"], "text": "1", "closed": true}});
    takes(update(json!({"tool": {"fields": news}})), |rows| fields(&rows[0]) == "a=xé😀 b=1");
    takes(update(json!({"tool": {"fields": null}})), |rows| rows[0]["tool"].get("fields").is_none());
    takes(json!({"op": "append", "id": 1, "field": "text", "text": "c"}), |rows| rows[0]["text"] == "aé😀bc");
    // In UTF-16 units: a, é, and two of 😀.
    takes(json!({"op": "append", "id": 1, "field": "text", "keep": 4, "text": "c"}), |rows| rows[0]["text"] == "aé😀c");
    takes(json!({"op": "append", "id": 1, "field": "text", "keep": 1, "text": ""}), |rows| rows[0]["text"] == "a");
    takes(json!({"op": "append", "id": 1, "field": "tool.input", "text": "}"}), |rows| {
        rows[0]["tool"]["input"] == "{}"
    });
    takes(json!({"op": "append", "id": 1, "field": "tool.fields[0].text", "text": "y"}), |rows| {
        fields(&rows[0]) == "a=xé😀y…"
    });
    let row = json!({"id": 2, "kind": "text", "state": "done", "busy": false});
    takes(json!({"op": "insert", "id": 2, "before": 1, "row": row}), |rows| rows[0]["id"] == 2 && rows[1]["id"] == 1);
    takes(json!({"op": "remove", "id": 1}), |rows| *rows == json!([]));
    takes(json!({"op": "reset"}), |rows| *rows == json!([]));
}

#[test]
fn ops_that_change_nothing_are_refused() {
    let update = |patch: Value| json!({"op": "update", "id": 1, "patch": patch});
    refuses(update(json!({})), "empty");
    refuses(update(json!({"state": "preparing"})), "that before");
    refuses(update(json!({"error": null})), "that before");
    refuses(update(json!({"state": "done", "busy": true})), "that before");
    refuses(update(json!({"tool": {}})), "empty");
    refuses(update(json!({"tool": {"name": "f"}})), "that before");
    refuses(update(json!({"tool": {"fields": {}}})), "no fields");
    refuses(update(json!({"tool": {"fields": {"0": {"closed": false}}}})), "that before");
    refuses(json!({"op": "append", "id": 1, "field": "text", "text": ""}), "nothing");
    refuses(json!({"op": "append", "id": 1, "field": "text", "keep": 4, "text": "b"}), "alike");
    refuses(json!({"op": "append", "id": 1, "field": "text", "keep": 5, "text": ""}), "alike");
    refuses(json!({"op": "panel", "name": "usage", "patch": {"inputTokens": 1}}), "that before");
}

#[test]
fn ops_that_the_rules_do_not_allow_are_refused() {
    refuses(json!({"op": "update", "id": 2, "patch": {"state": "done"}}), "no row");
    refuses(json!({"op": "remove", "id": 2}), "no row");
    refuses(json!({"op": "append", "id": 2, "field": "text", "text": "x"}), "no row");
    refuses(json!({"op": "insert", "id": 1, "before": null, "row": {"id": 1}}), "used before");
    refuses(json!({"op": "insert", "id": 2, "before": 7, "row": {"id": 2}}), "no row");
    refuses(json!({"op": "insert", "id": 2, "before": null, "row": {"id": 3}}), "another id");
    refuses(json!({"op": "update", "id": 1, "patch": {"kind": "text"}}), "another");
    refuses(json!({"op": "update", "id": 1, "patch": {"tool": {"fields": {"2": {"text": "x"}}}}}), "gap");
    refuses(json!({"op": "append", "id": 1, "field": "text", "keep": 3, "text": "x"}), "half");
    refuses(json!({"op": "append", "id": 1, "field": "text", "keep": 9, "text": "x"}), "more than");
    refuses(json!({"op": "append", "id": 1, "field": "tool.fields[1].text", "text": "x"}), "no such field");
    refuses(json!({"op": "append", "id": 1, "field": "tool.name", "text": "x"}), "unknown field");
    refuses(json!({"op": "jump", "id": 1}), "unknown op");
    let mut oracle = oracle();
    oracle.apply(&json!({"op": "remove", "id": 1})).unwrap();
    let again = json!({"op": "insert", "id": 1, "before": null, "row": {"id": 1}});
    assert!(oracle.apply(&again).is_err(), "an id is never used again");
}

#[test]
fn a_buffer_is_read_by_units_and_codes() {
    let text = r#"{"id":7}😀x{"state":"done"}{"a":1}"#;
    let words = [0, 1, 7, 0, 8, 2, 7, 5, 2, 3, 3, 7, 16, 4, 7, 5, 2, 7];
    assert_eq!(
        decode(&words, text),
        [
            json!({"op": "reset"}),
            json!({"op": "insert", "id": 7, "before": null, "row": {"id": 7}}),
            json!({"op": "append", "id": 7, "field": "tool.fields[2].text", "keep": 2, "text": "😀x"}),
            json!({"op": "update", "id": 7, "patch": {"state": "done"}}),
            json!({"op": "remove", "id": 7}),
            json!({"op": "panel", "name": "usage", "patch": {"a": 1}}),
        ]
    );
}

#[test]
fn the_strict_judge_knows_what_json_parse_knows() {
    for text in ["", "{}", " [1, -0.5e+7, true] ", r#""\ud83d""#, "1e999", "\"\u{2028}\"", r#"{"a":{"a":null},"a":1}"#]
    {
        assert!(is_strict_json(text), "{text}");
    }
    for text in [
        " ",
        "{",
        "{]",
        "[1,]",
        "{,}",
        "{a:1}",
        "{\"a\"}",
        "01",
        ".5",
        "1.",
        "-",
        "+1",
        "1e",
        "tru",
        "nul",
        "NaN",
        "'a'",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\t\"",
        "1 2",
        "\u{feff}{}",
        "{}}",
        "\u{a0}1",
    ] {
        assert!(!is_strict_json(text), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_strict_judge_agrees_with_another_parser(
        text in r#"([\[\]{},:]|"[ab\\n/\t]{0,3}"|-?[0-9.eE+]{1,3}|true|null|[ \n]|"a":){0,8}"#,
    ) {
        let other = text.is_empty() || serde_json::from_str::<Value>(&text).is_ok();
        // Numbers too large for the other parser are infinite for JSON.parse.
        prop_assume!(!text.to_ascii_lowercase().contains('e') || !is_strict_json(&text) || other);
        prop_assert_eq!(is_strict_json(&text), other);
    }
}
