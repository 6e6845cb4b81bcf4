//! Compression of what goes to browsers.

use std::io::Write as _;

use axum::http::{HeaderMap, header};
use flate2::Compression;
use flate2::write::GzEncoder;

/// As small as can be: for what is packed once and sent often.
pub(crate) fn best(bytes: &[u8]) -> Option<Vec<u8>> {
    pack(bytes, Compression::best())
}

/// As fast as can be: for what is sent once.
pub(crate) fn fast(bytes: &[u8]) -> Option<Vec<u8>> {
    pack(bytes, Compression::fast())
}

fn pack(bytes: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), level);
    // Writing to memory does not fail; if it did, the bytes would be sent as they are.
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// Does the client say that it reads it?
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT_ENCODING).iter();
    let codings = all.filter_map(|value| value.to_str().ok());
    codings.flat_map(|list| list.split(',')).any(is_gzip)
}

/// `gzip` or `gzip;q=0.5`; `q=0` says that it is not wanted.
fn is_gzip(coding: &str) -> bool {
    let mut parts = coding.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let refused = |part: &str| {
        let quality = part
            .strip_prefix("q=")
            .and_then(|text| text.parse::<f32>().ok());
        quality == Some(0.0)
    };
    name.eq_ignore_ascii_case("gzip") && !parts.any(refused)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::http::HeaderValue;
    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_is_packed_comes_out_as_it_was() {
        let text = "a step, and another step, ".repeat(1_000);
        for packed in [best(text.as_bytes()), fast(text.as_bytes())] {
            let packed = packed.unwrap();
            assert!(packed.len() < text.len() / 10);
            let mut back = String::new();
            GzDecoder::new(&*packed).read_to_string(&mut back).unwrap();
            assert_eq!(back, text);
        }
    }

    #[test]
    fn only_clients_that_say_so_get_it() {
        let accepts = |text: &str| {
            let value = HeaderValue::from_str(text).unwrap();
            is_accepted(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]))
        };
        for text in [
            "gzip",
            "br, gzip",
            "deflate,GZIP;q=0.1",
            "gzip, deflate, br, zstd",
        ] {
            assert!(accepts(text), "{text}");
        }
        for text in ["", "br", "gzip;q=0", "gzip; q=0.0", "xgzip", "identity"] {
            assert!(!accepts(text), "{text}");
        }
        assert!(!is_accepted(&HeaderMap::new()));
    }
}
