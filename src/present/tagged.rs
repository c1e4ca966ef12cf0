//! Assistant text in which calls are written as tags, on its way to the rows: text and reasoning go where they would
//! go anyway, each call is a row whose parameters stream.

use crate::chunk::Effect;
use crate::limits::Limits;
use crate::present::blocks::{BlockKind, Blocks, Stage};
use crate::text::{CleanSink, Grammar, TagCleaner, TaggedParser, TaggedSink, Thoughts};

/// How tagged text is read.
#[derive(Debug, Clone, Default)]
pub struct TaggedTools {
    /// Which tags are tools, and which their parameters.
    pub grammar: Grammar,
    /// Where that goes which stands between thinking tags.
    pub thoughts: Thoughts,
}

/// What is known of the messages of one stream.
#[derive(Debug)]
pub(crate) struct Tagged {
    tools: TaggedTools,
    /// Of the choices of the message that streams.
    texts: Vec<Text>,
}

#[derive(Debug)]
struct Text {
    choice: u32,
    parser: TaggedParser,
    cleaner: TagCleaner,
    /// The call that is open: its place among the stream's calls, unless a cap kept it out.
    call: Option<usize>,
}

impl Tagged {
    pub fn new(tools: TaggedTools) -> Self {
        Tagged { tools, texts: Vec::new() }
    }

    /// What comes now is told from the start.
    pub fn restart(&mut self) {
        self.texts.clear();
    }

    /// Text of a choice goes on.
    pub fn push(&mut self, choice: u32, text: &str, blocks: &mut Blocks, stage: &mut Stage<'_>) -> Effect {
        let known = self.texts.iter().position(|known| known.choice == choice);
        let place = known.unwrap_or_else(|| {
            self.texts.push(Text::new(choice, &self.tools, stage.limits));
            self.texts.len() - 1
        });
        let Text { choice, parser, cleaner, call } = &mut self.texts[place];
        let was_truncated = parser.truncated();
        let mut rows =
            TaggedRows { choice: *choice, cleaner, call, tools: &self.tools, blocks, stage, effect: Effect::None };
        parser.push(text, &mut rows);
        let effect = rows.effect;
        if parser.truncated() && !was_truncated {
            return effect.and(blocks.truncate_speech(*choice, stage));
        }
        effect
    }

    /// The text of a choice, or of all of them, is whole.
    pub fn finish(&mut self, choice: Option<u32>, blocks: &mut Blocks, stage: &mut Stage<'_>) -> Effect {
        let mut effect = Effect::None;
        for Text { choice, parser, cleaner, call } in
            self.texts.iter_mut().filter(|text| choice.is_none_or(|choice| choice == text.choice))
        {
            let mut rows =
                TaggedRows { choice: *choice, cleaner, call, tools: &self.tools, blocks, stage, effect: Effect::None };
            parser.finish(&mut rows);
            effect = effect.and(rows.effect);
        }
        self.texts.retain(|text| choice.is_some_and(|choice| choice != text.choice));
        effect
    }
}

impl Text {
    fn new(choice: u32, tools: &TaggedTools, limits: &Limits) -> Self {
        Text {
            choice,
            parser: TaggedParser::new(tools.grammar.clone(), limits.text_bytes),
            cleaner: TagCleaner::new(tools.thoughts),
            call: None,
        }
    }
}

/// From what a parser tells to rows.
struct TaggedRows<'a, 'b> {
    choice: u32,
    cleaner: &'a mut TagCleaner,
    call: &'a mut Option<usize>,
    tools: &'a TaggedTools,
    blocks: &'a mut Blocks,
    stage: &'a mut Stage<'b>,
    effect: Effect,
}

/// From what a cleaner tells to rows.
struct CleanRows<'a, 'b> {
    choice: u32,
    blocks: &'a mut Blocks,
    stage: &'a mut Stage<'b>,
    effect: &'a mut Effect,
}

impl CleanSink for CleanRows<'_, '_> {
    fn text(&mut self, text: &str) {
        *self.effect = self.effect.and(self.blocks.speak(self.choice, BlockKind::Text, text, self.stage));
    }

    fn reasoning(&mut self, text: &str) {
        *self.effect = self.effect.and(self.blocks.speak(self.choice, BlockKind::Reasoning, text, self.stage));
    }
}

impl TaggedRows<'_, '_> {
    fn clean(&mut self, act: impl FnOnce(&mut TagCleaner, &mut CleanRows<'_, '_>)) {
        let TaggedRows { choice, cleaner, blocks, stage, effect, .. } = self;
        act(cleaner, &mut CleanRows { choice: *choice, blocks, stage, effect });
    }
}

impl TaggedSink for TaggedRows<'_, '_> {
    fn text(&mut self, text: &str) {
        self.clean(|cleaner, rows| cleaner.push(text, rows));
    }

    fn text_end(&mut self) {
        self.clean(|cleaner, rows| cleaner.end_block(rows));
    }

    fn tool_start(&mut self, name: &str) {
        let (call, effect) = self.blocks.start_tagged(self.choice, name, &self.tools.grammar, self.stage);
        *self.call = call;
        self.effect = self.effect.and(effect);
    }

    fn tool_body(&mut self, text: &str) {
        if let Some(call) = *self.call {
            self.effect = self.effect.and(self.blocks.arguments(call, text, self.stage));
        }
    }

    fn tool_end(&mut self, closed: bool) {
        if let Some(call) = self.call.take() {
            self.effect = self.effect.and(self.blocks.end_tagged(call, closed, self.stage));
        }
    }
}
