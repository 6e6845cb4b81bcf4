//! The expression language: conditions, and `{{ }}` in config strings.
//!
//! It is Pawl's own and small, because stored workflows need a meaning that no upstream release can
//! change. Expressions are compiled once and evaluated over borrowed JSON. They are pure, have no
//! statements and no recursion, reach nothing but the [`Scope`], and every operation is charged to
//! a [`Meter`]. Evaluating the same expression over the same scope gives the same result.
//!
//! # The language
//!
//! | from loose to tight | |
//! |---|---|
//! | `c ? a : b` | `c` must be a boolean |
//! | `\|\|` `or`, `&&` `and`, `not` | booleans only; stop as soon as the result is known |
//! | `== != < <= > >= in`, `not in` | do not chain |
//! | `??` | the right side where the left is null or its path is missing |
//! | `+ -`, `* / %` | numbers; `+` also joins two strings or two lists |
//! | `-x`, `!x` | |
//! | `x \| f`, `x \| f(y)` | the same as `f(x)`, `f(x, y)` |
//! | `a.b`, `a[0]`, `a["b c"]`, `a?.b`, `a?.[0]` | |
//!
//! Where readers would disagree about precedence the compiler asks for parentheses: `a ?? b + 1`,
//! `a + b | upper`, `a < b < c`.
//!
//! - Literals: `12`, `1.5`, `1e3`, `'text'`, `"text"` with JSON's escapes, `true`, `false`, `null`,
//!   `[1, 2]`, `{a: 1, "b c": 2, [key]: 3}`. Names are letters, digits and `_`.
//! - A negative index counts from the end: `items[-1]` is the last element.
//! - A missing path is an error, so is a member of null. `a?.b` gives null for the whole path if
//!   `a` is missing or null or has no `b`. `a.b ?? x`, `default(a.b, x)`, `coalesce(a.b, …)` and
//!   `exists(a.b)` tolerate a missing path anywhere in that operand.
//! - Arrow functions stand only where a function takes one: `filter(items, i => i.price > 10)`,
//!   `reduce(items, 0, (sum, i) => sum + i)`. A second (third) parameter receives the index.
//! - Integers are exact, overflow is an error; `6 / 2` is 3, `7 / 2` is 3.5; `1 == 1.0`. Integers
//!   above 9223372036854775807 can be compared, not calculated with.
//! - `decimal("0.10")` calculates exactly. With an integer or float it gives a decimal again. When
//!   a decimal leaves the expression it becomes a JSON string, so that it stays exact.
//! - `==` between different types is false, `<` between different types is an error.
//! - In a condition `{{ e }}` means `(e)`. In a config string a literal `{{` is `{{'{{'}}`.

use std::sync::Arc;

use serde_json::{Map, Value};

mod ast;
mod encoding;
mod error;
mod eval;
mod functions;
mod lexer;
mod meter;
mod nearest;
mod number;
mod operators;
mod output;
mod parser;
pub(crate) mod pattern;
mod template;
mod undefined;
mod value;
mod written;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worst;

pub use ast::{Reference, Segment};
pub use error::{ErrorCode, ExprError, Span};
pub use functions::{FunctionDoc, functions, reference_markdown};
pub use meter::{Deadline, Limits, Meter};
pub use nearest::nearest;
pub use template::{Encoding, Template};
pub use written::{TextMode, WrittenText};

/// Longest text of one expression.
const EXPRESSION_BYTES_MAX: usize = 16 * 1024;

/// What an expression can see.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub roots: &'a Map<String, Value>,
    /// The time the position was entered: `now()`.
    pub now_micros: i64,
    /// With `seq` and the number of the call, the source of `uuid()`.
    pub execution_id: &'a str,
    pub seq: u64,
    /// Names that go before those of the context.
    pub locals: Option<&'a Map<String, Value>>,
}

impl<'a> Scope<'a> {
    pub fn new(
        roots: &'a Map<String, Value>,
        now_micros: i64,
        execution_id: &'a str,
        seq: u64,
    ) -> Self {
        Self {
            roots,
            now_micros,
            execution_id,
            seq,
            locals: None,
        }
    }

    pub fn with_locals(self, locals: &'a Map<String, Value>) -> Self {
        Self {
            locals: Some(locals),
            ..self
        }
    }

    fn root(&self, name: &str) -> Option<&'a Value> {
        let local = self.locals.and_then(|locals| locals.get(name));
        local.or_else(|| self.roots.get(name))
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        let locals = self.locals.into_iter().flat_map(Map::keys);
        locals.chain(self.roots.keys()).map(String::as_str)
    }
}

/// An expression, compiled once. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expression(Arc<ExpressionCode>);

#[derive(Debug)]
struct ExpressionCode {
    text: String,
    root: ast::Expr,
    references: Vec<Reference>,
}

impl Expression {
    /// Compiles a text in which `{{ e }}` counts as the sub-expression `(e)`.
    pub fn compile(text: &str) -> Result<Expression, ExprError> {
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(too_long(EXPRESSION_BYTES_MAX, Span::new(0, text.len())));
        }
        let parsed = parser::parse_whole(text)?;
        Ok(Expression(Arc::new(ExpressionCode {
            text: text.to_owned(),
            root: parsed.root,
            references: parsed.references,
        })))
    }

    pub fn evaluate(&self, scope: &Scope<'_>, meter: &mut Meter) -> Result<Value, ExprError> {
        let ExpressionCode { text, root, .. } = &*self.0;
        let mut evaluator = eval::Evaluator::new(text, scope, meter);
        let value = evaluator.eval(root)?;
        evaluator.json_of(&value, root.span)
    }

    pub fn references(&self) -> &[Reference] {
        &self.0.references
    }

    pub fn source(&self) -> &str {
        &self.0.text
    }
}

fn too_long(limit: usize, span: Span) -> ExprError {
    ExprError::limit(format!("the text is longer than {limit} bytes"), span)
        .with_hint("compute part of it in an earlier step")
}

/// For the fuzzer: whatever the bytes are, compiling and evaluating them must not panic.
pub fn fuzz_expression(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(expression) = Expression::compile(&text) {
        with_fuzz_scope(|scope, meter| drop(expression.evaluate(scope, meter)));
    }
}

/// For the fuzzer: as [`fuzz_expression`], for both encodings of a template.
pub fn fuzz_template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for encoding in [Encoding::Text, Encoding::Url] {
        if let Ok(template) = Template::compile(&text, encoding) {
            with_fuzz_scope(|scope, meter| drop(template.render(scope, meter)));
        }
    }
}

fn with_fuzz_scope(run: impl FnOnce(&Scope<'_>, &mut Meter)) {
    let roots = serde_json::json!({
        "a": {"b": [1, 2.5, -3, u64::MAX, null, true], "c d": {"e": "text"}},
        "s": "2024-02-29T12:00:00Z", "n": 7, "z": null,
    });
    let Value::Object(roots) = roots else {
        return;
    };
    let scope = Scope::new(&roots, 1_700_000_000_000_000, "fuzz", 1);
    run(&scope, &mut Meter::new(Limits::default()));
}
