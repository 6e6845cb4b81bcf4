//! Who may call a webhook: a token in a header, or a signature over the bytes of the body as they came.
//!
//! Two forms of signature are known. That of Standard Webhooks: `webhook-id`, `webhook-timestamp`, and
//! `webhook-signature` with one or more `v1,BASE64` over `{id}.{timestamp}.{body}`. And a simple one: `X-Pawl-Timestamp`
//! and `X-Pawl-Signature: sha256=HEX` over `{timestamp}.{body}`. Nothing here compares secrets faster when they differ
//! early.

use std::ops::RangeInclusive;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::Auth;
use crate::digest::{hex, hmac_sha256, same};
use crate::time::Timestamp;

pub const SIGNATURE: &str = "x-pawl-signature";
pub const TIMESTAMP: &str = "x-pawl-timestamp";
pub const STANDARD_ID: &str = "webhook-id";
pub const STANDARD_TIMESTAMP: &str = "webhook-timestamp";
pub const STANDARD_SIGNATURE: &str = "webhook-signature";

/// More than a sender needs to change a secret without a gap.
const SIGNATURES_MAX: usize = 8;
const ID_MAX: usize = 255;
/// Of the seconds since 1970 that can be near now.
const SECONDS_DIGITS: RangeInclusive<usize> = 10..=12;

/// What a caller has proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing that would tell one request from another.
    Token,
    /// The same signature is never right twice.
    Signed {
        /// Stands for the key and the bytes that were signed with it, whatever the key is called and whatever form the
        /// signature came in.
        signature: String,
        /// Stands for the key and the sender's own name for what it tells: the same for all its tries.
        id: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthRefusal {
    /// The server does not have the secret: no caller gets in.
    NoSecret,
    /// A header is not there, or there twice, or not readable.
    Missing,
    Wrong,
    /// The timestamp is too far from now.
    Expired,
    /// `{id}.{timestamp}.{body}` can be read in two ways if the id has a full stop, so it would be good twice.
    DottedId,
}

/// Headers of a request, by name in lower case: the value if there is exactly one and it is text.
pub trait Headers {
    fn one(&self, name: &str) -> Option<&str>;
    fn has(&self, name: &str) -> bool;
}

/// `secret` is the value that the configuration has for the name in `auth`.
pub fn check(
    auth: &Auth,
    secret: Option<&str>,
    headers: &impl Headers,
    body: &[u8],
    now: Timestamp,
) -> Result<Proof, AuthRefusal> {
    let needed = || {
        secret
            .filter(|text| !text.is_empty())
            .ok_or(AuthRefusal::NoSecret)
    };
    match auth {
        Auth::Open => Ok(Proof::Token),
        Auth::Header { header, .. } => check_token(header.as_deref(), needed()?, headers),
        Auth::Hmac {
            header, tolerance, ..
        } => {
            let key = key_of(needed()?).ok_or(AuthRefusal::NoSecret)?;
            match header.is_none() && headers.has(STANDARD_SIGNATURE) {
                true => check_standard(&key, headers, body, *tolerance, now),
                false => {
                    let header = header.as_deref().unwrap_or(SIGNATURE);
                    check_simple(&key, header, headers, body, *tolerance, now)
                }
            }
        }
    }
}

/// Can it be wrong whatever the body is? Then the body need not be read.
pub fn check_head(
    auth: &Auth,
    secret: Option<&str>,
    headers: &impl Headers,
    now: Timestamp,
) -> Result<(), AuthRefusal> {
    match check(auth, secret, headers, &[], now) {
        // Over another body than the one to come.
        Err(AuthRefusal::Wrong) if matches!(auth, Auth::Hmac { .. }) => Ok(()),
        checked => checked.map(|_| ()),
    }
}

fn check_token(
    header: Option<&str>,
    secret: &str,
    headers: &impl Headers,
) -> Result<Proof, AuthRefusal> {
    let value = headers
        .one(header.unwrap_or("authorization"))
        .ok_or(AuthRefusal::Missing)?;
    let token = match header {
        Some(name) if name != "authorization" => value,
        _ => bearer(value).ok_or(AuthRefusal::Missing)?,
    };
    // Digests are of one length, so not even that can be found out.
    let digest = |text: &str| Sha256::digest(text.as_bytes());
    match same(&digest(token), &digest(secret)) {
        true => Ok(Proof::Token),
        false => Err(AuthRefusal::Wrong),
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_matches(' '))
}

/// `whsec_` and base64, or the bytes of the text.
fn key_of(secret: &str) -> Option<Vec<u8>> {
    match secret.strip_prefix("whsec_") {
        Some(text) => STANDARD.decode(text).ok().filter(|key| !key.is_empty()),
        None => Some(secret.as_bytes().to_vec()),
    }
}

fn check_standard(
    key: &[u8],
    headers: &impl Headers,
    body: &[u8],
    tolerance: Duration,
    now: Timestamp,
) -> Result<Proof, AuthRefusal> {
    let one = |name| headers.one(name).ok_or(AuthRefusal::Missing);
    let (id, stamp) = (one(STANDARD_ID)?, one(STANDARD_TIMESTAMP)?);
    let signatures = one(STANDARD_SIGNATURE)?;
    if id.is_empty() || id.len() > ID_MAX {
        return Err(AuthRefusal::Missing);
    }
    if id.contains('.') {
        return Err(AuthRefusal::DottedId);
    }
    check_time(stamp, tolerance, now)?;
    let signed = [id.as_bytes(), b".", stamp.as_bytes(), b".", body].concat();
    let expected = hmac_sha256(key, &signed);
    let given = signatures.split(' ').take(SIGNATURES_MAX);
    let given = given.filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    // All of them are looked at, whichever is right.
    let right = given.fold(false, |right, one| right | same(&one, &expected));
    match right {
        true => Ok(signed_proof(key, &signed, Some(id))),
        false => Err(AuthRefusal::Wrong),
    }
}

fn check_simple(
    key: &[u8],
    header: &str,
    headers: &impl Headers,
    body: &[u8],
    tolerance: Duration,
    now: Timestamp,
) -> Result<Proof, AuthRefusal> {
    let given = headers.one(header).ok_or(AuthRefusal::Missing)?;
    let stamp = headers.one(TIMESTAMP).ok_or(AuthRefusal::Missing)?;
    check_time(stamp, tolerance, now)?;
    let signed = [stamp.as_bytes(), b".", body].concat();
    let expected = hmac_sha256(key, &signed);
    let given = given.strip_prefix("sha256=").and_then(from_hex);
    match given.is_some_and(|given| same(&given, &expected)) {
        true => Ok(signed_proof(key, &signed, other_reading(stamp, body))),
        false => Err(AuthRefusal::Wrong),
    }
}

/// `{stamp}.{seconds}.{rest}` is signed for the body `{seconds}.{rest}`, and just as well for `{rest}` in the form of Standard
/// Webhooks under the id `{stamp}`. What can be read in both ways has one id, so that it is taken once.
fn other_reading<'a>(stamp: &'a str, body: &[u8]) -> Option<&'a str> {
    let digits = body.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_time = SECONDS_DIGITS.contains(&digits) && body.get(digits) == Some(&b'.');
    is_time.then_some(stamp)
}

fn signed_proof(key: &[u8], signed: &[u8], id: Option<&str>) -> Proof {
    let key = Sha256::digest(key);
    let stands_for = |what: u8, bytes: &[u8]| {
        let digest = Sha256::new()
            .chain_update(key)
            .chain_update([what])
            .chain_update(bytes)
            .finalize();
        hex(&digest)
    };
    Proof::Signed {
        signature: stands_for(0, signed),
        id: id.map(|id| stands_for(1, id.as_bytes())),
    }
}

/// Seconds since 1970, and nothing else.
fn check_time(stamp: &str, tolerance: Duration, now: Timestamp) -> Result<(), AuthRefusal> {
    let digits =
        stamp.len() <= *SECONDS_DIGITS.end() && stamp.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: i64 = match digits {
        true => stamp.parse().map_err(|_| AuthRefusal::Missing)?,
        false => return Err(AuthRefusal::Missing),
    };
    let off = (now.as_micros() / 1_000_000 - seconds).unsigned_abs();
    match off <= tolerance.as_secs() {
        true => Ok(()),
        false => Err(AuthRefusal::Expired),
    }
}

/// In small letters: one spelling per signature.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = text.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sent(Vec<(&'static str, String)>);

    impl Headers for Sent {
        fn one(&self, name: &str) -> Option<&str> {
            let mut all = self.0.iter().filter(|(known, _)| *known == name);
            let first = all.next()?;
            all.next().is_none().then_some(first.1.as_str())
        }

        fn has(&self, name: &str) -> bool {
            self.0.iter().any(|(known, _)| *known == name)
        }
    }

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
    const BODY: &[u8] = br#"{"n":1}"#;

    fn hmac(header: Option<&str>) -> Auth {
        Auth::Hmac {
            header: header.map(str::to_owned),
            secret: "S".into(),
            tolerance: Duration::from_secs(300),
        }
    }

    fn simple(stamp: &str, key: &str, body: &[u8]) -> Sent {
        let signed = [stamp.as_bytes(), b".", body].concat();
        let value = format!("sha256={}", hex(&hmac_sha256(key.as_bytes(), &signed)));
        Sent(vec![(SIGNATURE, value), (TIMESTAMP, stamp.into())])
    }

    fn verdict(sent: &Sent) -> Result<Proof, AuthRefusal> {
        check(&hmac(None), Some("key"), sent, BODY, NOW)
    }

    #[test]
    fn the_example_of_standard_webhooks() {
        // From the test vectors of the specification's libraries.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let sent = Sent(vec![
            (STANDARD_ID, "msg_p5jXN8AQM9LWM0D4loKWxJek".into()),
            (STANDARD_TIMESTAMP, "1614265330".into()),
            (
                STANDARD_SIGNATURE,
                "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v2,x".into(),
            ),
        ]);
        let now = Timestamp::from_micros(1_614_265_330_000_000);
        let proof = check(&hmac(None), Some(secret), &sent, body, now).unwrap();
        assert!(matches!(proof, Proof::Signed { id: Some(_), .. }));
        let other = check(&hmac(None), Some(secret), &sent, b"{}", now);
        assert_eq!(other, Err(AuthRefusal::Wrong));
    }

    #[test]
    fn the_simple_form() {
        let sent = simple("1700000000", "key", BODY);
        assert!(matches!(verdict(&sent), Ok(Proof::Signed { id: None, .. })));
        assert_eq!(
            verdict(&simple("1700000000", "kez", BODY)),
            Err(AuthRefusal::Wrong)
        );
        assert_eq!(
            verdict(&simple("1700000000", "key", b"{}")),
            Err(AuthRefusal::Wrong)
        );
        assert_eq!(check_head(&hmac(None), Some("key"), &sent, NOW), Ok(()));
    }

    fn standard(id: &str, stamp: &str, key: &str, body: &[u8]) -> Sent {
        let signed = [id.as_bytes(), b".", stamp.as_bytes(), b".", body].concat();
        let value = format!(
            "v1,{}",
            STANDARD.encode(hmac_sha256(key.as_bytes(), &signed))
        );
        Sent(vec![
            (STANDARD_ID, id.into()),
            (STANDARD_TIMESTAMP, stamp.into()),
            (STANDARD_SIGNATURE, value),
        ])
    }

    #[test]
    fn an_id_has_one_reading() {
        // The same bytes are signed for the id `order`, the second time as timestamp, and the rest as body.
        let dotted = standard("order.1700000000", "1699999999", "key", BODY);
        assert_eq!(verdict(&dotted), Err(AuthRefusal::DottedId));
        assert!(verdict(&standard("order", "1700000000", "key", BODY)).is_ok());
    }

    #[test]
    fn one_signature_in_two_forms_is_one_request() {
        let (id, stamp) = ("1700000010", "1700000000");
        let first = check(
            &hmac(None),
            Some("key"),
            &standard(id, stamp, "key", BODY),
            BODY,
            NOW,
        );
        let body = [stamp.as_bytes(), b".", BODY].concat();
        let again = check(
            &hmac(None),
            Some("key"),
            &simple(id, "key", &body),
            &body,
            NOW,
        );
        assert!(first.is_ok());
        assert_eq!(first, again);
        // Nothing else is given an id that it did not ask for.
        for body in [
            "1.5",
            "{}",
            "",
            "1700000000",
            "170000000.x",
            "1700000000000.x",
        ] {
            let sent = simple("1700000000", "key", body.as_bytes());
            let proof = check(&hmac(None), Some("key"), &sent, body.as_bytes(), NOW);
            assert!(
                matches!(proof, Ok(Proof::Signed { id: None, .. })),
                "{body}"
            );
        }
    }

    #[test]
    fn what_a_proof_stands_for_depends_on_key_and_bytes_alone() {
        let of = |id: &str, key: &str, body: &[u8]| {
            let sent = standard(id, "1700000000", key, body);
            match check(&hmac(None), Some(key), &sent, body, NOW) {
                Ok(Proof::Signed { signature, id }) => (signature, id.unwrap()),
                other => panic!("{other:?}"),
            }
        };
        let first = of("a", "key", b"1");
        assert_eq!(first, of("a", "key", b"1"));
        let (other_body, other_key, other_id) = (
            of("a", "key", b"2"),
            of("a", "kez", b"1"),
            of("b", "key", b"1"),
        );
        assert!(first.0 != other_body.0 && first.1 == other_body.1);
        assert!(first.0 != other_key.0 && first.1 != other_key.1);
        assert!(first.0 != other_id.0 && first.1 != other_id.1);
        assert_ne!(first.0, first.1);
    }

    #[test]
    fn signatures_that_are_none() {
        let right = simple("1700000000", "key", BODY).0;
        let (_, value) = &right[0];
        let stamp = (TIMESTAMP, "1700000000".to_owned());
        let wrong = [
            String::new(),
            value.to_uppercase(),
            value.replace("sha256=", "SHA256="),
            value.strip_prefix("sha256=").unwrap().to_owned(),
            format!("sha256={}", value["sha256=".len()..].to_uppercase()),
            value[..value.len() - 2].to_owned(),
            format!("{value}00"),
            format!("{value}, {value}"),
            "sha256=".into(),
            // Of an empty key.
            simple("1700000000", "", BODY).0[0].1.clone(),
        ];
        for text in wrong {
            let sent = Sent(vec![(SIGNATURE, text.clone()), stamp.clone()]);
            assert_eq!(verdict(&sent), Err(AuthRefusal::Wrong), "{text}");
        }
        let twice = Sent(vec![right[0].clone(), right[0].clone(), stamp.clone()]);
        assert_eq!(verdict(&twice), Err(AuthRefusal::Missing));
        assert_eq!(verdict(&Sent(vec![stamp])), Err(AuthRefusal::Missing));
        assert_eq!(
            verdict(&Sent(vec![right[0].clone()])),
            Err(AuthRefusal::Missing)
        );
        assert_eq!(verdict(&Sent(Vec::new())), Err(AuthRefusal::Missing));
    }

    #[test]
    fn times_within_the_tolerance_only() {
        for (stamp, expected) in [
            ("1699999700", None),
            ("1700000300", None),
            ("1699999699", Some(AuthRefusal::Expired)),
            ("1700000301", Some(AuthRefusal::Expired)),
            ("0", Some(AuthRefusal::Expired)),
            ("-1", Some(AuthRefusal::Missing)),
            ("1000000000000000000", Some(AuthRefusal::Missing)),
            ("now", Some(AuthRefusal::Missing)),
            ("", Some(AuthRefusal::Missing)),
            ("+1700000000", Some(AuthRefusal::Missing)),
            ("1700000000.5", Some(AuthRefusal::Missing)),
        ] {
            assert_eq!(
                verdict(&simple(stamp, "key", BODY)).err(),
                expected,
                "{stamp}"
            );
        }
    }

    #[test]
    fn a_secret_that_is_not_there_lets_nobody_in() {
        let sent = simple("1700000000", "", BODY);
        for secret in [None, Some(""), Some("whsec_"), Some("whsec_???")] {
            let refused = check(&hmac(None), secret, &sent, BODY, NOW);
            assert_eq!(refused, Err(AuthRefusal::NoSecret), "{secret:?}");
            assert_eq!(
                check_head(&hmac(None), secret, &sent, NOW),
                Err(AuthRefusal::NoSecret)
            );
        }
        let token = Auth::Header {
            header: None,
            secret: "S".into(),
        };
        let empty = Sent(vec![("authorization", "Bearer ".into())]);
        for secret in [None, Some("")] {
            assert_eq!(
                check(&token, secret, &empty, BODY, NOW),
                Err(AuthRefusal::NoSecret)
            );
        }
    }

    #[test]
    fn tokens_in_a_header() {
        let token = |header: Option<&str>| Auth::Header {
            header: header.map(str::to_owned),
            secret: "S".into(),
        };
        let sent = |name, value: &str| Sent(vec![(name, value.to_owned())]);
        let verdict = |auth: &Auth, sent: &Sent| check(auth, Some("t0k3n"), sent, b"", NOW);
        for good in ["Bearer t0k3n", "bearer t0k3n"] {
            let sent = sent("authorization", good);
            assert_eq!(verdict(&token(None), &sent), Ok(Proof::Token), "{good}");
        }
        for (bad, refusal) in [
            ("Bearer t0k3", AuthRefusal::Wrong),
            ("Bearer t0k3n1", AuthRefusal::Wrong),
            ("Bearer T0K3N", AuthRefusal::Wrong),
            ("t0k3n", AuthRefusal::Missing),
            ("Basic t0k3n", AuthRefusal::Missing),
            ("", AuthRefusal::Missing),
        ] {
            let sent = sent("authorization", bad);
            assert_eq!(verdict(&token(None), &sent), Err(refusal), "{bad}");
        }
        let own = token(Some("x-token"));
        assert_eq!(verdict(&own, &sent("x-token", "t0k3n")), Ok(Proof::Token));
        assert_eq!(
            verdict(&own, &sent("x-token", "Bearer t0k3n")),
            Err(AuthRefusal::Wrong)
        );
        assert_eq!(
            verdict(&own, &sent("authorization", "Bearer t0k3n")),
            Err(AuthRefusal::Missing)
        );
    }

    #[test]
    fn a_header_of_its_own_takes_the_simple_form_only() {
        let Sent(mut headers) = simple("1700000000", "key", BODY);
        headers[0].0 = "x-sign";
        headers.push((STANDARD_SIGNATURE, "v1,x".into()));
        let proof = check(
            &hmac(Some("x-sign")),
            Some("key"),
            &Sent(headers),
            BODY,
            NOW,
        );
        assert!(proof.is_ok());
    }
}
