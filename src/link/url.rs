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
    let base = base.split('#').next().unwrap_or_default();
    let (place, query) = base.split_once('?').unwrap_or((base, ""));
    let mut url = String::new();
    let rest = match place.split_once("://") {
        Some((scheme, rest)) => {
            let scheme = match () {
                () if scheme.eq_ignore_ascii_case("https") => "wss",
                () if scheme.eq_ignore_ascii_case("http") => "ws",
                () => scheme,
            };
            url.push_str(scheme);
            url.push_str("://");
            rest
        }
        None => place,
    };
    match rest.split_once('/') {
        None | Some((_, "")) => {
            url.push_str(rest.trim_end_matches('/'));
            url.push_str(PATH);
        }
        Some(_) => url.push_str(rest),
    }
    url.push_str("?");
    let ours = |pair: &&str| !matches!(pair.split('=').next(), Some("id" | "mode" | ""));
    for pair in query.split('&').filter(ours) {
        url.push_str(pair);
        url.push_str("&");
    }
    url.push_str("id=");
    percent_encode(id, &mut url);
    url.push_str("&mode=");
    url.push_str(mode.name());
    url
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
