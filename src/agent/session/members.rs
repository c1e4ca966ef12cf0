//! An object's text with some of its members changed. Every other member keeps its text and its place, repeated keys
//! included; only the spaces between members are lost.

use crate::json::Value;

/// `object` with these members changed: a text takes the place of the member's value, or the end where there is no
/// such member; `None` takes the member out.
pub(super) fn with_members(object: Value<'_>, changes: &[(&str, Option<&str>)]) -> String {
    let mut out = String::with_capacity(object.raw().len() + 64);
    let mut write = |key: &str, value: &str| {
        out.push_str(if out.is_empty() { "{\"" } else { ",\"" });
        out.push_str(key);
        out.push_str("\":");
        out.push_str(value);
    };
    let mut todo: Vec<_> = changes.iter().map(|(_, text)| *text).collect();
    for (key, value) in object.members() {
        match changes.iter().position(|(name, _)| key == **name) {
            Some(place) => {
                if let Some(text) = todo[place].take() {
                    write(key.raw(), text);
                }
            }
            None => write(key.raw(), value.raw()),
        }
    }
    for ((name, _), text) in changes.iter().zip(todo) {
        if let Some(text) = text {
            write(name, text);
        }
    }
    if out.is_empty() {
        out.push('{');
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Tape;

    fn check(object: &str, changes: &[(&str, Option<&str>)], expected: &str) {
        let mut tape = Tape::default();
        assert_eq!(with_members(tape.read(object).unwrap().root(), changes), expected, "{object}");
    }

    #[test]
    fn a_change_takes_the_members_place_or_the_end() {
        check(r#"{"a":1, "b": [2]}"#, &[("a", Some("3")), ("c", Some("null"))], r#"{"a":3,"b":[2],"c":null}"#);
        check("{}", &[("a", Some("1"))], r#"{"a":1}"#);
    }

    #[test]
    fn a_member_that_is_taken_out_leaves_the_others() {
        check(r#"{"a":1,"b":2}"#, &[("a", None), ("x", None)], r#"{"b":2}"#);
        check(r#"{"a":1}"#, &[("a", None)], "{}");
    }

    #[test]
    fn a_repeated_key_is_changed_once_and_others_stay_as_written() {
        check(r#"{"a":1,"\u0061":2,"b\n":3,"b\n":4}"#, &[("a", Some("5"))], r#"{"a":5,"b\n":3,"b\n":4}"#);
    }
}
