//! The library: what it contains, and what a function can ask of its call.
//!
//! A function is one row of a table. Its name, its number of arguments and the place of an arrow
//! function are read off the signature, so that the documentation cannot disagree with the code.

use std::sync::LazyLock;

use super::ast::Expr;
use super::error::{ExprError, Span};
use super::eval::{EvalResult, Evaluator, as_truth, from_math};
use super::number::{MathFault, Number};
use super::value::{BuiltObject, List, Object, Text, Val};

mod codecs;
mod dates;
mod general;
mod lists;
mod numbers;
mod objects;
mod patterns;
mod sorting;
mod strings;

/// One function, as the reference page shows it.
#[derive(Debug)]
pub struct FunctionDoc {
    pub name: &'static str,
    /// `name(needed, optional?, repeated...)`; `x => y` stands for an arrow function.
    pub signature: &'static str,
    pub category: &'static str,
    pub doc: &'static str,
    pub example: &'static str,
    /// The result of the example, as JSON.
    pub result: &'static str,
    arguments_min: usize,
    arguments_max: usize,
    /// Position of the arrow function and the number of values it is given.
    arrow: Option<(usize, usize)>,
    body: Body,
}

#[derive(Clone, Copy)]
pub(super) enum Body {
    Eager(for<'c, 'a> fn(&mut Call<'c, 'a>) -> EvalResult<'a>),
    // These decide themselves which arguments to evaluate, and forgive missing paths.
    Default,
    Exists,
    Coalesce,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Body")
    }
}

/// A row of a table: signature, what it does, example, result, code.
type Row = (&'static str, &'static str, &'static str, &'static str, Body);

static FUNCTIONS: LazyLock<Vec<FunctionDoc>> = LazyLock::new(|| {
    let tables: [(&'static str, &[Row]); 8] = [
        ("general", general::TABLE),
        ("strings", strings::TABLE),
        ("patterns", patterns::TABLE),
        ("lists", lists::TABLE),
        ("objects", objects::TABLE),
        ("numbers", numbers::TABLE),
        ("dates", dates::TABLE),
        ("JSON, hashes and encodings", codecs::TABLE),
    ];
    let rows = tables
        .iter()
        .flat_map(|(category, rows)| rows.iter().map(|row| (*category, *row)));
    rows.map(|(category, row)| FunctionDoc::from_row(category, row))
        .collect()
});

/// Every function, by category.
pub fn functions() -> &'static [FunctionDoc] {
    &FUNCTIONS
}

pub(super) fn find(name: &str) -> Option<&'static FunctionDoc> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The section of `docs/expressions.md` about functions.
pub fn reference_markdown() -> String {
    let mut page = String::from("## Functions\n\n");
    page.push_str("`x | f(y)` is the same as `f(x, y)`. A `?` marks what may be left out.\n");
    let mut category = "";
    for function in functions() {
        if function.category != category {
            category = function.category;
            page.push_str(&format!("\n### {}\n\n", capitalised(category)));
            page.push_str("| function | | example | result |\n|---|---|---|---|\n");
        }
        page.push_str(&function.markdown_row());
    }
    page
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

impl FunctionDoc {
    fn from_row(category: &'static str, (signature, doc, example, result, body): Row) -> Self {
        let (name, parameters) = signature.split_once('(').unwrap_or((signature, ")"));
        let parameters = split_parameters(parameters.trim_end_matches(')'));
        let is_needed =
            |parameter: &&&str| !parameter.ends_with('?') && !parameter.ends_with("...");
        let is_repeated = parameters.last().is_some_and(|last| last.ends_with("..."));
        Self {
            name,
            signature,
            category,
            doc,
            example,
            result,
            arguments_min: parameters.iter().filter(is_needed).count(),
            arguments_max: if is_repeated {
                usize::MAX
            } else {
                parameters.len()
            },
            arrow: arrow(&parameters),
            body,
        }
    }

    pub(super) fn body(&self) -> Body {
        self.body
    }

    pub(super) fn accepts(&self, arguments: usize) -> bool {
        (self.arguments_min..=self.arguments_max).contains(&arguments)
    }

    /// How many values the arrow function at this place is given, if one is taken there.
    pub(super) fn arrow_at(&self, position: usize) -> Option<usize> {
        self.arrow
            .filter(|(at, _)| *at == position)
            .map(|(_, values)| values)
    }

    /// May the path at this place be missing?
    pub(super) fn tolerates(&self, position: usize) -> bool {
        match self.body {
            Body::Default | Body::Exists => position == 0,
            Body::Coalesce => true,
            Body::Eager(_) => false,
        }
    }

    fn markdown_row(&self) -> String {
        let escaped = |text: &str| text.replace('|', "\\|");
        format!(
            "| `{}` | {} | `{}` | `{}` |\n",
            escaped(self.signature),
            escaped(self.doc),
            escaped(self.example),
            escaped(self.result)
        )
    }
}

/// Commas inside the parentheses of an arrow function do not separate parameters.
fn split_parameters(parameters: &'static str) -> Vec<&'static str> {
    let mut depth = 0;
    let pieces = parameters.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    pieces
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// Besides what its signature shows, an arrow function is given the index.
fn arrow(parameters: &[&str]) -> Option<(usize, usize)> {
    let position = parameters
        .iter()
        .position(|parameter| parameter.contains("=>"))?;
    let head = parameters[position].split("=>").next()?;
    Some((position, head.split(',').count() + 1))
}

/// What a function sees of the call it answers.
pub(super) struct Call<'c, 'a> {
    evaluator: &'c mut Evaluator<'a>,
    function: &'static FunctionDoc,
    values: &'c [Val<'a>],
    arguments: &'a [Expr],
    span: Span,
}

impl<'c, 'a> Call<'c, 'a> {
    pub(super) fn new(
        evaluator: &'c mut Evaluator<'a>,
        function: &'static FunctionDoc,
        values: &'c [Val<'a>],
        arguments: &'a [Expr],
        span: Span,
    ) -> Self {
        Self {
            evaluator,
            function,
            values,
            arguments,
            span,
        }
    }

    fn count(&self) -> usize {
        self.values.len()
    }

    /// The argument, or null where it was left out.
    fn value(&self, position: usize) -> Val<'a> {
        self.values.get(position).cloned().unwrap_or(Val::Null)
    }

    fn has(&self, position: usize) -> bool {
        position < self.values.len()
    }

    fn text(&self, position: usize) -> Result<Text<'a>, ExprError> {
        match self.values.get(position) {
            Some(Val::Text(text)) => Ok(text.clone()),
            _ => Err(self.wrong_type(position, "a string")),
        }
    }

    fn text_or(&self, position: usize, default: &'static str) -> Result<Text<'a>, ExprError> {
        match self.has(position) {
            true => self.text(position),
            false => Ok(Text::Borrowed(default)),
        }
    }

    fn list(&self, position: usize) -> Result<List<'a>, ExprError> {
        match self.values.get(position) {
            Some(Val::List(list)) => Ok(list.clone()),
            _ => Err(self.wrong_type(position, "a list")),
        }
    }

    fn object(&self, position: usize) -> Result<Object<'a>, ExprError> {
        match self.values.get(position) {
            Some(Val::Object(object)) => Ok(object.clone()),
            _ => Err(self.wrong_type(position, "an object")),
        }
    }

    fn number(&self, position: usize) -> Result<Number, ExprError> {
        match self.values.get(position) {
            Some(Val::Number(number)) => Ok(*number),
            _ => Err(self.wrong_type(position, "a number")),
        }
    }

    fn int(&self, position: usize) -> Result<i64, ExprError> {
        match self.values.get(position) {
            Some(Val::Number(Number::Int(int))) => Ok(*int),
            _ => Err(self.wrong_type(position, "an integer")),
        }
    }

    fn int_or(&self, position: usize, default: i64) -> Result<i64, ExprError> {
        match self.has(position) {
            true => self.int(position),
            false => Ok(default),
        }
    }

    /// An integer that counts something.
    fn size(&self, position: usize) -> Result<usize, ExprError> {
        let int = self.int(position)?;
        usize::try_from(int).map_err(|_| self.invalid("a count must not be negative"))
    }

    fn apply(&mut self, position: usize, values: &[Val<'a>]) -> EvalResult<'a> {
        match self.values.get(position) {
            Some(Val::Arrow(arrow)) => self.evaluator.apply(arrow, values),
            _ => Err(self.wrong_type(position, "a function")),
        }
    }

    /// Like `apply`, for functions that answer yes or no.
    fn test(&mut self, position: usize, values: &[Val<'a>]) -> Result<bool, ExprError> {
        let answer = self.apply(position, values)?;
        as_truth(&answer, self.span_of(position))
    }

    fn step(&mut self, count: usize) -> Result<(), ExprError> {
        self.evaluator.meter.step(count as u64, self.span)
    }

    fn pay(&mut self, steps: u64) -> Result<(), ExprError> {
        self.evaluator.meter.step(steps, self.span)
    }

    fn scan(&mut self, bytes: usize) -> Result<(), ExprError> {
        self.evaluator.meter.scan(bytes, self.span)
    }

    fn allocate(&mut self, bytes: usize) -> Result<(), ExprError> {
        self.evaluator.meter.allocate(bytes, self.span)
    }

    fn build_list(&mut self, items: Vec<Val<'a>>) -> EvalResult<'a> {
        self.evaluator.build_list(items, self.span)
    }

    fn build_object(&mut self, object: BuiltObject<'a>) -> EvalResult<'a> {
        self.evaluator.build_object(object, self.span)
    }

    fn math_result(&self, result: Result<Number, MathFault>) -> EvalResult<'a> {
        from_math(result, self.span)
    }

    fn span_of(&self, position: usize) -> Span {
        self.arguments
            .get(position)
            .map_or(self.span, |argument| argument.span)
    }

    fn wrong_type(&self, position: usize, wanted: &str) -> ExprError {
        let found = self.value(position).type_name();
        let name = self.function.name;
        let message = format!(
            "`{name}` needs {wanted} as argument {}, not {found}",
            position + 1
        );
        let error = ExprError::types(message, self.span_of(position));
        match found {
            "null" => error.with_hint("give the missing value a default: `x ?? …`"),
            _ => error.with_hint(format!("its form is `{}`", self.function.signature)),
        }
    }

    fn invalid(&self, problem: &str) -> ExprError {
        ExprError::invalid(format!("`{}`: {problem}", self.function.name), self.span)
    }

    fn math(&self, problem: &str) -> ExprError {
        ExprError::math(format!("`{}`: {problem}", self.function.name), self.span)
    }
}

fn new_text<'a>(text: impl Into<String>) -> Val<'a> {
    Val::Text(text.into().into())
}

/// A range as `slice` and `substring` take it: negative positions count from the end, positions
/// outside are moved inside.
fn clamped_range(start: i64, end: Option<i64>, length: usize) -> std::ops::Range<usize> {
    let place = |position: i64| {
        let distance = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
        match position < 0 {
            true => length.saturating_sub(distance),
            false => distance.min(length),
        }
    };
    let start = place(start);
    start..end.map_or(length, place).max(start)
}
