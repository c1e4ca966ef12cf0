//! Base64, written as the standard says and read as it is found: both alphabets, with padding or without, with line
//! breaks inside.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The standard alphabet, padded.
#[inline(never)]
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let group = three.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = ALPHABET[(group >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= three.len() { digit } else { b'=' });
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The bytes; none where a character is in neither alphabet, where more than spaces follows the padding, or where a
/// single digit is left over. Bits that make no byte are not looked at.
#[inline(never)]
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut group, mut digits, mut padded) = (0u32, 0usize, false);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                padded = true;
                continue;
            }
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => return None,
        };
        if padded {
            return None;
        }
        group = group << 6 | u32::from(digit);
        digits += 1;
        // The first digit of four ends no byte; each of the others ends one.
        if digits % 4 != 1 {
            out.push((group >> (6 - 2 * ((digits + 3) % 4))) as u8);
        }
    }
    (digits % 4 != 1).then_some(out)
}

/// The text; none also where the bytes are no UTF-8.
pub(crate) fn decode_text(text: &str) -> Option<String> {
    String::from_utf8(decode(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648_in_both_directions() {
        for (text, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(text.as_bytes()), coded);
            assert_eq!(decode_text(coded).as_deref(), Some(text));
            assert_eq!(decode_text(coded.trim_end_matches('=')).as_deref(), Some(text), "without padding");
        }
    }

    #[test]
    fn every_byte_at_every_place_survives() {
        for len in 0..9usize {
            for byte in 0..=255u8 {
                let bytes: Vec<u8> = (0..len).map(|at| byte.wrapping_mul(at as u8 + 1).wrapping_add(byte)).collect();
                assert_eq!(decode(&encode(&bytes)), Some(bytes));
            }
        }
    }

    #[test]
    fn text_of_any_script_survives() {
        for text in ["héllo", "思考中…", "👩‍👩‍👧 🇳🇴", "\u{0}\u{7f}\u{80}\u{ffff}"] {
            assert_eq!(decode_text(&encode(text.as_bytes())).as_deref(), Some(text));
        }
    }

    #[test]
    fn the_url_alphabet_and_spaces_are_read_too() {
        assert_eq!(decode("-_+/"), decode("+/-_"));
        assert_eq!(decode("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        assert_eq!(decode_text(" Zm9v\r\nYg\t= =\n").as_deref(), Some("foob"));
    }

    #[test]
    fn what_is_none_is_none() {
        for text in ["Z", "Zm9vY", "{\"a\":1}", "Zg==Zg==", "Zm9v!", "é", "\u{0}"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode_text("/w=="), None, "no UTF-8");
    }
}
