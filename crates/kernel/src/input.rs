//! What an execution may be started with: `input` of a schema, a JSON Schema (2020-12).
//!
//! The crate `jsonschema` decides what fits. It has no budget of its own, so it reads the value through a representation
//! that is paid for look by look, and what the schema alone can make long is refused when it is saved (`examine`).

mod examine;
mod gauge;
mod message;
mod pattern;
mod same;
#[cfg(test)]
mod tests;
mod toll;

use std::collections::HashSet;
use std::fmt;

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::Serialize;
use serde_json::Value;

use self::gauge::Prices;
use self::message::{named_type, told};
use self::toll::Toll;
use crate::expr::Meter;
use crate::text::shortened;

pub(crate) use self::examine::examine;

/// The code of an input that does not fit.
pub const INVALID_INPUT: &str = "INVALID_INPUT";
/// Problems that are listed of one input.
pub const PROBLEMS_MAX: usize = 100;
/// Problems that are named in one line of text.
pub const TOLD_MAX: usize = 5;
/// Keys come from the input, and may be of any length.
const POINTER_MAX: usize = 500;
/// Of the automaton for the names of fields; one step through it takes up to a few microseconds.
const NAME_PATTERN_BYTES: usize = 32 * 1024;

/// One place of an input that is not as the schema wants it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct InputProblem {
    /// JSON pointer into the input.
    pub pointer: String,
    /// What is expected there, and never what was found.
    pub message: String,
}

/// Why an input does not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputProblems {
    /// At most [`PROBLEMS_MAX`].
    pub list: Vec<InputProblem>,
    /// There are others.
    pub more: bool,
}

impl fmt::Display for InputProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the input does not fit the schema's `input`: ")?;
        for (place, problem) in self.list.iter().take(TOLD_MAX).enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            match problem.pointer.as_str() {
                "" => write!(f, "{separator}{}", problem.message)?,
                pointer => write!(f, "{separator}{pointer}: {}", problem.message)?,
            }
        }
        match (self.list.len().saturating_sub(TOLD_MAX), self.more) {
            (0, false) => Ok(()),
            (0, true) => f.write_str("; and more"),
            (rest, more) => write!(f, "; and {}{rest} more", if more { "over " } else { "" }),
        }
    }
}

/// `input` of a schema, ready to check with.
pub struct InputCheck {
    validator: Validator<Toll>,
    prices: Prices,
}

impl InputCheck {
    /// The schema must have passed [`examine`]: an error here is one that it did not foresee.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let compiled = options().build(&without_id(schema));
        let validator = compiled.map_err(|error| told(&error, None))?;
        Ok(Self {
            validator,
            prices: examine::prices(schema),
        })
    }

    /// Does the input fit? If the meter has not enough for it, it does not: what cannot be checked is not let in.
    pub fn check(&self, input: &Value, meter: &mut Meter) -> Result<(), InputProblems> {
        let fits = gauge::measured(meter, self.prices, || self.validator.is_valid(input));
        match fits {
            (true, false) => Ok(()),
            (_, true) => Err(too_long()),
            (false, false) => Err(self.problems(input, meter)),
        }
    }

    fn problems(&self, input: &Value, meter: &mut Meter) -> InputProblems {
        let found = gauge::measured(meter, self.prices, || self.all_problems(input));
        let (mut list, is_over) = found;
        let more = is_over || list.len() > PROBLEMS_MAX;
        list.truncate(PROBLEMS_MAX);
        match list.is_empty() {
            true => too_long(),
            false => InputProblems { list, more },
        }
    }

    /// Each once, although several parts of the schema may find it.
    fn all_problems(&self, input: &Value) -> Vec<InputProblem> {
        let mut seen = HashSet::new();
        let errors = self.validator.iter_errors(input);
        // Found when there was nothing left to pay with: it may not be one.
        let errors = errors.filter(|error| !error.instance().is_null());
        let problems = errors.map(|error| problem(&error));
        let fresh = problems.filter(|problem| seen.insert(problem.clone()));
        fresh.take(PROBLEMS_MAX + 1).collect()
    }
}

impl fmt::Debug for InputCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InputCheck")
    }
}

fn problem(error: &ValidationError<'_>) -> InputProblem {
    InputProblem {
        pointer: shortened(error.instance_path().as_str(), POINTER_MAX),
        // The representation shows of each value what type it is.
        message: told(error, error.instance().as_str()),
    }
}

fn too_long() -> InputProblems {
    let message =
        "it takes too long to check; make the input smaller, or the `input` of the schema simpler";
    InputProblems {
        list: vec![InputProblem {
            pointer: String::new(),
            message: message.to_owned(),
        }],
        more: false,
    }
}

/// Nothing is fetched: the crate is built without the means, and what names another document was refused before.
fn options()
-> jsonschema::ValidationOptions<'static, std::sync::Arc<dyn jsonschema::Retrieve>, Toll> {
    jsonschema::options_for::<Toll>()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex().size_limit(NAME_PATTERN_BYTES))
        .with_keyword("pattern", |_, value, _| pattern::keyword(value))
}

/// Every `$ref` is read within the document, whatever it is called.
fn without_id(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.shift_remove("$id");
    }
    schema
}

/// What the crate finds wrong with a schema itself: pointer, message.
fn defects(schema: &Value) -> Vec<(String, String)> {
    let mut seen = HashSet::new();
    let meta = jsonschema::draft202012::meta::validator();
    let errors = meta.iter_errors(schema);
    let defects = errors.map(|error| {
        let pointer = error.instance_path().as_str().to_owned();
        let message = match pointer.ends_with("/type") {
            true => message::TYPE_WANTED.to_owned(),
            false => told(&error, Some(named_type(error.instance()))),
        };
        (pointer, message)
    });
    let fresh = defects.filter(|defect| seen.insert(defect.clone()));
    fresh.take(PROBLEMS_MAX).collect()
}
