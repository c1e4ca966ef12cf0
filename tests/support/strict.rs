//! What JSON.parse accepts, written down once more and plainly: the judge of arguments, independent of the crate.

/// Whether JSON.parse would take `text`. Nothing at all counts as the empty object.
pub fn is_strict_json(text: &str) -> bool {
    text.is_empty() || whole(text.as_bytes()).is_some()
}

fn whole(bytes: &[u8]) -> Option<()> {
    let mut at = 0;
    let mut open = Vec::new();
    // Whether a value is due, or what follows a value.
    let mut due = true;
    loop {
        at = space(bytes, at);
        if due {
            let first = *bytes.get(at)?;
            due = false;
            match first {
                b'{' | b'[' => {
                    at = space(bytes, at + 1);
                    if *bytes.get(at)? == first + 2 {
                        at += 1;
                    } else {
                        open.push(first + 2);
                        due = true;
                        if first == b'{' {
                            at = key(bytes, at)?;
                        }
                    }
                }
                b'"' => at = string(bytes, at)?,
                b'-' | b'0'..=b'9' => at = number(bytes, at)?,
                _ => {
                    let word = [&b"true"[..], b"false", b"null"].into_iter().find(|word| bytes[at..].starts_with(word));
                    at += word?.len();
                }
            }
            continue;
        }
        let Some(close) = open.last() else { return (at == bytes.len()).then_some(()) };
        let byte = *bytes.get(at)?;
        at += 1;
        if byte == *close {
            open.pop();
        } else if byte == b',' {
            if *close == b'}' {
                at = key(bytes, at)?;
            }
            due = true;
        } else {
            return None;
        }
    }
}

fn space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

fn key(bytes: &[u8], at: usize) -> Option<usize> {
    let at = string(bytes, space(bytes, at))?;
    let at = space(bytes, at);
    (*bytes.get(at)? == b':').then_some(at + 1)
}

fn string(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let mut at = at + 1;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match *bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' => {
                    if !bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    at += 6;
                }
                _ => return None,
            },
            0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

fn number(bytes: &[u8], mut at: usize) -> Option<usize> {
    let digits = |mut at: usize| {
        let from = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > from).then_some(at)
    };
    if bytes[at] == b'-' {
        at += 1;
    }
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits(at)?;
    }
    Some(at)
}
