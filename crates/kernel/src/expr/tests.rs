//! The language by example: one `check` per boundary, tables of cases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic is how a test fails"
)]

use serde_json::{Map, Value, json};

use super::*;

fn roots() -> Map<String, Value> {
    let roots = json!({
        "steps": {"http_1": {"output": {"status_code": 200, "body": {"items": [
            {"name": "pen", "price": 12, "tags": ["a"]},
            {"name": "ink", "price": 8, "tags": []},
        ]}}, "status": "success", "error": null}, "send-mail": {"output": 1}},
        "variables": {"age": 25, "zero": 0, "null_value": null, "c d": 1, "text": "{{secrets.x}}"},
        "input": {"huge": u64::MAX, "big": 9_007_199_254_740_993_i64, "rate": 0.1},
        "secrets": {"token": "CANARY-1234"},
    });
    match roots {
        Value::Object(map) => map,
        _ => unreachable!(),
    }
}

fn evaluate(text: &str) -> Result<Value, ExprError> {
    let roots = roots();
    let scope = Scope::new(&roots, 1_700_000_000_123_456, "exec-1", 7);
    Expression::compile(text)?.evaluate(&scope, &mut Meter::default())
}

fn render(text: &str, encoding: Encoding) -> Result<Value, ExprError> {
    let roots = roots();
    let scope = Scope::new(&roots, 1_700_000_000_123_456, "exec-1", 7);
    Template::compile(text, encoding)?.render(&scope, &mut Meter::default())
}

fn check(text: &str, expected: Value) {
    match evaluate(text) {
        // By text, because `1` and `1.0` differ for the reader of an output.
        Ok(value) => assert_eq!(value.to_string(), expected.to_string(), "{text}"),
        Err(error) => panic!("{text}: {error:?}"),
    }
}

fn fails(text: &str, code: ErrorCode) -> ExprError {
    match evaluate(text) {
        Ok(value) => panic!("{text} gives {value}"),
        Err(error) => {
            assert_eq!(error.code, code, "{text}: {error}");
            assert!(
                error.span.start <= error.span.end && error.span.end <= text.len(),
                "{text}"
            );
            error
        }
    }
}

fn check_template(text: &str, expected: Value) {
    assert_eq!(render(text, Encoding::Text).unwrap(), expected, "{text}");
}

fn check_url(text: &str, expected: &str) {
    assert_eq!(
        render(text, Encoding::Url).unwrap(),
        json!(expected),
        "{text}"
    );
}

use ErrorCode::{ExpressionError, LimitExceeded, MathError, TypeError, UndefinedPath};

#[test]
fn every_documented_example_gives_its_documented_result() {
    for function in functions() {
        let expected: Value = serde_json::from_str(function.result).unwrap();
        check(function.example, expected);
        assert!(
            function.example.contains(function.name),
            "{}",
            function.name
        );
        assert!(reference_markdown().contains(function.signature.split('|').next().unwrap()));
    }
}

#[test]
fn function_names_are_unique() {
    for function in functions() {
        let same = functions()
            .iter()
            .filter(|other| other.name == function.name);
        assert_eq!(same.count(), 1, "{}", function.name);
    }
}

#[test]
fn literals() {
    check("1", json!(1));
    check("1.50", json!(1.5));
    check("1e3", json!(1000.0));
    check("-9223372036854775808", json!(i64::MIN));
    check("18446744073709551615", json!(u64::MAX));
    check("true", json!(true));
    check("null", Value::Null);
    check(r#"'a\'b'"#, json!("a'b"));
    check(
        r#""tab\tq\" \u0041 \ud83d\ude00 \u{1F600}""#,
        json!("tab\tq\" A 😀 😀"),
    );
    check("[1, 'a', [], ]", json!([1, "a", []]));
    check(
        "{a: 1, 'b c': {in: 2}, ['x' + 'y']: 3}",
        json!({"a": 1, "b c": {"in": 2}, "xy": 3}),
    );
    for broken in [
        "1e400",
        "'a",
        "'\\q'",
        "'\\ud800'",
        "18446744073709551616",
        "1 = 1",
        "",
        "[1",
    ] {
        fails(broken, ExpressionError);
    }
}

#[test]
fn paths() {
    check("steps.http_1.output.status_code", json!(200));
    check("steps['http_1'].output.body.items[1].name", json!("ink"));
    check("steps[\"send-mail\"].output", json!(1));
    check("steps.http_1.output.body.items[-1].price", json!(8));
    check("variables['c ' + 'd']", json!(1));
    check(
        "steps.http_1.output.body.items[variables.zero].name",
        json!("pen"),
    );
    check("{a: {b: 5}}.a.b", json!(5));
    check("[1, 2][1]", json!(2));
    check("parse_json('{\"a\": [7]}').a[0]", json!(7));
    fails("steps.http_1[true]", TypeError);
}

#[test]
fn optional_paths() {
    check("steps.nope?.output", Value::Null);
    check("steps.nope?.output.deeper[3].still", Value::Null);
    check("nope?.a", Value::Null);
    check("variables.null_value?.x", Value::Null);
    check("steps.http_1?.nope", Value::Null);
    check("variables?.['c d']", json!(1));
    check("steps.http_1.output.body.items?.[9]", Value::Null);
    check("steps.nope.output ?? 1", json!(1));
    check("variables.null_value ?? nope.x ?? 'last'", json!("last"));
    check("steps.nope.output | default('-')", json!("-"));
    check("steps.nope.output | upper | default('-')", json!("-"));
    check("default(steps.nope, 2)", json!(2));
    check("coalesce(nope, variables.null_value, 3)", json!(3));
    check("exists(steps.http_1.error)", json!(true));
    check("exists(steps.nope?.error)", json!(false));
    check(
        "get(steps, 'http_1.output.body.items[0].name')",
        json!("pen"),
    );
    check("get(steps, 'nope.x', 0)", json!(0));
    check("nope?.a ?? 1", json!(1));
    fails("true?.5:1", ExpressionError);
    fails("get(steps, 'nope.x')", UndefinedPath);
    fails("nope ?? also_nope", UndefinedPath);
    fails("(1 / 0) ?? 1", MathError);
}

#[test]
fn undefined_paths_say_what_where_and_what_else() {
    let explain = |text: &str| fails(text, UndefinedPath).to_string();
    assert_eq!(
        explain("steps.http_1.outptu.status_code == 200"),
        "`steps.http_1.outptu.status_code` is not defined: `steps.http_1` has no `outptu`; \
         did you mean `output`?"
    );
    assert_eq!(
        explain("vars.age"),
        "`vars.age` is not defined: there is no `vars`; \
        available: `steps`, `variables`, `input`, `secrets`"
    );
    assert!(explain("stesp.http_1").ends_with("did you mean `steps`?"));
    assert!(explain("steps.send_mail.output").ends_with("did you mean `[\"send-mail\"]`?"));
    assert!(explain("steps.send-mail.output").ends_with("did you mean `[\"send-mail\"]`?"));
    assert!(explain("variables.null_value.x").contains("`variables.null_value` is null"));
    assert!(explain("variables.age.x").contains("`variables.age` is a number"));
    assert!(explain("steps.http_1.output.body.items[2]").contains("has 2 elements"));
    assert!(explain("steps.http_1.output.body.items.name").contains("is a list"));
    assert!(explain("map(steps.http_1.output.body.items, i => i.pric)").contains("`i.pric`"));
    assert!(explain("variables.xyz").contains("available: `age`, `zero`"));
    assert!(explain("variables.__proto__").contains("has no `__proto__`"));
    assert!(explain("upper").contains("is a function"));
    let error = fails("1 + steps.http_1.nope.x", UndefinedPath);
    assert_eq!(error.span, Span::new(4, 21));
}

#[test]
fn arithmetic() {
    check("6 / 2", json!(3));
    check("7 / 2", json!(3.5));
    check("-7 / 2", json!(-3.5));
    check("7 % 3", json!(1));
    check("-9223372036854775808 % -1", json!(0));
    check("1 + 2 * 3 - 4", json!(3));
    check("(1 + 2) * 3", json!(9));
    check("- (1 + 2)", json!(-3));
    check("1.5 * 2", json!(3.0));
    check("0.1 + 0.2", json!(0.30000000000000004));
    check("0 * -1.5", json!(0.0));
    check("decimal('0.10') + decimal('0.20')", json!("0.30"));
    check("decimal('9.99') * 1.19", json!("11.8881"));
    check("decimal('10') / 4", json!("2.5"));
    check("'a' + 'b' + 'c'", json!("abc"));
    check("[1] + [2] + []", json!([1, 2]));
    for overflow in [
        "9223372036854775807 + 1",
        "-9223372036854775808 - 1",
        "9223372036854775807 * 2",
        "-9223372036854775808 / -1",
        "-(-9223372036854775807 - 1)",
        "1 / 0",
        "1 % 0",
        "1.0 / 0",
        "1e308 * 10",
        "decimal('1') / 0",
        "decimal('79228162514264337593543950335') + 1",
        "input.huge + 1",
        "-input.huge",
        "pow(10, 19)",
        "pow(0, -1)",
        "pow(-1, 0.5)",
        "abs(-9223372036854775808)",
        "avg([])",
        "min([])",
        "floor(1e300)",
    ] {
        fails(overflow, MathError);
    }
    let error = fails("'a' + 1", TypeError);
    assert!(error.hint.unwrap().contains("string(x)"));
    fails("'1' * 2", TypeError);
    fails("null + 1", TypeError);
    fails("-'a'", TypeError);
}

#[test]
fn comparisons() {
    for holds in [
        "1 == 1.0",
        "decimal('1.0') == 1",
        "decimal('0.1') == 0.1",
        "1 != '1'",
        "null == null",
        "[1, {a: 2, b: 3}] == [1.0, {b: 3, a: 2}]",
        "'a' < 'b'",
        "2 <= 2.0",
        "input.huge > 9223372036854775807",
        "input.huge == 18446744073709551615",
        "input.huge < 18446744073709551616.0",
        "input.big > 9007199254740992.0",
        "input.big != 9007199254740992.0",
        "9007199254740992.0 < input.big",
        "2 in [1, 2]",
        "3 not in [1, 2]",
        "'b' in 'abc'",
        "'age' in variables",
        "not 1 == 2",
        "not 3 in [1, 2]",
        "steps.http_1.output.body.items | len > 1",
        "1e300 > decimal('1')",
    ] {
        check(holds, json!(true));
    }
    fails("1 < 'a'", TypeError);
    fails("null < 1", TypeError);
    fails("[1] < [2]", TypeError);
    fails("1 in 2", TypeError);
}

#[test]
fn logic() {
    check("true && false || true", json!(true));
    check("true or false and false", json!(true));
    check("!true", json!(false));
    check("false && nope", json!(false));
    check("true || nope", json!(true));
    check("variables.age > 18 ? 'adult' : 'child'", json!("adult"));
    check("false ? nope : true ? 1 : 2", json!(1));
    for not_boolean in ["!1", "1 && true", "'' || true", "null ? 1 : 2", "not []"] {
        assert!(
            fails(not_boolean, TypeError).hint.is_some(),
            "{not_boolean}"
        );
    }
}

#[test]
fn unclear_precedence_asks_for_parentheses() {
    for unclear in [
        "1 < 2 < 3",
        "a == b == c",
        "a ?? b + 1",
        "a + b ?? 1",
        "'a' + 'b' | upper",
        "-1 | abs",
        "a ?? b | upper",
        "true ? 1 : 2 | string",
    ] {
        assert!(fails(unclear, ExpressionError).hint.is_some(), "{unclear}");
    }
    check("('a' + 'b') | upper", json!("AB"));
    check("'a' + ('b' | upper)", json!("aB"));
    check("'a' | upper | lower", json!("a"));
    check("[1] | len + 1", json!(2));
    check("(nope ?? 1) + 1", json!(2));
    check("nope ?? 3 > 2", json!(true));
    check("!(nope | default(false))", json!(true));
    check("!nope | default(false)", json!(true));
}

#[test]
fn arrow_functions() {
    check(
        "filter(steps.http_1.output.body.items, i => i.price > 10) | map(i => i.name)",
        json!(["pen"]),
    );
    check(
        "map(['a', 'b'], (x, i) => x + string(i))",
        json!(["a0", "b1"]),
    );
    check(
        "reduce([1, 2], [], (acc, x, i) => acc + [x * i])",
        json!([0, 2]),
    );
    check(
        "map([1, 2], x => map([10, 20], y => x * y))",
        json!([[10, 20], [20, 40]]),
    );
    check("map([1], steps => steps + 1)", json!([2]));
    check("map([1, 2], x => (x) + variables.age)", json!([26, 27]));
    check("[3, 1] | sort_by(x => -x)", json!([3, 1]));
    for misplaced in [
        "x => x",
        "[x => x]",
        "upper(x => x)",
        "map([1], 2)",
        "map([1], (a, b, c) => a)",
        "map([1], null => 1)",
        "map([1], () => 1)",
        "map([1])",
        "map(x => x, [1])",
    ] {
        fails(misplaced, ExpressionError);
    }
    fails("filter([1], x => x)", TypeError);
    fails("sort([1, 'a'])", TypeError);
}

#[test]
fn functions_at_their_edges() {
    check("'straße' | upper", json!("STRASSE"));
    check("len('äöü')", json!(3));
    check("substring('äöü', -2)", json!("öü"));
    check("substring('abc', 5)", json!(""));
    check("split('äb', '')", json!(["ä", "b"]));
    check("split('', ',')", json!([""]));
    check("join([])", json!(""));
    check("repeat('', 1000000000)", json!(""));
    check("first([])", Value::Null);
    check("range(3)", json!([0, 1, 2]));
    check("range(3, 0, -1)", json!([3, 2, 1]));
    check("range(5, 1)", json!([]));
    check(
        "range(9223372036854775806, 9223372036854775807)",
        json!([i64::MAX - 1]),
    );
    check(
        "range(-9223372036854775808, 9223372036854775807, 9223372036854775807)",
        json!([i64::MIN, -1, i64::MAX - 1]),
    );
    check("slice([1, 2, 3], -2)", json!([2, 3]));
    check("match('abc', '(x)|b')", json!(["b", null]));
    check("match('abc', 'x')", Value::Null);
    check(
        "matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '(a+)+$')",
        json!(false),
    );
    check(
        r"matches('é.x+1@mail.example.com', '^[\\w.+-]+@[\\w-]+\\.[\\w.]{2,12}$')",
        json!(true),
    );
    check("round(1.005, 2)", json!(1.01));
    check("round(2.5)", json!(3));
    check("round(-2.5)", json!(-3));
    check("round(decimal('2.345'), 2)", json!("2.35"));
    check("int(-2.9)", json!(-2));
    check("int(decimal('7.9'))", json!(7));
    check("number(' 18446744073709551615 ')", json!(u64::MAX));
    check("pow(2.0, 3)", json!(8.0));
    check("pow(decimal('1.1'), 2)", json!("1.21"));
    check(
        "group_by([1, 2, 1], x => x)",
        json!({"1": [1, 1], "2": [2]}),
    );
    check(
        "keys(from_entries(map(range(20), i => ['k' + string(i), i]))) | len",
        json!(20),
    );
    check(
        "from_entries(map(range(20), i => ['k' + string(i), i])).k17",
        json!(17),
    );
    check(
        "sort([2, 1.5, decimal('1.7'), 1])",
        json!([1, 1.5, "1.7", 2]),
    );
    check(
        "unique([{a: 1, b: 2}, {b: 2, a: 1}, '1', 1, decimal('1.0')])",
        json!([{"a": 1, "b": 2}, "1", 1]),
    );
    check("min('b', 'a')", json!("a"));
    check(
        "string(null) + string(decimal('1.10')) + string('x')",
        json!("null1.10x"),
    );
    check("regex_replace('aXbX', 'X', '-')", json!("a-b-"));
    for unusable in [
        "int('x')",
        "number('inf')",
        "number('nan')",
        "decimal('1.2.3')",
        "parse_json('{')",
        "date('yesterday')",
        "format_date(now(), '%Y', 'Nowhere/Land')",
        "add_duration(now(), 'soon')",
        "start_of(now(), 'aeon')",
        "matches('a', '(')",
        "base64_decode('%%')",
        "hex_decode('abc')",
        "url_decode('%zz')",
        "replace('a', '', 'b')",
        "repeat('a', -1)",
    ] {
        fails(unusable, ExpressionError);
    }
    for wrong in [
        "upper(1)",
        "len(1)",
        "sum(['a'])",
        "keys([])",
        "chunk([1], 'a')",
        "group_by([1], x => null)",
    ] {
        fails(wrong, TypeError);
    }
}

#[test]
fn dates() {
    check("now()", json!("2023-11-14T22:13:20.123456Z"));
    check("date('2024-02-29')", json!("2024-02-29T00:00:00Z"));
    check("date(1.5)", json!("1970-01-01T00:00:01.5Z"));
    check(
        "add_duration('2024-03-30T12:00:00Z', '1d', 'Europe/Berlin')",
        json!("2024-03-31T11:00:00Z"),
    );
    check(
        "add_duration('2024-03-30T12:00:00Z', '-1h30m')",
        json!("2024-03-30T10:30:00Z"),
    );
    check(
        "diff_seconds('2024-01-01T00:00:00.5Z', '2024-01-01')",
        json!(-0.5),
    );
    check(
        "start_of('2024-05-17T10:11:12.5Z', 'minute')",
        json!("2024-05-17T10:11:00Z"),
    );
    check(
        "start_of('2024-05-17', 'week')",
        json!("2024-05-13T00:00:00Z"),
    );
    check(
        "start_of('2024-05-17', 'day', 'America/New_York')",
        json!("2024-05-16T04:00:00Z"),
    );
    fails("add_duration(now(), '9000 years')", MathError);
    fails("from_unix(1e300)", MathError);
}

#[test]
fn uuids_are_repeatable_and_distinct() {
    let value = evaluate("[uuid(), uuid()]").unwrap();
    assert_eq!(value, evaluate("[uuid(), uuid()]").unwrap());
    assert_ne!(value[0], value[1]);
    let text = value[0].as_str().unwrap();
    assert!(
        text.len() == 36 && &text[14..15] == "8" && "89ab".contains(&text[19..20]),
        "{text}"
    );
}

#[test]
fn conditions_with_braces() {
    check(
        "{{steps.http_1.output.status_code}} == 200 && {{variables.age}} != \"x\"",
        json!(true),
    );
    check("{{ variables.age }}", json!(25));
    check(" {{ {a: {b: 1}} }} ", json!({"a": {"b": 1}}));
    check("{{{a: 1}}}.a", json!(1));
    check("{{variables.text}} == '{{' + 'secrets.x}}'", json!(true));
    for broken in ["{{a", "{{a}", "{{}}", "{{a}} {{b}}", "{{ {{a}} }}", "a }}"] {
        fails(broken, ExpressionError);
    }
}

#[test]
fn templates() {
    check_template("plain { } }} text", json!("plain { } }} text"));
    check_template("", json!(""));
    check_template("{{variables.age}}", json!(25));
    check_template(
        "{{ steps.http_1.output.body.items[1] }}",
        json!({"name": "ink", "price": 8, "tags": []}),
    );
    check_template(" {{variables.age}}", json!(" 25"));
    check_template(
        "a {{variables.null_value}} {{[1, 'x']}} {{'t'}}",
        json!("a null [1,\"x\"] t"),
    );
    check_template("{{'{{'}}x}}", json!("{{x}}"));
    check_template("{{'}}'}} {{\"a}}b\"}}", json!("}} a}}b"));
    check_template(
        "{\"a\":{\"b\":{{variables.age}}}}",
        json!("{\"a\":{\"b\":25}}"),
    );
    check_template("text {{variables.text}}", json!("text {{secrets.x}}"));
    check_template("{{decimal('0.10')}}", json!("0.10"));
    check_template("{{decimal('0.10')}} €", json!("0.10 €"));
    let plain = Template::compile("plain", Encoding::Text).unwrap();
    assert_eq!(plain.literal(), Some("plain"));
    assert_eq!(
        Template::compile("{{1}}", Encoding::Text)
            .unwrap()
            .literal(),
        None
    );
    for broken in ["{{", "{{a", "{{}}", "é {{ a b }}", "{{a}", "{{ {{a}} }}"] {
        let error = Template::compile(broken, Encoding::Text).unwrap_err();
        assert_eq!(error.code, ExpressionError, "{broken}");
        assert!(
            broken.get(error.span.start..error.span.end).is_some(),
            "{broken}"
        );
    }
}

#[test]
fn spans_count_bytes_of_the_whole_field() {
    let template = Template::compile("é {{ variables.age }}", Encoding::Text).unwrap();
    assert_eq!(template.references()[0].span, Span::new(6, 19));
    let error = render("é {{ variables.agee }}", Encoding::Text).unwrap_err();
    assert_eq!((error.code, error.span), (UndefinedPath, Span::new(6, 20)));
}

#[test]
fn urls() {
    check_url(
        "https://h/{{'a/b'}}?q={{'x&y=1'}}",
        "https://h/a%2Fb?q=x%26y%3D1",
    );
    check_url("https://h/{{'a/b' | raw}}", "https://h/a/b");
    check_url("https://h{{'/a?b' | raw}}", "https://h/a?b");
    check_url("{{'https://h/x'}}", "https://h/x");
    check_url("{{'https://h:80'}}/u/{{'é'}}", "https://h:80/u/%C3%A9");
    check_url(
        "https://{{'api.example.com:443'}}/{{1}}",
        "https://api.example.com:443/1",
    );
    check_url("https://h/{{'../../etc'}}", "https://h/..%2F..%2Fetc");
    check_url("https://h/a?x={{'..'}}", "https://h/a?x=..");
    check_url("https://h/{{'a\\r\\nb'}}", "https://h/a%0D%0Ab");
    for hostile in [
        "https://h/{{'..'}}/x",
        "https://h/{{'.'}}{{'.'}}",
        "https://h/%2E{{'.'}}?a",
        "https://h/{{'a\\r\\nb' | raw}}",
        "https://{{'a\\nb'}}/",
        "{{'https://h/\\n'}}",
        "https://h{{'@evil.example'}}",
        "https://h{{'/path'}}",
        "https://{{'h/x?y'}}/",
    ] {
        let error = render(hostile, Encoding::Url).unwrap_err();
        assert_eq!(error.code, ExpressionError, "{hostile}");
    }
}

#[test]
fn references() {
    let key = |name: &str| Segment::Key(name.to_owned());
    let expression =
        Expression::compile("steps.a[0]['b c'][i] + (x?.y ?? z) + map(l, v => v.w)").unwrap();
    let found: Vec<_> = expression
        .references()
        .iter()
        .map(|r| (r.path.clone(), r.optional))
        .collect();
    let expected = [
        (vec![key("i")], false),
        (
            vec![
                key("steps"),
                key("a"),
                Segment::Index(0),
                key("b c"),
                Segment::Dynamic,
            ],
            false,
        ),
        (vec![key("x"), key("y")], true),
        (vec![key("z")], false),
        (vec![key("l")], false),
    ];
    assert_eq!(found, expected);
    for (text, optional) in [
        ("a.b", false),
        ("a.b ?? 1", true),
        ("1 | default(a.b)", false),
        ("a.b | upper | default('')", true),
        ("exists(a.b)", true),
        ("coalesce(a.b)", true),
    ] {
        let expression = Expression::compile(text).unwrap();
        assert_eq!(expression.references()[0].optional, optional, "{text}");
    }
}

#[test]
fn compile_limits() {
    let many = |piece: &str, count: usize| piece.repeat(count);
    for (text, code) in [
        (many("(", 8_000), LimitExceeded),
        (many("[", 8_000), LimitExceeded),
        (many("{a:", 5_000), LimitExceeded),
        (many("!", 8_000), LimitExceeded),
        (many("-", 8_000), LimitExceeded),
        (many("not ", 4_000), LimitExceeded),
        (many("true?", 3_000), LimitExceeded),
        (many("true?1:", 2_000) + "1", LimitExceeded),
        (many("a[", 5_000), LimitExceeded),
        (many("len(", 4_000), LimitExceeded),
        (many("map([1],x=>", 1_000), LimitExceeded),
        ("1".to_owned() + &many("|abs", 40), LimitExceeded),
        ("1".to_owned() + &many("+1", 2_000), LimitExceeded),
        ("a".to_owned() + &many(".a", 2_000), LimitExceeded),
        (many("(", 100_000), LimitExceeded),
        (many("x", 1_000_000), LimitExceeded),
    ] {
        let error = Expression::compile(&text).unwrap_err();
        assert_eq!(error.code, code, "{}", &text[..20]);
    }
    check(&("1".to_owned() + &many("+1", 900)), json!(901));
    check(&(many("(", 31) + "1" + &many(")", 31)), json!(1));
    let long = format!("{{{{'{}'}}}}", many("x", 20_000));
    assert_eq!(
        Template::compile(&long, Encoding::Text).unwrap_err().code,
        LimitExceeded
    );
    let long = many("x", 70_000);
    assert_eq!(render(&long, Encoding::Text).unwrap(), json!(long));
    let error = Template::compile(&(long + "{{1}}"), Encoding::Text).unwrap_err();
    assert_eq!(error.code, LimitExceeded);
}

#[test]
fn run_limits() {
    for greedy in [
        "repeat('a', 1000000000)",
        "repeat('ab', 9223372036854775807)",
        "pad_start('a', 1000000000)",
        "pad_end('a', 9223372036854775807, 'é')",
        "range(1000000000)",
        "range(-9223372036854775808, 9223372036854775807)",
        "map(range(1000), x => map(range(1000), y => y))",
        "reduce(range(100), 'a', (acc, x) => acc + acc)",
        "reduce(range(100), [1], (acc, x) => acc + acc)",
        "reduce(range(1000), [], (acc, x) => [acc])",
        "reduce(range(1000), {}, (acc, x) => {a: acc})",
        "reduce(range(100), 'a', (acc, x) => replace(acc, 'a', 'aa'))",
        "reduce(range(100), 'a', (acc, x) => regex_replace(acc, 'a', '$0$0'))",
        "reduce(range(100), 'a', (acc, x) => join([acc, acc]))",
        "join(map(range(100), x => repeat('a', 100000)))",
        "map(range(1000), x => repeat('a', 100000))",
        "reduce(range(64), 'a', (acc, x) => json([acc, acc]))",
        "map(range(1000), x => matches('a', string(x)))",
        "matches('a', '\\\\w{1000}{100}')",
        "matches('a', 'a{1,1000}{1,1000}')",
        "parse_json(repeat('[', 65) + repeat(']', 65))",
        "parse_json(repeat('[', 100000))",
        "format_date(now(), repeat('%255Y', 10000))",
        "map(range(90000), x => 'x' in repeat('a', 1000))",
    ] {
        fails(greedy, LimitExceeded);
    }
    // Shared while evaluating, and paid for when it is written out.
    let shared = "reduce(range(30), 'aaaaaaaaaa', (acc, x) => [acc, acc])";
    fails(shared, LimitExceeded);
    check(
        "reduce(range(63), 0, (acc, x) => [acc]) | json | len",
        json!(127),
    );
    check(
        "len(parse_json(repeat('[', 64) + repeat(']', 64)))",
        json!(1),
    );
    let error = fails("range(1000000000)", LimitExceeded);
    assert!(error.message.contains("expression_steps"), "{error}");
}

#[test]
fn policy_of_parse_json() {
    let cases = include_str!("../../../../tests/json_policy.json");
    for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
        let Value::Object(roots) = json!({"t": case["text"]}) else {
            unreachable!()
        };
        let scope = Scope::new(&roots, 0, "exec-1", 1);
        let read = Expression::compile("parse_json(t)").unwrap();
        let read = read.evaluate(&scope, &mut Meter::default());
        match (case.get("kept"), read) {
            (Some(kept), read) => assert_eq!(read.as_ref(), Ok(kept), "{case}"),
            (None, Err(error)) => {
                let limit = case["refused"] == "Depth";
                assert_eq!(error.code == LimitExceeded, limit, "{case}: {error}");
                assert!(limit || error.message.contains("line 1"), "{case}: {error}");
            }
            (None, Ok(value)) => panic!("{case} is taken as {value}"),
        }
    }
}

#[test]
fn hostile_code_is_just_a_syntax_error_or_a_missing_path() {
    for hostile in [
        "constructor.constructor('return process')()",
        "[].map.constructor('x')()",
        "`${1}`",
        "[...a]",
        "a => a",
        "this.x = 1",
        "a; b",
    ] {
        fails(hostile, ExpressionError);
    }
    fails("variables['__pro' + 'to__']", UndefinedPath);
    fails("[].constructor", UndefinedPath);
    fails("constructor", UndefinedPath);
}

#[test]
fn errors_do_not_print_operands() {
    for leaky in [
        "secrets.token + 1",
        "secrets.token < 1",
        "!secrets.token",
        "int(secrets.token)",
        "date(secrets.token)",
        "parse_json(secrets.token)",
        "variables[secrets.token]",
        "get(variables, secrets.token)",
        "matches('a', secrets.token + '(')",
        "format_date(now(), '%Y', secrets.token)",
        "add_duration(now(), secrets.token)",
        "start_of(now(), secrets.token)",
        "base64_decode(secrets.token)",
        "hex_decode(secrets.token)",
        "decimal(secrets.token)",
        "secrets.token.x",
        "len(1, secrets.token)",
        "sort([1, secrets.token])",
    ] {
        let error = evaluate(leaky).expect_err(leaky);
        assert!(!format!("{error:?}").contains("CANARY"), "{leaky}: {error}");
    }
}

#[test]
fn unknown_functions_and_methods() {
    let hint = |text| fails(text, ExpressionError).hint.unwrap_or_default();
    assert_eq!(hint("uper('a')"), "did you mean `upper`?");
    assert!(hint("'a'.upper()").contains("upper(a)"));
    assert!(hint("'a' | uper").contains("`upper`"));
    assert!(hint("upper()").contains("upper(text)"));
    assert!(hint("a | 1").contains("||"));
}

#[test]
fn compiled_forms_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Expression>();
    shared::<Template>();
}
