//! The meaning of patterns is that of the crate `regex`; what differs is who pays.

use super::*;
use crate::expr::error::Span;

fn pay(_: u64) -> Result<(), ExprError> {
    Ok(())
}

/// Every match with its groups, found from the end of the one before.
fn all(pattern: &str, text: &str) -> Vec<Groups> {
    let mut pattern = Pattern::compile(pattern).unwrap();
    let (mut found, mut from, mut last) = (Vec::new(), 0, None);
    while let Some(whole) = pattern.find(text, from, &mut pay).unwrap() {
        if whole.is_empty() && last == Some(whole.end) {
            match text[whole.end..].chars().next() {
                Some(skipped) => from = whole.end + skipped.len_utf8(),
                None => break,
            }
            continue;
        }
        found.push(pattern.groups(text, &whole, &mut pay).unwrap());
        (from, last) = (whole.end, Some(whole.end));
    }
    let is_in = pattern.is_in(text, &mut pay).unwrap();
    assert_eq!(is_in, !found.is_empty(), "{} in {text:?}", pattern.text());
    found
}

fn expected(pattern: &str, text: &str) -> Vec<Groups> {
    let regex = regex::Regex::new(pattern).unwrap();
    let groups = |found: regex::Captures<'_>| {
        let groups = found.iter();
        groups
            .map(|group| group.map(|group| group.range()))
            .collect()
    };
    regex.captures_iter(text).map(groups).collect()
}

/// Walked through and driven byte by byte: both ways must come to the same.
fn check(pattern: &str, text: &str) {
    let expected = expected(pattern, text);
    assert_eq!(all(pattern, text), expected, "{pattern} in {text:?}");
    let nfa = compiled(pattern, Direction::Forward).unwrap();
    let walked = walk::search(&nfa, text, 0, &mut pay).unwrap();
    assert_eq!(walked.as_ref(), expected.first(), "{pattern} in {text:?}");
}

#[test]
fn everyday_patterns() {
    let texts = [
        "",
        "a",
        "order-12, order-7; Заказ-3",
        "<p class='x'>a &amp; b</p>\n<br/>",
        "anna@example.com, böb@beispiel.de",
        "2024-05-06T07:08:09Z",
        "слово и слова, слово.",
        "aaa\r\nbbb\n\nccc",
        "e\u{301}\u{200b}👩‍👩‍👧‍👦",
    ];
    let patterns = [
        "",
        "a*",
        "a*?",
        "(a|ab)(c|bcd)?",
        r"\d+",
        r"(\w+)@(\w+)\.(?P<tld>\w+)",
        r"(\d{4})-(\d\d)-(\d\d)",
        r"\bслово\b",
        r"\b\w",
        r"\B.",
        "(?m)^.*$",
        "(?s)a.*b",
        "<[^>]*>|&",
        r"(?i)ORDER-(\d+)|заказ",
        r"(a)|(b)|(c)",
        r"x?|\b{end}",
        r"[^\x00-\x7f]",
        r"\s+$",
        "$",
        "^",
        "(?:)|b",
        ".*[^A-Z]|[A-Z]",
    ];
    for pattern in patterns {
        for text in texts {
            check(pattern, text);
        }
    }
}

#[test]
fn generated_patterns() {
    let mut state = 7_u64;
    let mut draw = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    const PIECES: [&str; 20] = [
        "a", "b", "ab", "[ab]", "[^a]", ".", "é", r"\w", r"\b", r"\B", "^", "$", "(a)", "(?:b|ab)",
        "(a|b)", "(|a)", r"\s", "(?m:^)", "(b*)", "(?i:A)",
    ];
    const REPEATS: [&str; 8] = ["", "", "", "*", "+", "?", "*?", "{1,2}"];
    const LETTERS: [&str; 6] = ["a", "b", "ab", "é", " ", "\n"];
    let mut tried = 0;
    for _ in 0..1_500 {
        let mut pattern = String::new();
        for _ in 0..=draw(4) {
            pattern.push_str(PIECES[draw(PIECES.len())]);
            pattern.push_str(REPEATS[draw(REPEATS.len())]);
            if draw(6) == 0 {
                pattern.push('|');
            }
        }
        if regex::Regex::new(&pattern).is_err() {
            continue;
        }
        tried += 1;
        for _ in 0..4 {
            let text: String = (0..draw(8)).map(|_| LETTERS[draw(LETTERS.len())]).collect();
            check(&pattern, &text);
        }
    }
    assert!(tried > 1_000, "{tried}");
}

#[test]
fn who_does_not_pay_gets_no_answer() {
    let text = "<&".repeat(30_000);
    let mut pattern = Pattern::compile("<[^>]*>|&").unwrap();
    let mut left = 100_000_u64;
    let mut pay = |steps: u64| match left.checked_sub(steps) {
        Some(rest) => {
            left = rest;
            Ok(())
        }
        None => Err(ExprError::limit("spent", Span::default())),
    };
    let (mut from, mut found) = (0, 0);
    while let Ok(Some(whole)) = pattern.find(&text, from, &mut pay) {
        (from, found) = (whole.end, found + 1);
    }
    // Each search reads the rest of the text, 60 kB at 12 bytes for a step.
    assert!((15..25).contains(&found), "{found}");
}
