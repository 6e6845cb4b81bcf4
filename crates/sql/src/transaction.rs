//! One transaction from its first statement to its last, the same on every database.
//!
//! The row in `pawl_applied` comes first: the transaction that holds it does the work, another with the same key waits
//! for the end of that and takes the result that was stored. It is filled in last, in the same transaction, so that
//! there is never an effect without its result nor a result without its effect.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::node::{NodeError, PayloadLimits};
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::guard::Problem;
use crate::lexer::Dialect;
use crate::placeholders::CompiledStatement;
use crate::plan::{Plan, Statement};
use crate::results::{Budget, Rows, all_items, depth_exceeds};
use crate::script::{Scope, Script};

/// Items of a `for_each` that are sent without waiting for the answers before.
const CHUNK: usize = 64;

/// What is to be done, once.
#[derive(Clone)]
pub struct Work {
    /// The name of a connection.
    pub connection: String,
    pub plan: Arc<Plan>,
    pub script: Arc<dyn Script>,
    /// The same for every try of the same visit. Only a readonly plan can do without.
    pub effect_key: Option<String>,
    /// From now to the answer, tries and waiting included.
    pub time_limit: Duration,
    pub limits: PayloadLimits,
}

/// It is committed.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionReport {
    pub output: Value,
    /// It had been done before; the output was stored then.
    pub replayed: bool,
}

/// Is this key new?
pub(crate) enum Claim {
    Taken,
    /// An earlier run was here before and left this.
    Stored(Option<String>),
}

/// A transaction that has begun.
pub(crate) trait Session: Send {
    const DIALECT: Dialect;

    fn claim(&mut self, key: &str) -> impl Future<Output = Result<Claim, Fault>> + Send;

    /// Runs one statement for each list of values; the error says for which.
    fn run(
        &mut self,
        statement: &CompiledStatement,
        lists: Vec<Vec<Value>>,
        budget: &Budget,
    ) -> impl Future<Output = Result<Vec<Rows>, (usize, Fault)>> + Send;

    fn fill(&mut self, key: &str, result: &str) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// Everything between BEGIN and COMMIT.
pub(crate) async fn carry_out<S: Session>(
    session: &mut S,
    work: &Work,
    budget: &Budget,
) -> Result<TransactionReport, Fault> {
    let key = work.key()?;
    if let Some(key) = key
        && let Claim::Stored(result) = session.claim(key).await?
    {
        return stored(result);
    }
    let mut results = Map::new();
    for (index, statement) in work.plan.statements.iter().enumerate() {
        let result = run_statement(session, work, index, statement, &results, budget).await?;
        results.insert(statement.id.clone(), result);
        work.script.expect(index, &results)?;
    }
    let output = work.script.output(&results)?;
    let text = checked(&output, work.limits)?;
    if let Some(key) = key {
        session.fill(key, &text).await?;
    }
    Ok(TransactionReport {
        output,
        replayed: false,
    })
}

impl Work {
    /// The row to claim, if there is one.
    fn key(&self) -> Result<Option<&str>, NodeError> {
        if self.plan.readonly {
            return Ok(None);
        }
        match self.effect_key.as_deref() {
            Some(key) => Ok(Some(key)),
            None => Err(NodeError::new(
                "NO_EFFECT_KEY",
                "a transaction that writes was started without an effect key; this is a bug in Pawl",
            )),
        }
    }
}

fn stored(result: Option<String>) -> Result<TransactionReport, Fault> {
    let damaged = || {
        Fault::from(NodeError::new(
            "SQL_ERROR",
            "the result stored in `pawl_applied` for this step cannot be read: it was changed",
        ))
    };
    let text = result.ok_or_else(damaged)?;
    Ok(TransactionReport {
        output: serde_json::from_str(&text).map_err(|_| damaged())?,
        replayed: true,
    })
}

async fn run_statement<S: Session>(
    session: &mut S,
    work: &Work,
    index: usize,
    statement: &Statement,
    results: &Map<String, Value>,
    budget: &Budget,
) -> Result<Value, Fault> {
    let text = statement
        .text(S::DIALECT)
        .map_err(|problem| Fault::from(invalid(problem)).in_statement(&statement.id, None))?;
    let call = Call {
        work,
        index,
        id: &statement.id,
        text,
        results,
        budget,
    };
    match work.script.for_each(index, results)? {
        None => {
            let rows = call.run(session, &[None], 0).await?;
            let only = rows.into_iter().next().unwrap_or_default();
            Ok(only.into_value())
        }
        Some(items) => {
            budget.check_items(items.len())?;
            let items: Vec<Option<Value>> = items.into_iter().map(Some).collect();
            let mut all = Vec::with_capacity(items.len());
            for (number, chunk) in items.chunks(CHUNK).enumerate() {
                all.extend(call.run(session, chunk, number * CHUNK).await?);
            }
            Ok(all_items(all))
        }
    }
}

/// One statement of the work.
struct Call<'a> {
    work: &'a Work,
    index: usize,
    id: &'a str,
    text: &'a CompiledStatement,
    results: &'a Map<String, Value>,
    budget: &'a Budget,
}

impl Call<'_> {
    /// For some items, the first of which has this number; no item means no `for_each`.
    async fn run<S: Session>(
        &self,
        session: &mut S,
        items: &[Option<Value>],
        first: usize,
    ) -> Result<Vec<Rows>, Fault> {
        let number = |offset: usize| items[offset].is_some().then_some(first + offset);
        let mut lists = Vec::with_capacity(items.len());
        for (offset, item) in items.iter().enumerate() {
            lists.push(self.values(item.as_ref(), number(offset))?);
        }
        session
            .run(self.text, lists, self.budget)
            .await
            .map_err(|(offset, fault)| fault.in_statement(self.id, number(offset)))
    }

    fn values(&self, item: Option<&Value>, index: Option<usize>) -> Result<Vec<Value>, Fault> {
        let scope = Scope {
            results: self.results,
            item,
            index,
        };
        let params = self.work.script.params(self.index, &scope)?;
        let place = |error: NodeError| Fault::from(error).in_statement(self.id, index);
        let values = self
            .text
            .slots
            .arrange(params)
            .map_err(|problem| place(invalid(&problem)))?;
        let depth = self.work.limits.depth;
        match values.iter().position(|value| depth_exceeds(value, depth)) {
            None => Ok(values),
            Some(at) => Err(place(NodeError::new(
                "LIMIT_EXCEEDED",
                format!("parameter {} is nested deeper than {depth}", at + 1),
            ))),
        }
    }
}

fn invalid(problem: &Problem) -> NodeError {
    NodeError::new(
        "INVALID_SQL",
        format!("{}; {}", problem.message, problem.hint),
    )
}

/// What the engine would refuse must be refused before the commit.
fn checked(output: &Value, limits: PayloadLimits) -> Result<String, NodeError> {
    let text = output.to_string();
    if depth_exceeds(output, limits.depth) {
        return Err(NodeError::new(
            "LIMIT_EXCEEDED",
            format!("the output is nested deeper than {}", limits.depth),
        ));
    }
    if text.len() > limits.output_bytes {
        return Err(NodeError::new(
            "LIMIT_EXCEEDED",
            format!(
                "the output has {} bytes, more than {}; choose less with `output`, or raise `step_output` in [limits]",
                text.len(),
                limits.output_bytes
            ),
        ));
    }
    Ok(text)
}
