//! Texts made to hurt: each must be answered quickly, without a panic, on a small stack.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

#[track_caller]
fn survives(name: &str, text: &str, code: Option<&str>) {
    let before = Instant::now();
    let loaded = load(Some("x.yaml"), text, &registry());
    let took = before.elapsed();
    assert!(took < Duration::from_secs(10), "{name} took {took:?}");
    if let Some(code) = code {
        let codes: Vec<&str> = loaded.diagnostics.iter().map(|found| found.code).collect();
        assert!(codes.contains(&code), "{name}: {codes:?}");
    }
}

/// Worker threads have two megabytes of stack, so that is what the tests get.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    thread.unwrap().join().unwrap();
}

#[test]
fn nesting() {
    on_a_small_stack(|| {
        for (name, unit) in [
            ("lists", "["),
            ("objects", "{\"a\":"),
            ("flow maps", "{a: "),
            ("block lists", "- "),
            ("complex keys", "? "),
            ("values", ": "),
            ("mixed", "- ? "),
            ("tagged", "- !!seq "),
            ("anchored", "- &a "),
        ] {
            survives(name, &unit.repeat(100_000), None);
            survives(name, &unit.repeat(300), None);
        }
        let stairs: String = (0..1_000)
            .map(|n| format!("{}a:\n", " ".repeat(n)))
            .collect();
        survives("stairs", &stairs, Some("TOO_DEEP"));
        let json = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        survives("65 levels", &json(65), Some("TOO_DEEP"));
        survives("64 levels", &json(64), Some("WRONG_TYPE"));
        let yaml = format!(
            "a:\n{}",
            (1..70)
                .map(|n| format!("{}a:\n", " ".repeat(n)))
                .collect::<String>()
        );
        survives("70 block levels", &yaml, Some("TOO_DEEP"));
    });
}

#[test]
fn aliases() {
    on_a_small_stack(|| {
        let bomb = |item: &dyn Fn(usize) -> String| -> String {
            let first = "a0: &a0 [x, x, x]\n".to_owned();
            first
                + &(1..40)
                    .map(|n| format!("a{n}: &a{n} {}\n", item(n - 1)))
                    .collect::<String>()
        };
        survives(
            "values",
            &bomb(&|n| format!("[*a{n}, *a{n}, *a{n}]")),
            Some("TOO_LARGE"),
        );
        survives(
            "keys",
            &bomb(&|n| format!("{{? [*a{n}, *a{n}] : x}}")),
            Some("TOO_LARGE"),
        );
        let chain: String = (1..20_000)
            .map(|n| format!("- &a{n} {{? *a{} : x}}\n", n - 1))
            .collect();
        survives(
            "a chain of keys",
            &format!("- &a0 x\n{chain}"),
            Some("TOO_DEEP"),
        );
        let chain: String = (1..20_000)
            .map(|n| format!("- &a{n} [*a{}]\n", n - 1))
            .collect();
        survives("a chain of lists", &format!("- &a0 x\n{chain}"), None);
    });
}

#[test]
fn size() {
    survives("4 MiB", &"a".repeat((4 << 20) + 1), Some("TOO_LARGE"));
    let keys: String = (0..60_000).map(|n| format!("k{n}: 1\n")).collect();
    survives("60 000 keys", &keys, Some("TOO_MANY_PROBLEMS"));
    let twice: String = (0..20_000).map(|_| "k: 1\n").collect();
    survives("the same key", &twice, Some("DUPLICATE_KEY"));
    let items = format!("[{}1]", "1,".repeat(600_000));
    survives("600 000 values", &items, Some("TOO_LARGE"));
    let nodes: String = (0..60_000)
        .map(|n| format!("- {{id: n{n}, type: end}}\n"))
        .collect();
    survives(
        "nodes",
        &format!("name: t\nnodes:\n{nodes}"),
        Some("TOO_MANY_NODES"),
    );
    let edges: String = (0..20_000)
        .map(|n| format!("- {{source: x{n}, target: y{n}}}\n"))
        .collect();
    let nodes: String = (0..2_000)
        .map(|n| format!("- {{id: n{n}, type: end}}\n"))
        .collect();
    survives(
        "edges to nowhere",
        &format!("name: t\nnodes:\n{nodes}edges:\n{edges}"),
        Some("TOO_MANY_PROBLEMS"),
    );
    survives(
        "one long line",
        &format!("a: \"{}\"", "x".repeat(4_000_000)),
        Some("MISSING_FIELD"),
    );
    survives(
        "combining marks",
        &format!("name: \"{}\"", "\u{301}".repeat(10_000)),
        Some("BAD_NAME"),
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_text_panics(text in "\\PC*") {
        fuzz_schema_with(text.as_bytes(), &registry());
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz_schema(&bytes);
    }

    #[test]
    fn no_mixture_panics(parts in proptest::collection::vec(fragment(), 0..40)) {
        fuzz_schema_with(parts.concat().as_bytes(), &registry());
    }

    #[test]
    fn no_damage_panics(at in 0_usize..2_000, with in fragment()) {
        let mut text = super::reading::EXAMPLE.to_owned();
        let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.insert_str(at, with);
        fuzz_schema_with(text.as_bytes(), &registry());
    }
}

fn fragment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "name: t\n",
        "nodes:\n",
        "edges:\n",
        "- ",
        "  ",
        "id: a\n",
        "type: log\n",
        "config:\n",
        "message: ",
        "{{ input.x }}",
        "\"",
        "'",
        "{",
        "}",
        "[",
        "]",
        ",",
        ": ",
        "\n",
        "\t",
        "&a ",
        "*a ",
        "!!str ",
        "|\n",
        ">\n",
        "é",
        "😀",
        "\u{0}",
        "\r\n",
        "\\",
        "\\u0041",
        "1e400",
        "? ",
        "#",
        "---\n",
        "%",
        "\u{feff}",
        "<<: ",
        "start",
        "0x",
        "\u{2028}",
    ])
}
