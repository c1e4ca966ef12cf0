//! The address of a task's stream.

use super::options::TaskMode;

/// Where a task stream is found on a server, unless its base says another path.
const PATH: &str = "/api/v1/users/tasks/stream";

/// The address to dial for the task `id`. `base`: where the server is, as `https`, `http`, `wss` or `ws`; its path is
/// kept, and is `/api/v1/users/tasks/stream` if it has none; its query is kept but for an `id` and a `mode` of its own;
/// a fragment is no part of a WebSocket's address and goes. A base without a scheme is taken as it is.
///
/// ```
/// use chatrows::{TaskMode, task_url};
/// let url = task_url("https://ide.example", "7/é", TaskMode::New);
/// assert_eq!(url, "wss://ide.example/api/v1/users/tasks/stream?id=7%2F%C3%A9&mode=new");
/// let url = task_url("http://localhost:80/stream?team=a&mode=x", "7", TaskMode::Attach);
/// assert_eq!(url, "ws://localhost:80/stream?team=a&id=7&mode=attach");
/// ```
pub fn task_url(base: &str, id: &str, mode: TaskMode) -> String {
    let (place, query) = cut(cut(base, b'#').0, b'?');
    let mut url = String::new();
    let rest = match place.split_once("://") {
        Some((scheme, rest)) => {
            url.push_str(match () {
                () if scheme.eq_ignore_ascii_case("https") => "wss",
                () if scheme.eq_ignore_ascii_case("http") => "ws",
                () => scheme,
            });
            url.push_str("://");
            rest
        }
        None => place,
    };
    let (host, path) = cut(rest, b'/');
    url.push_str(if path.is_empty() { host } else { rest });
    url.push_str(if path.is_empty() { PATH } else { "" });
    url.push_str("?");
    let (mut pair, mut query) = cut(query, b'&');
    while !(pair.is_empty() && query.is_empty()) {
        if !matches!(cut(pair, b'=').0, "id" | "mode" | "") {
            url.push_str(pair);
            url.push_str("&");
        }
        (pair, query) = cut(query, b'&');
    }
    url.push_str("id=");
    percent_encode(id, &mut url);
    url.push_str("&mode=");
    url.push_str(mode.name());
    url
}

/// What stands before the first `mark`, an ASCII character, and what after it.
#[inline(never)]
fn cut(text: &str, mark: u8) -> (&str, &str) {
    let at = memchr::memchr(mark, text.as_bytes()).unwrap_or(text.len());
    (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default())
}

/// Appends `text` with all but the unreserved characters of RFC 3986 encoded.
fn percent_encode(text: &str, url: &mut String) {
    let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value & 15)];
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        let coded = if plain { [byte, 0, 0] } else { [b'%', digit(byte >> 4), digit(byte)] };
        url.push_str(std::str::from_utf8(&coded[..if plain { 1 } else { 3 }]).unwrap_or_default());
    }
}
