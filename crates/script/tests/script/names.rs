//! What code finds in its realm.

use serde_json::{Value, json};

use super::{NOW_MS, assert_value, bare, document, job, pool, run};

/// Seed 003, scenario 3.1, step 2, as it stands.
const SEED: &str = r"
const { atom_exists, prompt_exists, atom_text, prompt, issues_context } = $input.item.json;

if (!atom_exists) {
  return { json: { error: 'NOT_FOUND', message: 'Target atom not found' } };
}

if (!prompt_exists) {
  return { json: { error: 'NOT_FOUND', message: 'Active prompt not found for role_key' } };
}

let finalPrompt = prompt.template.replace('{{content}}', atom_text);

if (issues_context && issues_context.length > 0) {
  const issuesText = issues_context
    .map(i => `- [${String(i.severity).toUpperCase()}] ${i.description}`)
    .join('\n');
  finalPrompt = finalPrompt.replace('{{issues_context}}', issuesText);
}

return {
  json: {
    model: prompt.model_config.model,
    temperature: prompt.model_config.temperature,
    prompt: finalPrompt,
    response_format: prompt.model_config.response_format,

    // tracking
    prompt_id: prompt._id,
    target_atom_id: $('Webhook').item.json.target_atom_id,
    request_id: $execution.id
  }
};
";

async fn run_seed(loaded: Value) -> Value {
    let mut data = document();
    data.context.to_mut()["steps"]["load_1"]["output"] = loaded;
    pool().run(job(SEED, data)).await.unwrap().value
}

#[tokio::test]
async fn the_code_of_the_seed_runs_as_it_stands() {
    let prompt = json!({
        "_id": "prompts/9", "template": "Look at {{content}}\n{{issues_context}}",
        "model_config": {"model": "llama", "temperature": 0.2, "response_format": "json"},
    });
    let issues = json!([{"severity": "high", "description": "wrong"}, {"severity": "low", "description": "ugly"}]);
    let loaded = json!({
        "atom_exists": true, "prompt_exists": true, "atom_text": "text", "prompt": prompt, "issues_context": issues,
    });
    assert_eq!(
        run_seed(loaded).await,
        json!({
            "model": "llama", "temperature": 0.2, "prompt": "Look at text\n- [HIGH] wrong\n- [LOW] ugly",
            "response_format": "json", "prompt_id": "prompts/9", "target_atom_id": "atom_1", "request_id": "exec-1",
        })
    );
    assert_eq!(
        run_seed(json!({"atom_exists": false})).await,
        json!({"error": "NOT_FOUND", "message": "Target atom not found"})
    );
    assert_eq!(
        run_seed(json!({"atom_exists": true, "prompt_exists": false})).await["message"],
        "Active prompt not found for role_key"
    );
}

#[tokio::test]
async fn every_name_of_n8n_gives_its_data() {
    for (source, expected) in [
        ("$input.item.json.total", json!(5)),
        ("$json.total", json!(5)),
        ("$input.first().json.total", json!(5)),
        ("$input.last().json.total", json!(5)),
        ("$input.all().length", json!(1)),
        ("$('load_1').item.json.total", json!(5)),
        ("$('Load order').first().json.total", json!(5)),
        ("$('first').all().map(i => i.json.a)", json!([1, 2, 3])),
        ("$('first').first().json.a", json!(1)),
        ("$('first').last().json.a", json!(3)),
        ("$('first').item.json.length", json!(3)),
        ("$node['load_1'].json.total", json!(5)),
        ("$node.first.json[1].a", json!(2)),
        ("$('Webhook').item.json.params.id", json!("3")),
        (
            "[$execution.id, $execution.schema, $execution.version]",
            json!(["exec-1", "order-check", 3]),
        ),
    ] {
        let answer = run(&format!("return {source}")).await;
        assert_eq!(answer.unwrap().value, expected, "{source}");
    }
}

#[tokio::test]
async fn the_context_is_there_under_the_names_of_expressions() {
    let source = "return [webhook.payload.target_atom_id, input.n, user.email, execution.id, variables.user_age,
        env.region, steps.load_1.output.total, steps.first.status, Object.keys(steps)]";
    assert_value(
        run(source).await,
        json!([
            "atom_1",
            1,
            "user@example.com",
            "exec-1",
            25,
            "eu",
            5,
            "success",
            ["first", "load_1"]
        ]),
    );
}

#[tokio::test]
async fn secrets_are_nowhere() {
    let source = "return [typeof secrets, typeof globalThis.secrets, JSON.stringify([steps, env, $json]).includes('hush')]";
    assert_value(run(source).await, json!(["undefined", "undefined", false]));
}

#[tokio::test]
async fn the_context_cannot_be_changed_but_the_items_can() {
    let source = "
        variables.user_age = 1; steps.load_1.output.total = 1; delete steps.first;
        let refused = 0;
        (function () { 'use strict'; try { steps.load_1.output.list.push(3) } catch { refused++ } })();
        for (const item of $input.all()) item.json.added = true;
        return [variables.user_age, steps.load_1.output.total, typeof steps.first, refused, $json]";
    assert_value(
        run(source).await,
        json!([25, 5, "object", 1, {"total": 5, "list": [1, 2], "added": true}]),
    );
}

#[tokio::test]
async fn names_of_ours_can_be_used_for_variables() {
    let source = "const steps = 1; let input = 2; user = 3; for (item of [4]) ; return [steps, input, user, item]";
    assert_value(run(source).await, json!([1, 2, 3, 4]));
}

#[tokio::test]
async fn an_unknown_node_is_an_error_that_names_it() {
    let error = run("return $('Nobody').item.json").await.unwrap_err();
    assert_eq!(error.code.name(), "CODE_ERROR");
    assert!(error.message.contains("`Nobody`"), "{}", error.message);
    assert_eq!((error.line, error.column.is_some()), (Some(1), true));
}

#[tokio::test]
async fn an_impossible_name_is_no_name_of_a_node() {
    for source in [
        "$('\\ud800')",
        "$('x'.repeat(2e6))",
        "$node['a\\udc00b']",
        "$('😀'.repeat(50) + '\\ud83d' + 'x'.repeat(1000))",
    ] {
        let error = run(&format!("return {source}")).await.unwrap_err();
        assert_eq!(error.code.name(), "CODE_ERROR", "{source}: {error}");
        assert!(
            error.message.contains("no output of a node"),
            "{source}: {error}"
        );
        assert!(error.message.len() < 1_000, "{source}: {error}");
    }
}

#[tokio::test]
async fn now_is_the_time_of_entry_in_every_form() {
    let source = "return [$now.toISO(), $now.toISOString(), `${$now}`, $now.toMillis(), +$now, $now.toISODate(),
        $now.plus({minutes: 5}).toISO(), $now.minus({ days: 1, hour: 1 }).toISO(), $now.plus({months: 3}).minus({months: 1}).toISO(),
        [$now.year, $now.month, $now.day, $now.hour, $now.weekday], $now instanceof Date, $now]";
    let iso = "2026-11-16T05:00:00.250Z";
    assert_value(
        run(source).await,
        json!([
            iso,
            iso,
            iso,
            NOW_MS,
            NOW_MS,
            "2026-11-16",
            "2026-11-16T05:05:00.250Z",
            "2026-11-15T04:00:00.250Z",
            "2027-01-16T05:00:00.250Z",
            [2026, 11, 16, 5, 1],
            true,
            iso,
        ]),
    );
}

#[tokio::test]
async fn no_way_leads_to_the_real_clock() {
    for source in [
        "$now.constructor.now()",
        "+new $now.constructor()",
        "Object.getPrototypeOf($now.constructor).now()",
        "+new (Object.getPrototypeOf($now.constructor))()",
        "$now.toJSDate().constructor.now()",
        "$now.plus({days: 0}).constructor.now()",
        "Object.getPrototypeOf(Object.getPrototypeOf($now)).constructor.now()",
        "Date.prototype.constructor.now()",
        "(() => { const date = new Date(); return $now.toMillis() })()",
        "(() => { Date.prototype.constructor = null; return +new $now.constructor() })()",
        "Reflect.construct(Object, [], $now.constructor) && $now.constructor.now()",
    ] {
        assert_eq!(
            run(&format!("return {source}")).await.unwrap().value,
            json!(NOW_MS),
            "{source}"
        );
    }
}

#[tokio::test]
async fn a_month_later_is_the_last_day_of_a_shorter_month() {
    let mut late =
        bare("return [$now.plus({month: 1}).toISO(), $now.plus({years: 1, months: 1}).toISO()]");
    late.entered_at_ms = 1_706_659_200_000; // 2024-01-31
    assert_value(
        pool().run(late).await,
        json!(["2024-02-29T00:00:00.000Z", "2025-02-28T00:00:00.000Z"]),
    );
    let error = run("return $now.plus({fortnights: 1})").await.unwrap_err();
    assert!(error.message.contains("`fortnights`"), "{}", error.message);
}

#[tokio::test]
async fn time_and_chance_are_the_same_in_every_run() {
    let source = "return [Date.now(), +new Date(), new Date(0).toISOString(), new Date(2026, 0, 2, 3).toISOString(),
        Date().slice(0, 15), Math.random(), Math.random(), new Date() instanceof Date, (new Date()).constructor === Date,
        new Date().getTimezoneOffset(), Date.UTC(2020, 0)]";
    let pool = pool();
    let first = pool.run(bare(source)).await.unwrap().value;
    let again = pool.run(bare(source)).await.unwrap().value;
    assert_eq!(first, again);
    assert_eq!(first[0], NOW_MS);
    assert_eq!(first[1], NOW_MS);
    assert_eq!(first[2], "1970-01-01T00:00:00.000Z");
    assert_eq!(first[3], "2026-01-02T03:00:00.000Z");
    assert_eq!(first[4], "Mon Nov 16 2026");
    let (one, two) = (first[5].as_f64().unwrap(), first[6].as_f64().unwrap());
    assert!((0.0..1.0).contains(&one) && (0.0..1.0).contains(&two) && one != two);
    assert_eq!(first[7], true);
    assert_eq!(first[8], true);
    assert_eq!(first[9], 0);
    let mut other = bare(source);
    other.seed = 8;
    assert_ne!(pool.run(other).await.unwrap().value[5], first[5]);
}

#[tokio::test]
async fn random_numbers_are_spread_evenly() {
    let source = "const b = Array(10).fill(0); for (let i = 0; i < 10000; i++) b[Math.floor(Math.random() * 10)]++; return b";
    let counts = pool().run(bare(source)).await.unwrap().value;
    for count in counts.as_array().unwrap() {
        assert!((850..1150).contains(&count.as_u64().unwrap()), "{counts}");
    }
}

#[tokio::test]
async fn console_output_comes_with_levels() {
    let source = "console.log('a', 1, {b: [true, null]}); console.info(undefined); console.warn(5n, new TypeError('x'));
        console.error(() => 1, Symbol('s')); console.debug('end'); return 1";
    let answer = run(source).await.unwrap();
    let lines: Vec<String> = answer
        .logs
        .iter()
        .map(|line| format!("{:?} {}", line.level, line.message))
        .collect();
    assert_eq!(
        lines,
        [
            r#"Info a 1 {"b":[true,null]}"#,
            "Info undefined",
            "Warn 5n TypeError: x",
            "Error [function] [symbol]",
            "Debug end",
        ]
    );
}
