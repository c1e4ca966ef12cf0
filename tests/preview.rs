//! What a row shows of tool arguments while they stream, end to end: through event framing, records and deltas. First
//! every row of the preview table (streaming-json.md §3, the last column), then the rules of its §2.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Limits, Options, ToolRef};
use serde_json::{Value, json};
use support::*;

/// What the arguments are worth when the provider says that they ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Whole,
    Malformed,
}
use Verdict::{Malformed, Whole};

/// The records that bring `arguments` in these pieces.
fn records(pieces: &[&str], escape: fn(&str) -> String) -> Vec<String> {
    let first = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":""}}"#);
    let rest =
        pieces.iter().map(|piece| call(&format!(r#"{{"index":0,"function":{{"arguments":"{}"}}}}"#, escape(piece))));
    std::iter::once(first).chain(rest).collect()
}

/// Escapes of the record as few as JSON allows.
fn plain(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Every unit of the text as an escape of the record, as some servers write it.
fn all_escaped(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// How `arguments` may come: at once, or character by character, or in two pieces.
fn ways(arguments: &str) -> Vec<Vec<&str>> {
    let places: Vec<usize> = arguments.char_indices().map(|(at, _)| at).chain([arguments.len()]).collect();
    let by_one = places.windows(2).map(|pair| &arguments[pair[0]..pair[1]]).collect();
    let mut ways = vec![vec![arguments], by_one];
    ways.extend(places.iter().map(|place| arguments.split_at(*place)).map(|(a, b)| vec![a, b]));
    ways
}

fn fields_of(chat: &Chat) -> (String, Value) {
    let row = chat.rows()[0].clone();
    (fields(&row), row)
}

/// `arguments` so far show these fields; when they end there, that is the verdict. However they are cut, in deltas
/// and in network pieces.
#[track_caller]
fn check(arguments: &str, shown: &str, verdict: Verdict) {
    for (way, pieces) in ways(arguments).iter().enumerate() {
        let plain = records(pieces, plain);
        check_way(&plain, Cuts::Whole, arguments, shown, verdict);
        // All at once and one by one, with the network's cuts and the record's escapes too.
        if way < 2 {
            let cuts = if way == 0 { Cuts::Every(1) } else { Cuts::Seed(7) };
            check_way(&plain, cuts, arguments, shown, verdict);
            check_way(&records(pieces, all_escaped), cuts, arguments, shown, verdict);
        }
    }
    assert_eq!(verdict == Whole, is_strict_json(arguments), "the test itself disagrees with a strict parser");
}

#[track_caller]
fn check_way(records: &[String], cuts: Cuts, arguments: &str, shown: &str, verdict: Verdict) {
    let mut chat = Chat::new();
    chat.feed(sse(records).as_bytes(), cuts);
    chat.drain();
    let (seen, row) = fields_of(&chat);
    assert_eq!(seen, shown, "{records:#?}, {cuts:?}");
    assert_eq!(row["tool"]["input"], arguments);
    assert_eq!((row["state"].as_str(), &row["tool"]["inputDone"]), (Some("preparing"), &json!(false)));

    chat.push(sse([end("tool_calls")]).as_bytes());
    chat.finish();
    chat.drain();
    let (seen, row) = fields_of(&chat);
    assert_eq!(seen, shown, "fields stay as they are at the end: {records:#?}");
    assert_eq!(row["tool"]["input"], arguments, "the text as received stays");
    judge(&row, verdict);
}

#[track_caller]
fn judge(row: &Value, verdict: Verdict) {
    let seen = (row["state"].as_str().unwrap(), row["tool"]["inputDone"] == true, row["error"]["code"].as_str());
    match verdict {
        Whole => assert_eq!(seen, ("pending", true, None)),
        Malformed => assert_eq!(seen, ("failed", false, Some("arguments-malformed"))),
    }
}

// The preview table.

#[test]
fn a_trailing_space_in_an_open_string_shows() {
    check(r#"{"a":"x "#, "a=x …", Malformed);
}

#[test]
fn a_trailing_backslash_is_held() {
    check(r#"{"a":"x\"#, "a=x…", Malformed);
}

#[test]
fn an_escape_that_ends_in_half_a_code_is_held_and_the_field_is_open() {
    for held in [r#"{"a":"x\u"#, r#"{"a":"x\u0"#, r#"{"a":"x\u00"#, r#"{"a":"x\u00e"#] {
        check(held, "a=x…", Malformed);
    }
    check(r#"{"a":"x\u00e9"#, "a=xé…", Malformed);
}

#[test]
fn a_high_half_is_held_until_its_pair_is_whole_or_the_string_ends() {
    for held in [r#"{"a":"x\ud83d"#, r#"{"a":"x\ud83d\"#, r#"{"a":"x\ud83d\u"#, r#"{"a":"x\ud83d\ude0"#] {
        check(held, "a=x…", Malformed);
    }
    check(r#"{"a":"x\ud83d\ude00"#, "a=x😀…", Malformed);
    check(r#"{"a":"x\ud83d\ude00"}"#, "a=x😀", Whole);
    check(r#"{"a":"x\ud83d"}"#, "a=x\u{fffd}", Whole);
    check(r#"{"a":"x\ud83dy"#, "a=x\u{fffd}y…", Malformed);
}

#[test]
fn a_low_half_alone_shows_as_a_replacement_character() {
    check(r#"{"a":"x\ude00"}"#, "a=x\u{fffd}", Whole);
}

#[test]
fn a_literal_shows_nothing_until_it_ends() {
    for started in [r#"{"a":t"#, r#"{"a":tr"#, r#"{"a":tru"#, r#"{"a":f"#, r#"{"a":nul"#] {
        check(started, "", Malformed);
    }
    check(r#"{"a":true"#, "a=true", Malformed);
    check(r#"{"a":true}"#, "a=true", Whole);
    check(r#"{"a":null,"b":false}"#, "a=null b=false", Whole);
}

#[test]
fn a_number_shows_nothing_until_it_ends() {
    for started in [r#"{"a":1"#, r#"{"a":1."#, r#"{"a":-"#, r#"{"a":1e"#, r#"{"a":1e+"#, r#"{"a":0"#, r#"{"a":1.5"#] {
        check(started, "", Malformed);
    }
    check(r#"{"a":1,"#, "a=1", Malformed);
    check(r#"{"a":-1.5e+3 "#, "a=-1.5e+3", Malformed);
    check(r#"{"a":10}"#, "a=10", Whole);
}

#[test]
fn an_unfinished_key_shows_nothing() {
    for started in [r#"{"#, r#"{""#, r#"{"a"#, r#"{"a""#, r#"{"a":"#] {
        check(started, "", Malformed);
    }
    check(r#"{"a":"x","b"#, "a=x", Malformed);
}

#[test]
fn a_raw_newline_in_a_string_is_kept_and_flagged_at_the_end() {
    check("{\"a\":\"x\ny\"}", "a=x\ny", Malformed);
    check("{\"a\":\"x\ty", "a=x\ty…", Malformed);
}

#[test]
fn a_backslash_that_escapes_nothing_shows_as_written_and_is_flagged_at_the_end() {
    check(r#"{"a":"C:\d"#, r"a=C:\d…", Malformed);
    check(r#"{"a":"C:\d"}"#, r"a=C:\d", Malformed);
    check(r#"{"a":"\u00zz"}"#, r"a=\u00zz", Malformed);
}

#[test]
fn proto_is_plain_data() {
    check(r#"{"__proto__":{"x":"#, "", Malformed);
    check(r#"{"__proto__":{"x":1},"constructor":{"prototype":"y"}}"#, "__proto__.x=1 constructor.prototype=y", Whole);
}

#[test]
fn text_after_the_arguments_is_flagged_and_the_fields_show() {
    check(r#"{"a":1} junk"#, "a=1", Malformed);
    check(r#"{"a":1}{"b":2}"#, "a=1", Malformed);
    check("{\"a\":1} \n\t", "a=1", Whole);
}

#[test]
fn a_lone_minus_changes_nothing() {
    check(r#"{"a":"x","b":-"#, "a=x", Malformed);
    check("-", "", Malformed);
}

// The rules, by their number.

/// 1
#[test]
fn a_delta_may_end_anywhere() {
    // `check` takes every cut of everything that JSON has.
    check(
        r#"{"k\u00e9\"":["s\\\/\b\f\n\r\t",-0.5e-7,true,null,{"":{}}],"😀":[]}"#,
        "ké\".0=s\\/\u{8}\u{c}\n\r\t ké\".1=-0.5e-7 ké\".2=true ké\".3=null ké\".4.={} 😀=[]",
        Whole,
    );
}

/// 2
#[test]
fn changes_come_as_new_fields_and_appended_text_never_as_a_tree() {
    let mut chat = Chat::new();
    let mut said = Vec::new();
    for record in records(&[r#"{"a":"x"#, r#"y\n"#, r#"z","b":[1,"#, r#"2]"#], plain) {
        chat.push(sse([record]).as_bytes());
        let ours = |op: &Value| match op["op"].as_str() {
            Some("append") if op["field"] != "tool.input" => Some(json!([op["field"], op["text"]])),
            Some("update") => op["patch"]["tool"].get("fields").cloned(),
            _ => None,
        };
        said.extend(chat.drain().iter().filter_map(ours));
    }
    assert_eq!(
        said,
        [
            json!({"0": {"path": ["a"], "text": "x", "closed": false}}),
            json!(["tool.fields[0].text", "y\n"]),
            json!(["tool.fields[0].text", "z"]),
            json!({"0": {"closed": true}, "1": {"path": ["b", 0], "text": "1", "closed": true}}),
            json!({"2": {"path": ["b", 1], "text": "2", "closed": true}}),
        ]
    );
}

/// 3
#[test]
fn a_field_says_whether_its_value_is_finished() {
    check(r#"{"a":"x"#, "a=x…", Malformed);
    check(r#"{"a":"x""#, "a=x", Malformed);
    check(r#"{"a":[[]"#, "a.0=[]", Malformed);
}

/// 4: two halves of one character in two deltas, escaped by the record and by the arguments.
#[test]
fn halves_of_a_character_in_two_deltas_join() {
    let first = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":\"x\ud83d"}}"#);
    let second = call(r#"{"index":0,"function":{"arguments":"\ude00y"}}"#);
    let rows = check_open(sse([&first]), r#"tool preparing f#c({"a":"x)"#);
    assert_eq!(fields(&rows[0]), "a=x…");
    let rows = check_open(sse([&first, &second]), r#"tool preparing f#c({"a":"x😀y)"#);
    assert_eq!(fields(&rows[0]), "a=x😀y…");
    // A half whose other half never comes stands alone when its message ends.
    let outcome =
        support::check(sse([first, end("tool_calls")]), "tool failed f#c({\"a\":\"x\u{fffd}) !arguments-malformed");
    assert_eq!(fields(&outcome.rows[0]), "a=x\u{fffd}…");
}

/// 5
#[test]
fn a_number_at_the_top_ends_with_the_input() {
    for pieces in [&["1", "0"][..], &["10"]] {
        let mut records = records(pieces, plain);
        let rows = check_open(sse(&records), "tool preparing f#c(10)");
        assert_eq!(fields(&rows[0]), "");
        records.push(end("tool_calls"));
        let outcome = support::check(sse(&records), "tool pending f#c(10) whole");
        assert_eq!(fields(&outcome.rows[0]), "=10");
    }
}

/// 6
#[test]
fn a_key_cut_in_an_escape_shows_nothing_until_it_is_whole() {
    check(r#"{"k\u00e"#, "", Malformed);
    check(r#"{"k\u00e9":"x"#, "ké=x…", Malformed);
}

/// 7
#[test]
fn what_is_deeper_than_the_preview_comes_at_once_when_it_closes() {
    let options = Options { limits: Limits { preview_depth: 2, ..Limits::default() }, ..Options::default() };
    let show = |arguments: &str| {
        let mut chat = chat_with(options);
        chat.feed(sse(records(&[arguments], plain)).as_bytes(), Cuts::Every(3));
        chat.drain();
        fields_of(&chat).0
    };
    assert_eq!(show(r#"{"a":{"b":"x"#), "a.b=x…");
    assert_eq!(show(r#"{"a":{"b":{"c":"x"#), "");
    assert_eq!(show(r#"{"a":{"b":{"c":"x"},"d":"#), r#"a.b={"c":"x"}"#);
    // The default is 32 levels.
    let deep = |levels: usize| format!("{}\"x", "[".repeat(levels));
    let show = |arguments: &str| {
        let mut chat = Chat::new();
        chat.feed(sse(records(&[arguments], plain)).as_bytes(), Cuts::Whole);
        chat.drain();
        fields_of(&chat).0
    };
    assert!(show(&deep(32)).ends_with("=x…"));
    assert_eq!(show(&deep(33)), "");
}

/// 8
#[test]
fn the_last_of_equal_keys_wins_and_replaces_what_stood_below_it() {
    check(r#"{"a":{"x":1,"y":2},"b":3,"a":"#, "b=3", Malformed);
    check(r#"{"a":{"x":1,"y":2},"b":3,"\u0061":4}"#, "b=3 a=4", Whole);
    check(r#"{"a":[1,2],"a":["z"]}"#, "a.0=z", Whole);
    check(r#"{"o":{"a":1,"a":2},"p":{"a":3}}"#, "o.a=2 p.a=3", Whole);
}

/// 9
#[test]
fn arguments_of_any_key_are_handed_out_as_they_are() {
    let arguments = r#"{"__proto__":1,"__proto__":{"x":2},"hasOwnProperty":3}"#;
    let mut chat = Chat::new();
    let mut records = records(&[arguments], plain);
    records.push(end("tool_calls"));
    chat.feed(sse(&records).as_bytes(), Cuts::Whole);
    let id = chat.chat.rows().next().unwrap().id;
    assert_eq!(chat.chat.args(id).as_deref(), Some(arguments));
}

/// 11
#[test]
fn arguments_are_handed_out_only_after_the_end_signal() {
    let mut chat = Chat::new();
    chat.feed(sse(records(&[r#"{"a":1}"#], plain)).as_bytes(), Cuts::Whole);
    let id = chat.chat.rows().next().unwrap().id;
    assert_eq!(chat.chat.args(id).as_deref(), None);
    assert!(chat.chat.tool_started(ToolRef::Row(id)).is_err());
    chat.push(sse([end("tool_calls")]).as_bytes());
    assert_eq!(chat.chat.args(id).as_deref(), Some(r#"{"a":1}"#));
    assert!(chat.chat.tool_started(ToolRef::Row(id)).is_ok());
}

/// 12
#[test]
fn the_verdict_is_what_a_strict_parser_says() {
    for (arguments, shown, verdict) in [
        ("[]", "=[]", Whole),
        (r#""text""#, "=text", Whole),
        (r#"{"a":01}"#, "", Malformed),
        (r#"{"a":.5}"#, "", Malformed),
        (r#"{"a":+1}"#, "", Malformed),
        (r#"{"a":1,}"#, "a=1", Malformed),
        (r#"{"a":1e999}"#, "a=1e999", Whole),
        (r#"{'a':1}"#, "", Malformed),
        (r#"{"a":NaN}"#, "", Malformed),
        ("{\"a\":\"\u{2028}\"}", "a=\u{2028}", Whole),
        ("\u{feff}{}", "", Malformed),
        ("{\"a\":1}\u{a0}", "a=1", Malformed),
    ] {
        // An empty container at the top is the arguments themselves, no leaf of them.
        let shown = if shown == "=[]" { "" } else { shown };
        check(arguments, shown, verdict);
    }
}

/// 13
#[test]
fn malformed_or_cut_arguments_keep_their_text_and_are_never_executable() {
    let mut cut = records(&[r#"{"a":"x"#], plain);
    cut.push(end("length"));
    support::check(sse(&cut), r#"tool interrupted f#c({"a":"x) truncated"#);
    let mut whole = records(&[r#"{"a":"x"}"#], plain);
    whole.push(end("length"));
    support::check(sse(&whole), r#"tool interrupted f#c({"a":"x"}) truncated"#);
    let mut chat = Chat::new();
    chat.feed(sse(records(&[r#"{"a":"x"}"#], plain)).as_bytes(), Cuts::Whole);
    chat.abort();
    chat.drain();
    assert_eq!(chat.lines(), r#"tool cancelled f#c({"a":"x"})"#);
    assert_eq!(chat.chat.args(chat.chat.rows().next().unwrap().id).as_deref(), None);
}

/// 14
#[test]
fn no_arguments_are_the_empty_object() {
    check("", "", Whole);
    let mut chat = Chat::new();
    let mut records = records(&[], plain);
    records.push(end("tool_calls"));
    chat.feed(sse(&records).as_bytes(), Cuts::Whole);
    assert_eq!(chat.chat.args(chat.chat.rows().next().unwrap().id).as_deref(), Some("{}"));
    check("  ", "", Malformed);
}

/// 15
#[test]
fn arguments_that_come_as_an_object_are_text_with_fields() {
    let record = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":{"a":"x\ny","b":[1]}}}"#);
    let rows = check_open(sse([&record]), r#"tool preparing f#c({"a":"x\ny","b":[1]})"#);
    assert_eq!(fields(&rows[0]), "a=x\ny b.0=1");
}
