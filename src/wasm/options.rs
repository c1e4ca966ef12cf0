//! Options from plain objects. An unknown name is an error that lists the known ones.

use js_sys::{Array, Reflect};
use wasm_bindgen::prelude::*;

use super::{property, string_property, type_error};
use crate::{Cadence, Format, Grammar, Limits, Options, RowId, StreamOptions, TaggedTools, Thoughts};

/// What a chat is made with.
pub(super) struct Given {
    pub options: Options,
    pub format: Option<Format>,
    pub tagged_tools: Option<TaggedTools>,
    pub locale: Option<String>,
}

/// Refuses an object with other properties than these.
pub(super) fn know(value: &JsValue, what: &str, names: &[&str]) -> Result<(), JsValue> {
    if value.is_undefined() || value.is_null() {
        return Ok(());
    }
    if !value.is_object() {
        return Err(type_error(&[what, " must be an object"].concat()));
    }
    for key in Reflect::own_keys(value)?.iter().filter_map(|key| key.as_string()) {
        if !names.contains(&&*key) {
            let wrong = ["unknown name ", &key, " in ", what, "; the names are:"].concat();
            return Err(type_error(&crate::text::list(wrong, names)));
        }
    }
    Ok(())
}

fn whole_number(value: &JsValue, name: &str, max: f64) -> Result<Option<f64>, JsValue> {
    match value.as_f64() {
        Some(number) if number >= 0.0 && number <= max && number.trunc() == number => Ok(Some(number)),
        None if value.is_undefined() => Ok(None),
        _ => Err(type_error(&[name, " must be a whole number from 0"].concat())),
    }
}

fn format(value: &JsValue) -> Result<Option<Format>, JsValue> {
    string_property(value, "format")?.map(|name| Format::named(&name).map_err(|error| type_error(&error))).transpose()
}

pub(super) fn chat_options(value: &JsValue) -> Result<Given, JsValue> {
    know(value, "options", &["locale", "format", "cadence", "limits", "taggedTools"])?;
    let cadence = property(value, "cadence");
    let cadence = match cadence.as_string() {
        Some(name) if name == "frame" => Cadence::Frame,
        Some(_) => return Err(type_error("cadence is \"frame\" or milliseconds")),
        None => match whole_number(&cadence, "cadence", 60_000.0)? {
            Some(millis) => Cadence::Millis(millis as u32),
            None => Cadence::Frame,
        },
    };
    let limits = limits(&property(value, "limits"))?;
    Ok(Given {
        options: Options { cadence, limits },
        format: format(value)?,
        tagged_tools: tagged_tools(&property(value, "taggedTools"))?.flatten(),
        locale: string_property(value, "locale")?,
    })
}

fn limits(value: &JsValue) -> Result<Limits, JsValue> {
    let mut limits = Limits::default();
    let mut caps = [
        ("recordBytes", &mut limits.record_bytes),
        ("recordValues", &mut limits.record_values),
        ("toolInputBytes", &mut limits.tool_input_bytes),
        ("textBytes", &mut limits.text_bytes),
        ("nesting", &mut limits.nesting),
        ("previewDepth", &mut limits.preview_depth),
        ("previewFields", &mut limits.preview_fields),
        ("previewKeyBytes", &mut limits.preview_key_bytes),
        ("openBlocks", &mut limits.open_blocks),
        ("rows", &mut limits.rows),
        ("sources", &mut limits.sources),
        ("faults", &mut limits.faults),
    ];
    know(value, "limits", &caps.each_ref().map(|(name, _)| *name))?;
    for (name, cap) in &mut caps {
        if let Some(number) = whole_number(&property(value, name), name, f64::from(u32::MAX >> 1))? {
            **cap = number as usize;
        }
    }
    Ok(limits)
}

/// Milliseconds between two markers of one call.
pub(super) fn interval(value: &JsValue) -> Result<u64, JsValue> {
    know(value, "options", &["interval"])?;
    let interval = whole_number(&property(value, "interval"), "interval", f64::from(u32::MAX))?;
    Ok(interval.map_or(crate::PREPARING_INTERVAL_MILLIS, |millis| millis as u64))
}

/// `true`, or what is to be known beyond the built-in tags; none: nothing is said of them.
fn tagged_tools(value: &JsValue) -> Result<Option<Option<TaggedTools>>, JsValue> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    match value.as_bool() {
        Some(true) => return Ok(Some(Some(TaggedTools::default()))),
        Some(false) => return Ok(Some(None)),
        None => know(value, "taggedTools", &["tools", "params", "inCode", "thoughts"])?,
    }
    let mut grammar = Grammar::default().tools_in_code(property(value, "inCode").is_truthy());
    for (name, is_tool) in [("tools", true), ("params", false)] {
        for word in names(value, name)? {
            grammar = if is_tool { grammar.with_tool(&word) } else { grammar.with_param(&word) };
        }
    }
    let thoughts = match string_property(value, "thoughts")?.as_deref() {
        None | Some("apart") => Thoughts::Apart,
        Some("inline") => Thoughts::Inline,
        Some(_) => return Err(type_error("thoughts is \"apart\" or \"inline\"")),
    };
    Ok(Some(Some(TaggedTools { grammar, thoughts })))
}

/// A property that is an array of strings, if it is there at all.
fn names(value: &JsValue, name: &str) -> Result<Vec<String>, JsValue> {
    let list = property(value, name);
    if list.is_undefined() {
        return Ok(Vec::new());
    }
    let list = list.dyn_ref::<Array>().and_then(|list| list.iter().map(|name| name.as_string()).collect());
    list.ok_or_else(|| type_error(&[name, " must be an array of strings"].concat()))
}

pub(super) fn stream_options(
    value: &JsValue,
    default: Option<Format>,
    default_tools: Option<&TaggedTools>,
) -> Result<StreamOptions, JsValue> {
    know(value, "stream options", &["format", "parent", "taggedTools"])?;
    let format = format(value)?.or(default);
    // An empty name lists the names there are.
    let format = format.map_or_else(|| Format::named("").map_err(|error| type_error(&error)), Ok)?;
    let parent = whole_number(&property(value, "parent"), "parent", f64::from(u32::MAX))?;
    let tagged_tools = tagged_tools(&property(value, "taggedTools"))?.unwrap_or_else(|| default_tools.cloned());
    Ok(StreamOptions { format, parent: parent.and_then(|parent| RowId::new(parent as u32)), tagged_tools })
}
