//! `hifijson`: a lexer, walked by hand.

use hifijson::str::LexAlloc as _;
use hifijson::token::Lex as _;
use hifijson::{Error, Expect, SliceLexer, ignore};

use crate::{Digest, Reader};

/// Keeps nothing.
#[derive(Default)]
pub struct HifiJson;

impl Reader for HifiJson {
    fn read(&mut self, record: &[u8], digest: &mut Digest) -> Option<()> {
        let mut lexer = SliceLexer::new(record);
        let record = lexer.exactly_one(SliceLexer::ws_peek, |next, lexer| {
            object(next, lexer, |key, next, lexer| match key {
                "choices" if next == b'[' => {
                    let mut first = true;
                    lexer.discarded().seq(b']', SliceLexer::ws_peek, |next, lexer| {
                        if std::mem::take(&mut first) {
                            choice(next, lexer, digest)
                        } else {
                            ignore::parse(next, lexer)
                        }
                    })
                }
                _ => ignore::parse(next, lexer),
            })
        });
        record.ok()
    }
}

fn choice(next: u8, lexer: &mut SliceLexer<'_>, digest: &mut Digest) -> Result<(), Error> {
    object(next, lexer, |key, next, lexer| match key {
        "delta" => object(next, lexer, |key, next, lexer| match key {
            "content" => string(next, lexer, |text| digest.content(text)),
            _ => ignore::parse(next, lexer),
        }),
        "finish_reason" => string(next, lexer, |text| digest.finish(text)),
        _ => ignore::parse(next, lexer),
    })
}

/// Calls `member` for each member of an object; skips what is none.
fn object<'a>(
    next: u8,
    lexer: &mut SliceLexer<'a>,
    mut member: impl FnMut(&str, u8, &mut SliceLexer<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    if next != b'{' {
        return ignore::parse(next, lexer);
    }
    lexer.discarded().seq(b'}', SliceLexer::ws_peek, |next, lexer| {
        lexer.expect(|_| Some(next), b'"').ok_or(Expect::String)?;
        let key = lexer.str_string()?;
        lexer.expect(SliceLexer::ws_peek, b':').ok_or(Expect::Colon)?;
        let next = lexer.ws_peek().ok_or(Expect::Value)?;
        member(&key, next, lexer)
    })
}

fn string(next: u8, lexer: &mut SliceLexer<'_>, take: impl FnOnce(&str)) -> Result<(), Error> {
    if next != b'"' {
        return ignore::parse(next, lexer);
    }
    take(&lexer.discarded().str_string()?);
    Ok(())
}
