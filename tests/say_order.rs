//! Short conversations in every order in which their messages can be delivered, with repeats, losses and whole states
//! in between: all of them must end in the same rows.

#![cfg(not(target_arch = "wasm32"))]

use chatrows::{ChatRows, Format, Options, Row, RowId, RowOp};
use serde_json::{Value, json};

fn message(family: &str, ts: u64, kind: &str, text: &str, partial: bool) -> Value {
    json!({"ts": ts, "type": family, family: kind, "text": text, "partial": partial})
}

/// A delivery; those that are final are never lost.
type Delivery = Value;

fn is_final(delivery: &Delivery) -> bool {
    delivery["partial"] == false
}

fn state(messages: &[Delivery]) -> Delivery {
    json!({"type": "state", "state": {"clineMessages": messages}})
}

/// Conversations: each message in one or more stages, the last one final.
fn conversations() -> Vec<Vec<Delivery>> {
    let tool = |content: &str| json!({"tool": "newFileCreated", "path": "a", "content": content}).to_string();
    let read = json!({"tool": "readFile", "path": "a"}).to_string();
    vec![
        vec![
            message("say", 1, "text", "I", true),
            message("say", 1, "text", "I will", false),
            message("say", 2, "tool", &tool("one"), true),
            message("say", 2, "tool", &tool("one two"), true),
            message("say", 2, "tool", &tool("one two three"), false),
            message("say", 3, "text", "done", false),
        ],
        vec![
            message("ask", 1, "command", "make", true),
            message("ask", 1, "command", "make all", false),
            message("say", 2, "command_output", "one", false),
            message("say", 3, "text", "hm", false),
            message("say", 4, "command_output", "two\r", true),
            message("say", 4, "command_output", "two\rthree", false),
        ],
        vec![
            message("say", 1, "reasoning", "hm", true),
            message("say", 1, "reasoning", "hmm", false),
            message("say", 1, "text", "a", false),
            message("say", 2, "tool", &read, false),
            message("say", 3, "tool", &read, false),
            message("ask", 4, "followup", r#"{"question":"Which?","options":["a"]}"#, false),
        ],
        vec![
            message("say", 1, "api_req_started", r#"{"request":"x"}"#, false),
            message("say", 2, "error_retry", r#"{"attempt":1,"maxAttempts":2}"#, false),
            message("say", 3, "api_req_started", r#"{"request":"x","cost":1}"#, false),
            message("ask", 4, "use_mcp_server", r#"{"serverName":"s","toolName":"t","arguments":"{}"}"#, false),
            message("say", 5, "mcp_server_request_started", "", false),
            message("say", 6, "mcp_server_response", "42", false),
        ],
    ]
}

/// The same with a count in each message.
fn counted(conversation: &[Delivery]) -> Vec<Delivery> {
    let with_count = |(seq, delivery): (usize, &Delivery)| {
        let mut delivery = delivery.clone();
        // Two rows of one millisecond do not happen where times are counted.
        let kind = u64::from(delivery["say"] == "reasoning");
        delivery["ts"] = json!(delivery["ts"].as_u64().unwrap() * 2 - kind);
        delivery["seq"] = json!(seq + 1);
        delivery["epoch"] = json!(1);
        delivery
    };
    conversation.iter().enumerate().map(with_count).collect()
}

/// The rows after these deliveries, told apart by all but their ids.
fn rows<'a>(deliveries: impl Iterator<Item = &'a str>, drains: bool) -> Vec<Row> {
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(Format::Say);
    let mut ops = 0;
    for delivery in deliveries {
        chat.push_message(stream, delivery);
        if drains {
            chat.drain(&mut |_: RowOp<'_>| ops += 1);
        }
    }
    let no_id = RowId::new(1).unwrap();
    chat.rows().map(|row| Row { id: no_id, ..row.clone() }).collect()
}

/// Every order of `count` things, one after the other (Heap's algorithm).
fn permutations(count: usize, visit: &mut dyn FnMut(&[usize])) {
    let mut order: Vec<usize> = (0..count).collect();
    let mut turns = vec![0; count];
    visit(&order);
    let mut at = 0;
    while at < count {
        if turns[at] < at {
            order.swap(if at % 2 == 0 { 0 } else { turns[at] }, at);
            visit(&order);
            turns[at] += 1;
            at = 0;
        } else {
            turns[at] = 0;
            at += 1;
        }
    }
}

fn in_every_order(deliveries: &[Delivery], expected: &[Row]) {
    let texts: Vec<String> = deliveries.iter().map(Value::to_string).collect();
    permutations(deliveries.len(), &mut |order| {
        let rows = rows(order.iter().map(|place| &*texts[*place]), order[0] % 2 == 0);
        if rows != expected {
            let lines = |rows: &[Row]| rows.iter().map(Row::to_json).collect::<Vec<_>>().join("\n");
            let ordered: Vec<&Delivery> = order.iter().map(|place| &deliveries[*place]).collect();
            panic!("{}\ninstead of\n{}\nafter {ordered:#?}", lines(&rows), lines(expected));
        }
    });
}

/// Each conversation with and without counts, and the rows it ends in.
fn each_conversation(check: impl Fn(&[Delivery], &[Row])) {
    for plain in conversations() {
        for conversation in [counted(&plain), plain] {
            let texts: Vec<String> = conversation.iter().map(Value::to_string).collect();
            check(&conversation, &rows(texts.iter().map(String::as_str), true));
        }
    }
}

#[test]
fn every_order_ends_in_the_same_rows() {
    each_conversation(in_every_order);
}

#[test]
fn every_order_with_a_repeat_ends_in_the_same_rows() {
    each_conversation(|conversation, expected| {
        for repeated in conversation {
            in_every_order(&[conversation, std::slice::from_ref(repeated)].concat(), expected);
        }
    });
}

#[test]
fn every_order_without_what_is_not_final_ends_in_the_same_rows() {
    each_conversation(|conversation, expected| {
        let finals: Vec<Delivery> = conversation.iter().filter(|delivery| is_final(delivery)).cloned().collect();
        in_every_order(&finals, expected);
    });
}

/// Whole states of all that had been said when they were made, delivered at any time.
#[test]
fn every_order_with_a_state_in_between_ends_in_the_same_rows() {
    each_conversation(|conversation, expected| {
        for made_at in 0..=conversation.len() {
            let mut latest: Vec<Delivery> = Vec::new();
            for delivery in &conversation[..made_at] {
                let same = |known: &Delivery| {
                    (&known["ts"], &known["say"], &known["ask"])
                        == (&delivery["ts"], &delivery["say"], &delivery["ask"])
                };
                latest.retain(|known| !same(known));
                latest.push(delivery.clone());
            }
            in_every_order(&[conversation, &[state(&latest)]].concat(), expected);
        }
    });
}
