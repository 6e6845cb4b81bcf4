//! Every example runs to the end that its comment promises.

use serde_json::{Value, json};

use crate::support::{Dev, example, folder, pawl};

fn run(name: &str, input: Option<Value>, code: i32) -> Value {
    let folder = folder();
    let file = example(name);
    let mut arguments = vec![
        "run".to_owned(),
        file.display().to_string(),
        "--json".to_owned(),
    ];
    arguments.extend(input.map(|input| format!("--input={input}")));
    pawl(folder.path(), &arguments).expect(code).json()
}

fn check(name: &str, input: Option<Value>, output: Value) {
    let run = run(name, input, 0);
    assert_eq!(
        (&run["status"], &run["output"]),
        (&json!("completed"), &output),
        "{name}: {run:#}"
    );
}

#[test]
fn order_check() {
    check(
        "order-check",
        None,
        json!({"ship": true, "order": 1001, "total": "506 EUR"}),
    );
    check(
        "order-check",
        Some(json!({"order_id": 1005})),
        json!({"ship": false, "reason": "the order is cancelled"}),
    );
    let missing = json!({"ship": false, "reason": "the order could not be read"});
    check("order-check", Some(json!({"order_id": 77777})), missing);
}

#[test]
fn webhooks_without_a_caller() {
    check(
        "webhook-quote",
        None,
        json!({"customer": "nobody", "total": 25}),
    );
    check("webhook-order", None, json!({"shipped": false}));
}

#[test]
fn code_totals() {
    let lines = json!([
        {"sku": "desk-0", "cents": 18900}, {"sku": "chair-1", "cents": 14900}, {"sku": "rug-2", "cents": 16800},
    ]);
    check("code-totals", None, json!({"lines": lines, "total": 50600}));
}

#[test]
fn polling_loop() {
    check("polling-loop", None, json!({"rows": 42, "tries": 3}));
    let impatient = run("polling-loop", Some(json!({"max_tries": 2})), 1);
    assert_eq!(impatient["error"]["code"], "JOB_TOO_SLOW", "{impatient:#}");
}

#[test]
fn approval_without_an_answer() {
    check(
        "approval",
        None,
        json!({"approved": false, "by": "nobody answered in time"}),
    );
    check(
        "approval",
        Some(json!({"amount": 5})),
        json!({"approved": true, "by": "rule: small amounts"}),
    );
}

#[test]
fn approval_with_an_answer() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let input = r#"--input={"amount": 900, "patience": "1h"}"#;
    let started = dev
        .ask(
            folder.path(),
            &["executions", "start", "approval", "--json", input],
        )
        .expect(0)
        .json();
    let id = started["id"].as_str().unwrap();
    let payload = r#"--payload={"by": "ada", "approved": true}"#;
    dev.ask(
        folder.path(),
        &["executions", "signal", id, "approved", payload],
    )
    .expect(0);
    let (_, ended) = dev.get(&format!("/api/executions/{id}?wait=10s"));
    assert_eq!(
        ended["output"],
        json!({"approved": true, "by": "ada"}),
        "{ended:#}"
    );
}

#[test]
fn nightly_report() {
    let report = run("nightly-report", None, 0);
    assert_eq!(report["output"]["best_seller"], "chair", "{report:#}");
    let regions = &report["output"]["report"]["cents_by_region"];
    assert_eq!(
        *regions,
        json!({"north": 104_580, "south": 79_550, "west": 0})
    );
    assert_eq!(report["output"]["report"]["units"], 28);
}

#[test]
fn flaky_payment() {
    let paid = run("flaky-payment", Some(json!({"amount": "12.00"})), 0);
    assert_eq!(paid["output"]["amount"], "12.00", "{paid:#}");
    assert_eq!(
        (
            &paid["output"]["booked_payments"],
            &paid["output"]["requests_sent"]
        ),
        (&json!(1), &json!(3))
    );
    let step = paid["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["node_id"] == "pay")
        .unwrap()
        .clone();
    let codes: Vec<&Value> = step["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|try_| &try_["error"]["code"])
        .collect();
    assert_eq!(
        codes,
        [&json!("HTTP_STATUS"), &json!("HTTP_STATUS"), &Value::Null]
    );
}

#[test]
fn switch_routing() {
    for (input, team, case) in [
        (
            json!({"kind": "refund", "amount": 1500}),
            "managers",
            "large_refund",
        ),
        (json!({"kind": "refund", "amount": 20}), "billing", "refund"),
        (json!({"kind": "bug"}), "developers", "bug"),
        (json!({"kind": "poem"}), "support", "default"),
        (json!({}), "support", "default"),
    ] {
        check(
            "switch-routing",
            Some(input),
            json!({"team": team, "case": case}),
        );
    }
}

#[test]
fn math_invoice() {
    let exact = json!({"pieces": 6, "net": "290.28", "tax": "55.15", "gross": "345.43"});
    check("math-invoice", None, exact);
    let cents = json!({"lines": [{"count": 3, "price": "0.10"}], "vat": "0.19"});
    check(
        "math-invoice",
        Some(cents),
        json!({"pieces": 3, "net": "0.30", "tax": "0.06", "gross": "0.36"}),
    );
}

#[test]
fn transform_data() {
    let summary = run("transform-data", None, 0);
    let output = &summary["output"];
    assert_eq!(output["names"], "ADA, ALAN, GRACE", "{summary:#}");
    assert_eq!(output["cities"], json!(["London", "New York"]));
    assert_eq!(output["by_city"]["London"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&output["oldest"], &output["average_age"]),
        (&json!("Grace"), &json!(54))
    );
}

#[test]
fn onboarding() {
    let gold = json!({"to": "barbara@example.com", "sent": ["welcome", "tips", "gift"]});
    check("onboarding", None, gold);
    let silver = json!({"to": "alan@example.com", "sent": ["welcome", "tips"]});
    check(
        "onboarding",
        Some(json!({"customer_id": 4, "pause": "10ms"})),
        silver,
    );
}

#[test]
fn one_per_customer() {
    let order = json!({"customer": "ACME", "order": 17});
    check("one-per-customer", Some(order), json!({"order": 17}));
}

#[test]
fn error_handling() {
    check(
        "error-handling",
        None,
        json!({"price": 10, "weather_error": "HTTP_STATUS", "price_error": 404}),
    );
    let strict = run("error-handling", Some(json!({"strict": true})), 1);
    assert_eq!(strict["error"]["code"], "NO_LIVE_PRICE", "{strict:#}");
}

#[test]
fn all_validate_without_a_word() {
    let folder = folder();
    let examples = example("approval").parent().unwrap().to_owned();
    let checked = pawl(
        folder.path(),
        &["validate", "--json", examples.to_str().unwrap()],
    )
    .expect(0);
    assert_eq!(checked.json(), json!([]));
}
