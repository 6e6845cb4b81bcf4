//! Bounded fuzzing inside the test command: whatever the bytes are, nothing that reads them may panic.
//!
//! Inputs are mutations of what people write (examples, flows, expressions) and plain noise, drawn from a fixed
//! seed, so that a run is the same everywhere. `PAWL_FUZZ_SEED` draws others, `PAWL_FUZZ_FACTOR` more of them.
//! A panic is reported with seed, number and input.

#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pawl::config::Config;
use pawl::wiring;
use pawl_kernel::expr::{fuzz_expression, fuzz_template};
use pawl_kernel::schema::{fuzz_schema, fuzz_schema_with};
use pawl_kernel::time::{Timestamp, format_duration, parse_duration};
use pawl_testkit::clock::Rng;

const INPUT_BYTES_MAX: usize = 6_000;

#[test]
fn expressions() {
    let corpus = expressions_of(&schemas());
    fuzz(
        "expressions",
        20_000,
        &corpus,
        EXPRESSION_WORDS,
        fuzz_expression,
    );
}

#[test]
fn templates() {
    let corpus: Vec<Vec<u8>> = expressions_of(&schemas())
        .iter()
        .map(|text| [b"a {{".as_slice(), text, b"}} b {{", text, b"}}"].concat())
        .collect();
    fuzz(
        "templates",
        20_000,
        &corpus,
        EXPRESSION_WORDS,
        fuzz_template,
    );
}

#[test]
fn schemas_with_the_real_node_types() {
    let registry = wiring::registry(&Config::default(), true).unwrap();
    fuzz("schemas", 2_500, &schemas(), SCHEMA_WORDS, |data| {
        fuzz_schema_with(data, &registry);
    });
}

#[test]
fn schemas_without_node_types() {
    fuzz("bare schemas", 1_500, &schemas(), SCHEMA_WORDS, fuzz_schema);
}

#[test]
fn durations_and_times() {
    let corpus: Vec<Vec<u8>> = [
        "30s",
        "1h30m",
        "365d",
        "250ms",
        "PT1H30M",
        "P1DT2H",
        "1.5",
        "-1",
        "1e308",
        "2024-02-29T12:00:00Z",
        "2027-01-15T08:00:00.123456+02:00",
        "9999-12-31T23:59:59Z",
        "-9999-01-01T00:00:00Z",
        "1800000000",
        "NaN",
        "inf",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    fuzz("durations", 20_000, &corpus, TIME_WORDS, |data| {
        let text = String::from_utf8_lossy(data);
        if let Ok(duration) = parse_duration(&text) {
            let shown = format_duration(duration);
            assert!(
                parse_duration(&shown).is_ok(),
                "{shown} cannot be read back"
            );
        }
        if let Some(time) = Timestamp::parse(&text) {
            drop(time.to_string());
            let far = time.plus(std::time::Duration::MAX);
            assert!(far.minus(std::time::Duration::MAX) <= far);
        }
    });
}

const EXPRESSION_WORDS: &[&str] = &[
    "{{",
    "}}",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "=>",
    "?.",
    "??",
    "?",
    ":",
    "|",
    "||",
    "&&",
    "!",
    "==",
    "<=",
    "+",
    "-",
    "*",
    "/",
    "%",
    ".",
    ",",
    "'",
    "\"",
    "\\",
    "\\u{110000}",
    "in",
    "not",
    "and",
    "or",
    "null",
    "true",
    "9223372036854775807",
    "-9223372036854775808",
    "1e309",
    "0.1",
    "a.b",
    "s",
    "n",
    "map(a.b, x => x + 1)",
    "filter(",
    "reduce(",
    "sort(",
    "range(0, 100000)",
    "repeat('x', 99999)",
    "decimal('0.1')",
    "now()",
    "uuid()",
    "parse_json('[[[[')",
    "regex",
    "split(s, '')",
    "é",
    "\u{202e}",
    "a['c d']",
    "len(",
    "format_date(now(), '%Y', 'Europe/Paris')",
    "add_duration(now(), 'P1M')",
];

const SCHEMA_WORDS: &[&str] = &[
    "\n  - ",
    ": ",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "|\n",
    ">\n",
    "---\n",
    "...\n",
    "\t",
    "{",
    "}",
    "[",
    "]",
    "'",
    "\"",
    "{{",
    "}}",
    "null",
    "~",
    "id: start",
    "type: ",
    "nodes:",
    "edges:",
    "settings: {max_steps: 0}",
    "sourceHandle: error",
    "retry: {max_attempts: -1}",
    "timeout: 1e400",
    "config: ",
    "\u{feff}",
    "\r\n",
    "{\"nodes\":[",
    "\\u0000",
    "- - - - - -",
    "0x7fffffffffffffffff",
    ".inf",
    "name: ",
    "disabled: yes",
];

const TIME_WORDS: &[&str] = &[
    "P", "T", "H", "M", "S", "d", "ms", "e9", "Z", "+99:99", "-", ".", "0", "9",
];

/// Feeds mutations of the corpus to `target`.
fn fuzz(name: &str, iterations: u64, corpus: &[Vec<u8>], words: &[&str], target: impl Fn(&[u8])) {
    let seed = setting("PAWL_FUZZ_SEED").unwrap_or(1);
    let iterations = iterations * setting("PAWL_FUZZ_FACTOR").unwrap_or(1);
    let mut rng = Rng::new(seed);
    for text in corpus {
        target(text);
    }
    for number in 0..iterations {
        let input = mutate(&mut rng, corpus, words);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&input))) {
            let shown = String::from_utf8_lossy(&input);
            eprintln!("{name}: seed {seed}, input {number}: {shown}\n{shown:?}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn mutate(rng: &mut Rng, corpus: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    if rng.chance(50) {
        let length = rng.below(200);
        return (0..length).map(|_| rng.next_u64() as u8).collect();
    }
    let mut input = rng.pick(corpus).clone();
    for _ in 0..=rng.below(5) {
        change(rng, &mut input, corpus, words);
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}

fn change(rng: &mut Rng, input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str]) {
    let (from, to) = range(rng, input.len());
    match rng.below(8) {
        0 => drop(input.drain(from..to)),
        1 => drop(input.splice(from..to, rng.pick(words).bytes())),
        2 => drop(input.splice(from..from, rng.pick(words).bytes())),
        3 => {
            let part = input[from..to].to_vec();
            drop(input.splice(to..to, part));
        }
        4 => {
            let other = rng.pick(corpus);
            let (start, end) = range(rng, other.len());
            drop(input.splice(from..to, other[start..end].to_vec()));
        }
        5 => {
            let word = rng.pick(words).repeat(1 + rng.below(300) as usize);
            drop(input.splice(from..from, word.into_bytes()));
        }
        6 => input.truncate(from),
        _ => {
            if let Some(byte) = input.get_mut(from) {
                *byte ^= 1 << rng.below(8);
            }
        }
    }
}

/// A place and, mostly, a few bytes from there.
fn range(rng: &mut Rng, length: usize) -> (usize, usize) {
    let from = rng.below(length as u64 + 1) as usize;
    let span = if rng.chance(800) { 16 } else { length as u64 };
    let to = from + rng.below(span + 1) as usize;
    (from, to.min(length))
}

/// The examples and the golden flows.
fn schemas() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["examples", "tests/flows"] {
        let mut paths: Vec<_> = std::fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
            .collect();
        paths.sort();
        found.extend(paths.iter().map(|path| std::fs::read(path).unwrap()));
    }
    assert!(found.len() > 20, "the corpus is missing");
    found
}

/// What stands between `{{` and `}}` in them, and some that are more than examples need.
fn expressions_of(schemas: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = [
        "sort_by(filter(a.b, i => i != null), i => -i)[0] ?? 'none'",
        "a.b | map(x => x * 2) | sum",
        "n > 3 ? {'k': [1, {'m': a?.q?.r}]} : !z",
        "format_date(s, '%Y-%m-%d', 'Asia/Tokyo') + upper(a['c d'].e)",
        "decimal('0.10') * 3 / 7 % 2",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    for schema in schemas {
        let text = String::from_utf8_lossy(schema);
        let parts = text
            .split("{{")
            .skip(1)
            .filter_map(|part| part.split_once("}}"));
        found.extend(parts.map(|(inner, _)| inner.as_bytes().to_vec()));
    }
    found
}
