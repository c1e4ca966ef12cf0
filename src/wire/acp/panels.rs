//! What is shown once beside the rows: plan, commands, modes and options, session and usage.

use super::calls::word;
use super::{Acp, text};
use crate::chunk::{ChunkSink, Effect, Usage};
use crate::json::{JsonWriter, Raw, Value};
use crate::row::{PanelName, said};
use crate::wire::{set_panel, tell_usage};

const NONE: &str = "[]";

impl Acp {
    /// An update that is about a panel. None: it is about nothing that is known.
    pub(super) fn panel(&mut self, kind: &str, update: Value<'_>, sink: &mut dyn ChunkSink) -> Option<Effect> {
        // The history knows nothing of now.
        if self.page.is_some() {
            return Some(Effect::None);
        }
        Some(match kind {
            "plan" => self.read_plan(None, update, sink),
            "plan_update" => {
                let plan = update.get("plan");
                self.read_plan(said(plan, &["planId"]).as_deref(), plan, sink)
            }
            "plan_removed" => {
                let id = said(update, &["planId"]);
                if self.plan.as_deref() != id.as_deref() {
                    return Some(Effect::None);
                }
                self.plan = None;
                set_panel(sink, PanelName::Plan, "entries", &Raw::null()).and(set_panel(
                    sink,
                    PanelName::Plan,
                    "text",
                    &Raw::null(),
                ))
            }
            "available_commands_update" => {
                let commands = [update.get("availableCommands"), update.get("commands")];
                let commands = commands.into_iter().find(|commands| commands.is_array()).unwrap_or(Value::ABSENT);
                let named = |command: &Value<'_>| command.str().is_some() || said(*command, &["name"]).is_some();
                let list = array(commands.items().filter(named), |command, json| json.raw(command.raw()));
                set_panel(sink, PanelName::Commands, "available", &list)
            }
            "current_mode_update" | "permission_mode_update" => {
                match said(update, &["currentModeId", "modeId", "mode", "permissionMode"]) {
                    Some(_) if self.has_options => Effect::None,
                    Some(mode) => set_panel(sink, PanelName::Mode, "current", &word(&mode)),
                    None => Effect::None,
                }
            }
            "model_update" => match said(update, &["model", "modelId", "currentModelId"]) {
                Some(model) => set_panel(sink, PanelName::Mode, "model", &word(&model)),
                None => Effect::None,
            },
            "config_option_update" => self.read_options(update.get("configOptions"), sink),
            "session_info_update" => {
                let mut effect = Effect::None;
                for name in ["title", "updatedAt"] {
                    let value = update.get(name);
                    // Absent is as it was, null takes it back.
                    if value.str().is_some() || value.exists() && value.is_null() {
                        effect = effect.and(set_panel(sink, PanelName::Session, name, &Raw::of(value)));
                    }
                }
                effect
            }
            "usage_update" => self.read_usage(update, sink),
            _ => return None,
        })
    }

    fn read_plan(&mut self, id: Option<&str>, plan: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        self.plan = id.map(Box::from);
        let entries = [plan.get("entries"), plan.get("steps")].into_iter().find(|entries| entries.is_array());
        let list = entries.map(|entries| {
            let whole = entries.items().filter(|entry| {
                let status = text(entry.get("status"));
                let known = matches!(&*status, "" | "pending" | "in_progress" | "completed");
                known && (entry.str().is_some() || said(*entry, &["content", "title", "text"]).is_some())
            });
            array(whole, |entry, json| {
                json.object(|json| {
                    let words = entry.str().map(crate::json::JsonStr::text);
                    let words = words.or_else(|| said(entry, &["content", "title", "text"])).unwrap_or_default();
                    json.key("content").string(&words);
                    for name in ["priority", "status", "id"] {
                        if let Some(value) = said(entry, &[name]) {
                            json.key(name).string(&value);
                        }
                    }
                });
            })
        });
        let all = || entries.into_iter().flat_map(Value::items);
        self.plan_done = all().next().is_some() && all().all(|entry| text(entry.get("status")) == "completed");
        let words = said(plan, &["content", "uri"]).map(|words| word(&words));
        let shown = set_panel(sink, PanelName::Plan, "entries", &list.unwrap_or_else(Raw::null));
        shown.and(set_panel(sink, PanelName::Plan, "text", &words.unwrap_or_else(Raw::null)))
    }

    /// Context used, or tokens: what is absent or of another type stays as it was.
    fn read_usage(&mut self, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for name in ["used", "size"] {
            if let Some(number) = update.get(name).u64() {
                effect = effect.and(set_panel(sink, PanelName::Usage, name, &Raw::written(|json| json.number(number))));
            }
        }
        let cost = update.get("cost");
        if let Some(amount) = cost.get("amount").number() {
            let cost = Raw::written(|json| {
                json.object(|json| {
                    json.key("amount").raw(amount);
                    if let Some(currency) = said(cost, &["currency"]) {
                        json.key("currency").string(&currency);
                    }
                });
            });
            effect = effect.and(set_panel(sink, PanelName::Usage, "cost", &cost));
        }
        effect.and(tokens(update, sink))
    }

    /// What a session that was opened says of its modes and options.
    pub(super) fn read_modes(&mut self, result: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = self.read_options(result.get("configOptions"), sink);
        let modes = if self.has_options { Value::ABSENT } else { result.get("modes") };
        if let Some(current) = said(modes, &["currentModeId"]) {
            effect = effect.and(set_panel(sink, PanelName::Mode, "current", &word(&current)));
        }
        if modes.get("availableModes").is_array() {
            let whole = modes.get("availableModes").items().filter(|mode| said(*mode, &["id"]).is_some());
            let list = array(whole, |mode, json| json.raw(mode.raw()));
            effect = effect.and(set_panel(sink, PanelName::Mode, "available", &list));
        }
        effect
    }

    /// Options supersede the modes: where they are known they are shown alone.
    fn read_options(&mut self, options: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        if !options.is_array() {
            return Effect::None;
        }
        let is_known = |option: &Value<'_>| {
            let kind = text(option.get("type"));
            said(*option, &["id"]).is_some() && matches!(&*kind, "select" | "boolean")
        };
        let list = array(options.items().filter(is_known), |option, json| json.raw(option.raw()));
        self.has_options = list.as_str() != NONE;
        let mut effect = set_panel(sink, PanelName::Mode, "options", &list);
        for name in ["current", "available"].iter().filter(|_| self.has_options) {
            effect = effect.and(set_panel(sink, PanelName::Mode, name, &Raw::null()));
        }
        effect
    }
}

/// Tokens by any of their names; a zero says nothing.
pub(crate) fn tokens(usage: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(name).u64()).filter(|count| *count > 0);
    let used = Usage {
        input_tokens: count(["inputTokens", "input_tokens"]),
        output_tokens: count(["outputTokens", "output_tokens"]),
        total_tokens: count(["totalTokens", "total_tokens"]),
        reasoning_tokens: count(["thoughtTokens", "reasoning_tokens"]),
        cached_tokens: count(["cachedReadTokens", "cached_tokens"]),
    };
    tell_usage(used, sink)
}

fn array<'a>(items: impl Iterator<Item = Value<'a>>, write: impl Fn(Value<'a>, &mut JsonWriter)) -> Raw {
    Raw::written(|json| json.array(|json| items.for_each(|item| write(item, json))))
}
