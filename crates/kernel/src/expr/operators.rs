//! What `+`, `==`, `<` and `in` mean for each pair of types.

use std::cmp::Ordering;

use super::ast::{ArithmeticOp, CompareOp};
use super::error::{ExprError, Span};
use super::eval::{EvalResult, Evaluator, from_math};
use super::value::{List, Object, Val};

impl<'a> Evaluator<'a> {
    pub(super) fn calculate(
        &mut self,
        op: ArithmeticOp,
        left: Val<'a>,
        right: Val<'a>,
        span: Span,
    ) -> EvalResult<'a> {
        match (op, left, right) {
            (_, Val::Number(left), Val::Number(right)) => {
                from_math(left.calculate(op, right), span)
            }
            (ArithmeticOp::Add, Val::Text(left), Val::Text(right)) => {
                self.meter.allocate(left.len() + right.len(), span)?;
                Ok(Val::Text([&*left, &*right].concat().into()))
            }
            (ArithmeticOp::Add, Val::List(left), Val::List(right)) => {
                self.join_lists(&left, &right, span)
            }
            (op, left, right) => Err(cannot_calculate(op, &left, &right, span)),
        }
    }

    fn join_lists(&mut self, left: &List<'a>, right: &List<'a>, span: Span) -> EvalResult<'a> {
        self.meter.step((left.len() + right.len()) as u64, span)?;
        self.build_list(left.iter().chain(right.iter()).collect(), span)
    }

    pub(super) fn compare_by(
        &mut self,
        op: CompareOp,
        left: &Val<'a>,
        right: &Val<'a>,
        span: Span,
    ) -> Result<bool, ExprError> {
        Ok(match op {
            CompareOp::Equal => self.equal(left, right, span)?,
            CompareOp::NotEqual => !self.equal(left, right, span)?,
            CompareOp::Less => self.order(left, right, span)?.is_lt(),
            CompareOp::LessOrEqual => self.order(left, right, span)?.is_le(),
            CompareOp::Greater => self.order(left, right, span)?.is_gt(),
            CompareOp::GreaterOrEqual => self.order(left, right, span)?.is_ge(),
            CompareOp::In => self.is_in(left, right, span)?,
            CompareOp::NotIn => !self.is_in(left, right, span)?,
        })
    }

    /// Values of different types are not equal; numbers are equal whatever their kind.
    pub(super) fn equal(
        &mut self,
        left: &Val<'a>,
        right: &Val<'a>,
        span: Span,
    ) -> Result<bool, ExprError> {
        Ok(match (left, right) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(left), Val::Bool(right)) => left == right,
            (Val::Number(left), Val::Number(right)) => left.compare(*right).is_eq(),
            (Val::Text(left), Val::Text(right)) => {
                self.meter.scan(left.len().min(right.len()), span)?;
                left == right
            }
            (Val::List(left), Val::List(right)) => self.equal_lists(left, right, span)?,
            (Val::Object(left), Val::Object(right)) => self.equal_objects(left, right, span)?,
            _ => false,
        })
    }

    fn equal_lists(
        &mut self,
        left: &List<'a>,
        right: &List<'a>,
        span: Span,
    ) -> Result<bool, ExprError> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (left, right) in left.iter().zip(right.iter()) {
            self.meter.step(1, span)?;
            if !self.equal(&left, &right, span)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The order of the keys does not matter.
    fn equal_objects(
        &mut self,
        left: &Object<'a>,
        right: &Object<'a>,
        span: Span,
    ) -> Result<bool, ExprError> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (key, value) in left.iter() {
            self.meter.step(1, span)?;
            self.meter.scan(key.len(), span)?;
            match right.get(&key) {
                Some(other) if self.equal(&value, &other, span)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Numbers with numbers, strings with strings (by code point); nothing else has an order.
    pub(super) fn order(
        &mut self,
        left: &Val<'a>,
        right: &Val<'a>,
        span: Span,
    ) -> Result<Ordering, ExprError> {
        match (left, right) {
            (Val::Number(left), Val::Number(right)) => Ok(left.compare(*right)),
            (Val::Text(left), Val::Text(right)) => {
                self.meter.scan(left.len().min(right.len()), span)?;
                Ok((**left).cmp(&**right))
            }
            _ => Err(cannot_order(left, right, span)),
        }
    }

    pub(super) fn is_in(
        &mut self,
        needle: &Val<'a>,
        hay: &Val<'a>,
        span: Span,
    ) -> Result<bool, ExprError> {
        match (needle, hay) {
            (_, Val::List(list)) => Ok(self.position_in(needle, list, span)?.is_some()),
            (Val::Text(part), Val::Text(text)) => {
                self.meter
                    .scan(text.len().saturating_add(part.len()), span)?;
                Ok(text.contains(&**part))
            }
            (Val::Text(key), Val::Object(object)) => {
                self.meter.scan(key.len(), span)?;
                Ok(object.get(key).is_some())
            }
            _ => {
                let (part, whole) = (needle.type_name(), hay.type_name());
                let message = format!("cannot look for {part} in {whole}");
                let hint = "look for a value in a list, a text in a string, a key in an object";
                Err(ExprError::types(message, span).with_hint(hint))
            }
        }
    }

    pub(super) fn position_in(
        &mut self,
        needle: &Val<'a>,
        list: &List<'a>,
        span: Span,
    ) -> Result<Option<usize>, ExprError> {
        for (position, item) in list.iter().enumerate() {
            self.meter.step(1, span)?;
            if self.equal(needle, &item, span)? {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }
}

fn cannot_calculate(op: ArithmeticOp, left: &Val<'_>, right: &Val<'_>, span: Span) -> ExprError {
    let symbol = match op {
        ArithmeticOp::Add => "+",
        ArithmeticOp::Subtract => "-",
        ArithmeticOp::Multiply => "*",
        ArithmeticOp::Divide => "/",
        ArithmeticOp::Remainder => "%",
    };
    let (left_type, right_type) = (left.type_name(), right.type_name());
    let message = format!("`{symbol}` does not work on {left_type} and {right_type}");
    let hint = match (op, left, right) {
        (_, Val::Null, _) | (_, _, Val::Null) => "give the missing value a default: `x ?? 0`",
        (ArithmeticOp::Add, Val::Text(_), _) | (ArithmeticOp::Add, _, Val::Text(_)) => {
            "make both texts with string(x), or use a template: `{{a}} {{b}}`"
        }
        (_, Val::Text(_), _) | (_, _, Val::Text(_)) => "make the text a number with number(x)",
        (ArithmeticOp::Add, Val::Object(_), Val::Object(_)) => "join objects with merge(a, b)",
        _ => "arithmetic is for numbers",
    };
    ExprError::types(message, span).with_hint(hint)
}

fn cannot_order(left: &Val<'_>, right: &Val<'_>, span: Span) -> ExprError {
    let message = format!(
        "cannot order {} and {}",
        left.type_name(),
        right.type_name()
    );
    let hint = match (left, right) {
        (Val::Null, _) | (_, Val::Null) => "give the missing value a default: `x ?? 0`",
        _ => "convert one side, with number(x) or string(x)",
    };
    ExprError::types(message, span).with_hint(hint)
}
