//! `jiter`: an iterator over the record, driven by hand.

use ::jiter::{Jiter, JiterResult, Peek};

use crate::{Digest, Reader};

/// The buffer for strings with escapes.
#[derive(Default)]
pub struct JiterReader {
    buffer: Vec<u8>,
}

impl Reader for JiterReader {
    fn read(&mut self, record: &[u8], digest: &mut Digest) -> Option<()> {
        let mut jiter = Jiter::with_tape(record, std::mem::take(&mut self.buffer));
        let outcome = chunk(&mut jiter, digest).and_then(|()| jiter.finish());
        self.buffer = jiter.into_tape();
        outcome.ok()
    }
}

fn chunk(jiter: &mut Jiter<'_>, digest: &mut Digest) -> JiterResult<()> {
    let mut key = jiter.next_object()?.map(|key| key == "choices");
    while let Some(choices) = key {
        let next = jiter.peek()?;
        if choices && next == Peek::Array {
            let mut item = jiter.known_array()?;
            let mut first = true;
            while let Some(next) = item {
                if std::mem::take(&mut first) && next == Peek::Object {
                    choice(jiter, digest)?;
                } else {
                    jiter.known_skip(next)?;
                }
                item = jiter.array_step()?;
            }
        } else {
            jiter.known_skip(next)?;
        }
        key = jiter.next_key()?.map(|key| key == "choices");
    }
    Ok(())
}

enum Member {
    Delta,
    Finish,
    Other,
}

fn choice(jiter: &mut Jiter<'_>, digest: &mut Digest) -> JiterResult<()> {
    let member = |key: &str| match key {
        "delta" => Member::Delta,
        "finish_reason" => Member::Finish,
        _ => Member::Other,
    };
    let mut key = jiter.known_object()?.map(member);
    while let Some(found) = key {
        let next = jiter.peek()?;
        match (found, next) {
            (Member::Delta, Peek::Object) => delta(jiter, digest)?,
            (Member::Finish, Peek::String) => digest.finish(jiter.known_str()?),
            _ => jiter.known_skip(next)?,
        }
        key = jiter.next_key()?.map(member);
    }
    Ok(())
}

fn delta(jiter: &mut Jiter<'_>, digest: &mut Digest) -> JiterResult<()> {
    let mut key = jiter.known_object()?.map(|key| key == "content");
    while let Some(content) = key {
        let next = jiter.peek()?;
        if content && next == Peek::String {
            digest.content(jiter.known_str()?);
        } else {
            jiter.known_skip(next)?;
        }
        key = jiter.next_key()?.map(|key| key == "content");
    }
    Ok(())
}
