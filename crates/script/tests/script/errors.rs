//! Where an error is, in what its author wrote.

use super::{bare, document, job, pool, run};

async fn place(source: &str) -> (&'static str, Option<u32>, Option<u32>, String) {
    let error = run(source).await.unwrap_err();
    (error.code.name(), error.line, error.column, error.message)
}

#[tokio::test]
async fn a_thrown_error_has_line_column_name_and_stack() {
    let source = "const a = 1;\n\nfunction broken(x) {\n  return x.y.z;\n}\nreturn broken({});";
    let error = run(source).await.unwrap_err();
    assert_eq!(error.code.name(), "CODE_ERROR");
    assert_eq!(error.name.as_deref(), Some("TypeError"));
    assert_eq!((error.line, error.column), (Some(4), Some(10)));
    assert_eq!(error.stack, ["broken (4:10)", "<anonymous> (6:8)"]);
    assert!(error.message.contains("undefined"), "{}", error.message);
    assert_eq!(place("throw new Error('x')").await.1, Some(1));
}

#[tokio::test]
async fn an_error_after_an_await_has_its_line() {
    let (code, line, _, message) =
        place("await null;\nawait 1;\nthrow new RangeError('late')").await;
    assert_eq!(
        (code, line, message.as_str()),
        ("CODE_ERROR", Some(3), "late")
    );
}

#[tokio::test]
async fn errors_are_where_they_are_in_any_alphabet() {
    let (_, line, column, _) = place("const жук = '🪲'; нет()").await;
    assert_eq!((line, column), (Some(1), Some(18)));
}

#[tokio::test]
async fn syntax_errors_have_line_and_column() {
    for (source, line, column) in [
        ("let a = 1;\nlet b = = 2;", 2, 9),
        ("let a = ;", 1, 9),
        ("return {", 1, 9),
        ("if (1) {\n  let a = 'x\n}", 2, 11),
        ("let a = 1; let a = 2;", 1, 18),
        ("x\0y", 1, 2),
    ] {
        let (code, at_line, at_column, message) = place(source).await;
        assert_eq!(
            (code, at_line, at_column),
            ("CODE_SYNTAX", Some(line), Some(column)),
            "{source:?}: {message}"
        );
    }
}

#[tokio::test]
async fn code_cannot_leave_the_function_around_it() {
    let pool = pool();
    for source in ["}), (function () { return 5", "} + function () {"] {
        let error = pool.run(bare(source)).await.unwrap_err();
        assert_eq!(error.code.name(), "CODE_SYNTAX", "{source}: {error}");
    }
    let long = pool.run(bare(&" ".repeat(10 << 20))).await.unwrap_err();
    assert!(long.message.contains("1048576"), "{long}");
    assert_eq!(long.code.name(), "CODE_SYNTAX");
}

#[tokio::test]
async fn anything_can_be_thrown() {
    for (source, expected) in [
        ("throw null", "null was thrown"),
        ("throw undefined", "undefined was thrown"),
        ("throw 'text'", "text was thrown"),
        ("throw {a: 1}", r#"{"a":1} was thrown"#),
        (
            "throw {toString() { throw 1 }, toJSON() { throw 2 }}",
            "was thrown",
        ),
        ("throw Object.create(null)", "{} was thrown"),
        (
            "const e = new Error('m'); Object.defineProperty(e, 'message', {get() { throw 1 }}); throw e",
            "Error",
        ),
        ("throw new Error('')", "Error"),
        ("return Promise.reject(new Error('rejected'))", "rejected"),
        ("return {get a() { throw new Error('getter') }}", "getter"),
        ("return {toJSON() { throw new Error('toJSON') }}", "toJSON"),
        ("Error.prepareStackTrace = () => { throw 1 }; null.x", ""),
        (
            "await new Promise(() => {})",
            "promise that nothing will settle",
        ),
        ("return import('fs')", ""),
    ] {
        let (code, _, _, message) = place(source).await;
        assert_eq!(code, "CODE_ERROR", "{source}: {message}");
        assert!(message.contains(expected), "{source}: {message}");
    }
    let long = run("throw new Error('x'.repeat(10_000_000))")
        .await
        .unwrap_err();
    assert!(long.message.len() < 5_000);
}

#[tokio::test]
async fn what_was_logged_before_a_failure_is_kept() {
    let pool = pool();
    let error = pool
        .run(bare("console.log('one'); throw new Error('two')"))
        .await
        .unwrap_err();
    assert_eq!(error.logs[0].message, "one");
    let mut stuck = job("console.log('before'); new Array(2e8) + ''", document());
    stuck.time = Some(std::time::Duration::from_millis(100));
    let error = pool.run(stuck).await.unwrap_err();
    assert_eq!(error.logs[0].message, "before", "{error}");
}
