use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::json;

use super::*;

/// With a letter of each kind that encoders treat in a way of their own.
const SECRET: &str = "CANARY-tok/en+42 \"x\"";

fn redactor(secrets: &[&str]) -> Redactor {
    let secrets: Vec<String> = secrets.iter().map(|text| (*text).to_owned()).collect();
    Redactor::new(secrets.iter())
}

fn hidden(text: &str) -> String {
    let mut text = text.to_owned();
    redactor(&[SECRET]).text(&mut text);
    text
}

fn escaped(each: impl Fn(char) -> String) -> String {
    SECRET.chars().map(each).collect()
}

fn base32(text: &str) -> String {
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".as_bytes();
    let chunks = bits.as_bytes().chunks(5).map(|chunk| {
        let chunk = format!("{:0<5}", std::str::from_utf8(chunk).unwrap());
        char::from(letters[usize::from_str_radix(&chunk, 2).unwrap()])
    });
    chunks.collect()
}

/// What a service may make of a secret before it sends it back, each with the reviewer's name for it.
fn encodings() -> Vec<(&'static str, String)> {
    let percent = |upper: bool, kept: &'static str| {
        escaped(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() || kept.contains(letter) => letter.into(),
            letter if upper => format!("%{:02X}", letter as u32),
            letter => format!("%{:02x}", letter as u32),
        })
    };
    let json = json!(SECRET).to_string();
    let twice = json!(json).to_string();
    vec![
        ("plain", SECRET.to_owned()),
        ("percent, upper case", percent(true, "-._~")),
        ("percent, lower case", percent(false, "-._~")),
        ("quote() leaves the slash", percent(true, "-._~/")),
        ("encodeURI leaves more", percent(true, "-._~/+")),
        ("a form", percent(false, "-._~ ").replace(' ', "+")),
        (
            "all of it percent",
            escaped(|letter| format!("%{:02x}", letter as u32)),
        ),
        ("percent twice", percent(true, "-._~").replace('%', "%25")),
        (
            "HTML by name",
            SECRET.replace('"', "&quot;").replace('/', "&sol;"),
        ),
        (
            "HTML by number",
            SECRET.replace('"', "&#34;").replace('/', "&#x2F;"),
        ),
        (
            "HTML, all of it",
            escaped(|letter| format!("&#{};", letter as u32)),
        ),
        ("HTML twice", SECRET.replace('"', "&amp;quot;")),
        ("JSON", json[1..json.len() - 1].to_owned()),
        ("JSON of PHP", json.replace('/', "\\/")),
        (
            "JSON, all of it",
            escaped(|letter| format!("\\u{:04x}", letter as u32)),
        ),
        ("JSON, one letter", SECRET.replacen('C', "\\u0043", 1)),
        ("JSON in JSON", twice.clone()),
        (
            "JSON of PHP in JSON",
            json!(json.replace('/', "\\/")).to_string(),
        ),
        ("percent in JSON in JSON", twice.replace('/', "%2f")),
        ("upper case", SECRET.to_uppercase()),
        ("lower case", SECRET.to_lowercase()),
        ("lower case, percent", percent(true, "-._~").to_lowercase()),
        (
            "hexadecimal",
            SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ),
        (
            "HEXADECIMAL",
            SECRET.bytes().map(|byte| format!("{byte:02X}")).collect(),
        ),
        ("base64", STANDARD.encode(SECRET)),
        (
            "base64 behind a name",
            STANDARD.encode(format!("user:{SECRET}")),
        ),
        (
            "base64 for URLs",
            URL_SAFE_NO_PAD.encode(format!("u:{SECRET}")),
        ),
        (
            "base64, percent",
            STANDARD
                .encode(SECRET)
                .replace('=', "%3D")
                .replace('/', "%2F"),
        ),
        ("base64 twice", STANDARD.encode(STANDARD.encode(SECRET))),
        (
            "base64 twice, behind a name",
            STANDARD.encode(format!(
                "x{}",
                STANDARD_NO_PAD.encode(format!("u:{SECRET}"))
            )),
        ),
        ("base32", base32(SECRET)),
        ("base32 behind a name", base32(&format!("abc{SECRET}"))),
        ("base32, lower case", base32(SECRET).to_lowercase()),
    ]
}

/// So many letters of a spelling at its edges may depend on its neighbours.
fn middle(text: &str) -> &str {
    &text[text.len() / 4..text.len() * 3 / 4]
}

#[test]
fn every_encoding_is_hidden_wherever_it_stands() {
    for (name, encoded) in encodings() {
        let text = hidden(&format!("before {encoded} after"));
        assert!(text.contains(MASK), "{name}: {text}");
        assert!(!text.contains(middle(&encoded)), "{name}: {text}");
        assert!(
            text.starts_with("before ") && text.ends_with(" after"),
            "{name}: {text}"
        );
        let mut value = json!({(encoded.as_str()): [1, {"a": encoded}]});
        redactor(&[SECRET]).value(&mut value);
        assert!(
            !value.to_string().contains(middle(&encoded)),
            "{name}: {value}"
        );
    }
}

#[test]
fn only_the_secret_is_hidden() {
    let shown =
        hidden("a%20b &amp; \\\"c\\\" \u{e9}\\u00e9 CANARY%2dtok%2fen%2B42+%22x%22 d%2Fe &amp; f");
    assert_eq!(
        shown,
        "a%20b &amp; \\\"c\\\" \u{e9}\\u00e9 *** d%2Fe &amp; f"
    );
    let twice = hidden(&format!("{SECRET}{SECRET}"));
    assert_eq!(twice, "******");
    for innocent in [
        "",
        "CANARY",
        "100 % & more \\ than % that",
        "%",
        "%4",
        "&#x;&#99999999;&;&",
        "\\u12 \\ud800 \\x4",
        "tok/en+42",
    ] {
        assert_eq!(hidden(innocent), innocent);
        assert!(!redactor(&[SECRET]).hides(innocent));
    }
}

#[test]
fn characters_stay_whole() {
    let secret = "schl\u{fc}ssel-\u{1f511}-9";
    let redactor = redactor(&[secret]);
    for (written, shown) in [
        (format!("\u{e9}{secret}\u{e9}"), "\u{e9}***\u{e9}"),
        (
            "\u{e9}schl%C3%BCssel-%F0%9F%94%91-9\u{e9}".into(),
            "\u{e9}***\u{e9}",
        ),
        (
            "\u{e9}schl\\u00fcssel-\\ud83d\\udd11-9\u{e9}".into(),
            "\u{e9}***\u{e9}",
        ),
        (
            "\u{e9}schl&#252;ssel-&#x1F511;-9\u{e9}".into(),
            "\u{e9}***\u{e9}",
        ),
        (
            format!("\u{e9}{}\u{e9}", secret.to_uppercase()),
            "\u{e9}***\u{e9}",
        ),
    ] {
        let mut text = written.clone();
        redactor.text(&mut text);
        assert_eq!(text, shown, "{written}");
    }
}

#[test]
fn a_secret_in_a_secret_is_hidden_whole() {
    let redactor = redactor(&["horse-42", "correct horse-42 battery"]);
    let mut text = "correct horse-42 battery, horse-42".to_owned();
    redactor.text(&mut text);
    assert_eq!(text, "***, ***");
}

#[test]
fn numbers_can_be_secrets() {
    let redactor = redactor(&["8675309123", SECRET]);
    let mut value = json!({"a": 8_675_309_123_u64, "b": 8_675_309_123.0, "c": "8675309123.0", "d": 867, "e": -8_675_309_123_i64});
    redactor.value(&mut value);
    assert_eq!(
        value,
        json!({"a": MASK, "b": MASK, "c": "***.0", "d": 867, "e": MASK})
    );
}

#[test]
fn a_text_that_is_json_stays_json() {
    let mut text = json!({"a": SECRET, "b": [1.5, null]}).to_string();
    redactor(&[SECRET]).json_text(&mut text);
    assert_eq!(text, r#"{"a":"***","b":[1.5,null]}"#);
    let mut text = format!("no json {SECRET}");
    redactor(&[SECRET]).json_text(&mut text);
    assert_eq!(text, "no json ***");
}

/// Dead letters show what was refused: two fields of one name stay two, and a long number keeps its digits.
#[test]
fn json_of_several_meanings_is_hidden_as_it_is_written() {
    for (written, shown) in [
        (
            r#"{"a": "horse-42", "a": "second"}"#,
            r#"{"a": "***", "a": "second"}"#,
        ),
        (
            r#"{"n": 123456789012345678901234567890, "t": "horse-42"}"#,
            r#"{"n": 123456789012345678901234567890, "t": "***"}"#,
        ),
    ] {
        let mut text = written.to_owned();
        redactor(&["horse-42"]).json_text(&mut text);
        assert_eq!(text, shown);
    }
}

/// A number that is hidden must not leave a text that nothing can read.
#[test]
fn json_deeper_than_an_edge_lets_in_stays_json() {
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(70), "]".repeat(70));
    let mut text = deep("8675309123");
    redactor(&["8675309123"]).json_text(&mut text);
    assert_eq!(text, deep("\"***\""));
}

#[test]
fn without_secrets_nothing_is_touched() {
    let nothing = Redactor::default();
    let mut value = json!({"a": SECRET, "b": 8_675_309_123_u64});
    nothing.value(&mut value);
    assert!(nothing.is_empty() && !nothing.hides(SECRET));
    assert_eq!(value["a"], SECRET);
}

/// All three kinds of escapes, as deep as is looked: the work stays in proportion to the text.
#[test]
fn texts_made_of_escapes_are_searched_in_proportion() {
    let redactor = redactor(&[SECRET]);
    let visited = |text: &str| {
        let mut count = 0;
        let mut level = vec![text.as_bytes().to_vec()];
        for _ in 0..DEPTH {
            level = level
                .iter()
                .flat_map(|view| views::of(view))
                .map(|view| view.bytes)
                .collect();
            count += level.iter().map(Vec::len).sum::<usize>();
        }
        count
    };
    let text = "%5C&#37;26\\u0026&amp;%25".repeat(1_000);
    assert!(visited(&text) < 20 * text.len(), "{}", visited(&text));
    assert!(!redactor.hides(&text));
}

/// A few escapes suffice to have a long text decoded over and over.
#[test]
fn a_text_that_would_be_decoded_too_often_is_hidden_whole() {
    let deep = "%25252541 &amp;amp;amp;lt; \\\\\\\\n";
    let long = |escapes: &str| format!("{escapes} {}", "plain ".repeat(20_000));
    assert_eq!(hidden(&long(deep)), MASK);
    let mut value = json!({"a": long(deep), "b": deep});
    redactor(&[SECRET]).value(&mut value);
    assert_eq!(value, json!({"a": MASK, "b": deep}));
    let ordinary = long("a%20b &amp; \\\"c\\\" 100 %").repeat(2);
    assert_eq!(hidden(&ordinary), ordinary);
    let found = hidden(&format!("{ordinary}{SECRET}"));
    assert_eq!(found, format!("{ordinary}{MASK}"));
}

#[test]
fn two_names_that_read_alike_stay_two_fields() {
    let secret = "correct-horse".to_owned();
    let redactor = Redactor::new([&secret].into_iter());
    let mut value = json!({"correct-horse": 1, "Y29ycmVjdC1ob3JzZQ": 2, "other": 3});
    redactor.value(&mut value);
    let fields = value.as_object().unwrap();
    assert_eq!(fields.len(), 3, "{value}");
    assert!(fields.keys().all(|name| !name.contains("horse")), "{value}");
}

/// Counted, not timed: were each name tried from the start, this would not end within the time of the suite.
#[test]
fn thousands_of_spellings_are_as_many_fields() {
    let secret = "abcdefghijklmnop".to_owned();
    let redactor = Redactor::new([&secret].into_iter());
    let spelling = |number: u32| -> String {
        let letters = secret.bytes().enumerate();
        letters
            .map(|(place, letter)| match number >> place & 1 {
                1 => format!("%{letter:02x}"),
                _ => char::from(letter).to_string(),
            })
            .collect()
    };
    let count = 1 << 15;
    let mut fields: Map<String, Value> = (0..count).map(|n| (spelling(n), json!(n))).collect();
    redactor.object(&mut fields);
    assert_eq!(fields.len(), count as usize);
    assert!(fields.keys().all(|name| name.starts_with("***")));
}
