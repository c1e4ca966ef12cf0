//! Options from plain objects. An unknown name is an error that lists the known ones.

use js_sys::{Array, Reflect};
use wasm_bindgen::prelude::*;

use super::tools::Tools;
use super::{property, string_property, type_error};
use crate::{Cadence, Format, Grammar, Limits, Options, RowId, RunTools, StreamOptions, TaggedTools, Thoughts};

/// What streams have that say nothing of it.
#[derive(Clone, Default)]
pub(super) struct Defaults {
    pub format: Option<Format>,
    pub tagged_tools: Option<TaggedTools>,
    pub tools: Option<(RunTools, Tools)>,
}

/// The options that say how calls are run.
const TOOL_OPTIONS: [&str; 6] = ["onTool", "onApproval", "checkpoint", "parallel", "mode", "readOnly"];

/// What a chat is made with.
pub(super) struct Given {
    pub options: Options,
    pub defaults: Defaults,
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

/// A whole number up to `max`, if it is there at all.
pub(super) fn whole_number(value: &JsValue, name: &str, max: f64) -> Result<Option<f64>, JsValue> {
    match value.as_f64() {
        Some(number) if number >= 0.0 && number <= max && number.trunc() == number => Ok(Some(number)),
        None if value.is_undefined() => Ok(None),
        _ => Err(type_error(&[name, " must be a whole number from 0"].concat())),
    }
}

pub(super) fn format(value: &JsValue) -> Result<Option<Format>, JsValue> {
    string_property(value, "format")?.map(|name| Format::named(&name).map_err(|error| type_error(&error))).transpose()
}

pub(super) fn chat_options(value: &JsValue) -> Result<Given, JsValue> {
    let names = [&["locale", "format", "cadence", "limits", "taggedTools"], &TOOL_OPTIONS[..]].concat();
    know(value, "options", &names)?;
    let cadence = property(value, "cadence");
    let cadence = match cadence.as_string() {
        Some(name) => match &*name {
            "frame" => Cadence::Frame,
            "local" => Cadence::LOCAL,
            "remote" => Cadence::REMOTE,
            _ => return Err(type_error("cadence is \"frame\", \"local\", \"remote\" or milliseconds")),
        },
        None => match whole_number(&cadence, "cadence", 60_000.0)? {
            Some(millis) => Cadence::Millis(millis as u32),
            None => Cadence::Frame,
        },
    };
    let limits = limits(&property(value, "limits"))?;
    Ok(Given {
        options: Options { cadence, limits },
        defaults: Defaults {
            format: format(value)?,
            tagged_tools: tagged_tools(&property(value, "taggedTools"))?.flatten(),
            tools: tools(value)?,
        },
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

/// How calls are run, if anything is said of it.
fn tools(value: &JsValue) -> Result<Option<(RunTools, Tools)>, JsValue> {
    let given = |name: &str| Some(property(value, name)).filter(|given| !given.is_undefined() && !given.is_null());
    let Some(on_tool) = given("onTool") else {
        return match TOOL_OPTIONS.iter().find(|name| given(name).is_some()) {
            Some(name) => Err(type_error(&[name, " needs onTool, which runs the calls"].concat())),
            None => Ok(None),
        };
    };
    let function = |name: &str| {
        let function = given(name).map(|given| given.dyn_into());
        function.transpose().map_err(|_| type_error(&[name, " must be a function"].concat()))
    };
    let known = match () {
        () if on_tool.is_function() => None,
        () if on_tool.is_object() => {
            let keys = Reflect::own_keys(&on_tool)?;
            let names: Vec<String> = keys.iter().filter_map(|key| key.as_string()).collect();
            if let Some(name) = names.iter().find(|name| !property(&on_tool, name).is_function()) {
                return Err(type_error(&["onTool.", name, " must be a function"].concat()));
            }
            Some(names)
        }
        () => return Err(type_error("onTool must be a function, or an object of functions by name")),
    };
    let concurrent = match string_property(value, "mode")?.as_deref() {
        None => None,
        Some("serial") => Some(false),
        Some("concurrent") => Some(true),
        Some(_) => return Err(type_error("mode is \"serial\" or \"concurrent\"")),
    };
    let tools = Tools { on_tool, on_approval: function("onApproval")?, checkpoint: function("checkpoint")? };
    let run_tools = RunTools {
        parallel: property(value, "parallel").is_truthy(),
        concurrent,
        approval: tools.on_approval.is_some(),
        checkpoint: tools.checkpoint.is_some(),
        read_only: given("readOnly").map(|_| names(value, "readOnly")).transpose()?,
        known,
    };
    Ok(Some((run_tools, tools)))
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

pub(super) fn stream_options(value: &JsValue, defaults: &Defaults) -> Result<(StreamOptions, Option<Tools>), JsValue> {
    let known = [&["format", "parent", "taggedTools"], &TOOL_OPTIONS[..]].concat();
    know(value, "stream options", &known)?;
    // An empty name lists the names there are.
    let format = format(value)?.or(defaults.format);
    let format = format.map_or_else(|| Format::named("").map_err(|error| type_error(&error)), Ok)?;
    let parent = whole_number(&property(value, "parent"), "parent", f64::from(u32::MAX))?;
    let parent = parent.and_then(|parent| RowId::new(parent as u32));
    let tagged_tools = tagged_tools(&property(value, "taggedTools"))?.unwrap_or_else(|| defaults.tagged_tools.clone());
    let own = tools(value)?;
    if own.is_some() && format.runs_elsewhere() {
        let wrong =
            ["the calls of \"", format.name(), "\" are run by the other side: answer them there, and leave onTool out"];
        return Err(type_error(&wrong.concat()));
    }
    let inherited = || defaults.tools.clone().filter(|_| !format.runs_elsewhere());
    let (run_tools, tools) = own.or_else(inherited).unzip();
    Ok((StreamOptions { format, parent, tagged_tools, run_tools }, tools))
}
