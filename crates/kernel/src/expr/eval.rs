//! Walks the tree. Every node costs a step, every value that is built costs bytes.

use super::Scope;
use super::ast::{ArithmeticOp, Arrow, Base, Expr, ExprKind, Literal, ObjectKey, Path};
use super::ast::{PathSegment, SegmentKey};
use super::error::{ErrorCode, ExprError, Span};
use super::functions::{Body, Call, FunctionDoc};
use super::meter::Meter;
use super::number::Number;
use super::pattern::Pattern;
use super::value::{BuiltObject, List, Object, Text, Val};

/// How deep lists and objects may be nested, in results and while calculating.
pub(super) const NESTING_MAX: usize = 64;
/// What a value costs besides its text: about what it takes up in JSON.
pub(super) const VALUE_BYTES: usize = 8;

pub(super) type EvalResult<'a> = Result<Val<'a>, ExprError>;

pub(super) struct Evaluator<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) meter: &'a mut Meter,
    /// The text the spans refer to; errors quote paths from it.
    pub(super) source: &'a str,
    /// Values of the parameters of the enclosing arrow functions.
    locals: Vec<Val<'a>>,
    /// Above zero, a missing path is about to be tolerated and needs no explanation.
    pub(super) tolerating: usize,
    /// Compiled patterns, those used last at the end.
    pub(super) patterns: Vec<Pattern>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(source: &'a str, scope: &'a Scope<'a>, meter: &'a mut Meter) -> Self {
        Self {
            scope,
            meter,
            source,
            locals: Vec::new(),
            tolerating: 0,
            patterns: Vec::new(),
        }
    }

    pub(super) fn eval(&mut self, expr: &'a Expr) -> EvalResult<'a> {
        self.meter.step(1, expr.span)?;
        match &expr.kind {
            ExprKind::Literal(literal) => Ok(from_literal(literal)),
            ExprKind::Path(path) => self.path(path, expr.span),
            ExprKind::List(items) => self.list(items, expr.span),
            ExprKind::Object(entries) => self.object(entries, expr.span),
            ExprKind::Negate(operand) => self.negate(operand, expr.span),
            ExprKind::Not(operand) => Ok(Val::Bool(!self.truth(operand)?)),
            ExprKind::Arithmetic(first, rest) => self.arithmetic(first, rest),
            ExprKind::Compare(op, sides) => {
                let left = self.eval(&sides[0])?;
                let right = self.eval(&sides[1])?;
                self.compare_by(*op, &left, &right, expr.span)
                    .map(Val::Bool)
            }
            ExprKind::All(items) => self.until(items, false),
            ExprKind::Any(items) => self.until(items, true),
            ExprKind::Coalesce(items) => self.coalesce(items),
            ExprKind::Condition(parts) => match self.truth(&parts[0])? {
                true => self.eval(&parts[1]),
                false => self.eval(&parts[2]),
            },
            ExprKind::Call(function, arguments) => self.call(function, arguments, expr.span),
            ExprKind::Arrow(arrow) => Ok(Val::Arrow(arrow)),
        }
    }

    fn list(&mut self, items: &'a [Expr], span: Span) -> EvalResult<'a> {
        let items = items.iter().map(|item| self.eval(item));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        self.build_list(items, span)
    }

    fn object(&mut self, entries: &'a [(ObjectKey, Expr)], span: Span) -> EvalResult<'a> {
        let mut object = BuiltObject::default();
        for (key, value) in entries {
            let key = match key {
                ObjectKey::Static(name) => Text::Borrowed(name),
                ObjectKey::Computed(key) => self.computed_key(key)?,
            };
            object.insert(key, self.eval(value)?);
        }
        self.build_object(object, span)
    }

    fn computed_key(&mut self, key: &'a Expr) -> Result<Text<'a>, ExprError> {
        match self.eval(key)? {
            Val::Text(text) => {
                self.meter.scan(text.len(), key.span)?;
                Ok(text)
            }
            other => {
                let message = format!("a key must be a string, not {}", other.type_name());
                Err(ExprError::types(message, key.span))
            }
        }
    }

    fn negate(&mut self, operand: &'a Expr, span: Span) -> EvalResult<'a> {
        match self.eval(operand)? {
            Val::Number(number) => from_math(number.negate(), span),
            other => {
                let message = format!("`-` needs a number, not {}", other.type_name());
                Err(ExprError::types(message, span))
            }
        }
    }

    fn arithmetic(&mut self, first: &'a Expr, rest: &'a [(ArithmeticOp, Expr)]) -> EvalResult<'a> {
        let mut value = self.eval(first)?;
        for (op, operand) in rest {
            let right = self.eval(operand)?;
            value = self.calculate(*op, value, right, first.span.to(operand.span))?;
        }
        Ok(value)
    }

    /// `&&` looks for the first false, `||` for the first true.
    fn until(&mut self, items: &'a [Expr], wanted: bool) -> EvalResult<'a> {
        for item in items {
            if self.truth(item)? == wanted {
                return Ok(Val::Bool(wanted));
            }
        }
        Ok(Val::Bool(!wanted))
    }

    fn truth(&mut self, expr: &'a Expr) -> Result<bool, ExprError> {
        let value = self.eval(expr)?;
        as_truth(&value, expr.span)
    }

    fn coalesce(&mut self, items: &'a [Expr]) -> EvalResult<'a> {
        let Some((last, others)) = items.split_last() else {
            return Ok(Val::Null);
        };
        for item in others {
            let value = self.tolerant(item)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        self.eval(last)
    }

    /// The value, or null where its path is missing.
    pub(super) fn tolerant(&mut self, expr: &'a Expr) -> EvalResult<'a> {
        self.tolerating += 1;
        let outcome = self.eval(expr);
        self.tolerating -= 1;
        match outcome {
            Err(error) if error.code == ErrorCode::UndefinedPath => Ok(Val::Null),
            other => other,
        }
    }

    /// Does the path lead somewhere? A null found there counts as something.
    fn exists(&mut self, expr: &'a Expr) -> EvalResult<'a> {
        self.tolerating += 1;
        let outcome = match &expr.kind {
            ExprKind::Path(path) => self.strict_path(path, expr.span),
            _ => self.eval(expr),
        };
        self.tolerating -= 1;
        match outcome {
            Ok(_) => Ok(Val::Bool(true)),
            Err(error) if error.code == ErrorCode::UndefinedPath => Ok(Val::Bool(false)),
            Err(error) => Err(error),
        }
    }

    /// A missing part gives null if it, or the part behind it, was written with `?.`.
    fn path(&mut self, path: &'a Path, span: Span) -> EvalResult<'a> {
        let is_optional = |at: usize| path.segments.get(at).is_some_and(|part| part.optional);
        let Some(mut value) = self.base(&path.base)? else {
            return match is_optional(0) {
                true => Ok(Val::Null),
                false => Err(self.undefined_root(path, span)),
            };
        };
        for (at, segment) in path.segments.iter().enumerate() {
            value = match self.follow(&value, segment)? {
                Some(next) => next,
                None if segment.optional || is_optional(at + 1) => return Ok(Val::Null),
                None => return Err(self.undefined_segment(path, at, &value, span)),
            };
        }
        Ok(value)
    }

    fn strict_path(&mut self, path: &'a Path, span: Span) -> EvalResult<'a> {
        let Some(mut value) = self.base(&path.base)? else {
            return Err(self.undefined_root(path, span));
        };
        for (at, segment) in path.segments.iter().enumerate() {
            value = match self.follow(&value, segment)? {
                Some(next) => next,
                None => return Err(self.undefined_segment(path, at, &value, span)),
            };
        }
        Ok(value)
    }

    #[inline]
    fn base(&mut self, base: &'a Base) -> Result<Option<Val<'a>>, ExprError> {
        Ok(match base {
            Base::Root(name) => self.scope.root(name).map(Val::from_json),
            Base::Local(slot) => self.locals.get(*slot).cloned(),
            Base::Expr(expr) => Some(self.eval(expr)?),
        })
    }

    #[inline]
    fn follow(
        &mut self,
        value: &Val<'a>,
        segment: &'a PathSegment,
    ) -> Result<Option<Val<'a>>, ExprError> {
        match &segment.key {
            SegmentKey::Key(name) => Ok(value.member(name)),
            SegmentKey::Index(index) => Ok(value.element(*index)),
            SegmentKey::Dynamic(key) => match self.eval(key)? {
                Val::Text(name) => {
                    self.meter.scan(name.len(), key.span)?;
                    Ok(value.member(&name))
                }
                Val::Number(Number::Int(index)) => Ok(value.element(index)),
                other => {
                    let found = other.type_name();
                    let message = format!("`[ ]` needs a string or an integer, not {found}");
                    Err(ExprError::types(message, key.span))
                }
            },
        }
    }

    fn call(
        &mut self,
        function: &'static FunctionDoc,
        arguments: &'a [Expr],
        span: Span,
    ) -> EvalResult<'a> {
        match function.body() {
            Body::Eager(body) => {
                let values = arguments.iter().map(|argument| self.eval(argument));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                body(&mut Call::new(self, function, &values, arguments, span))
            }
            Body::Default => self.coalesce(arguments),
            Body::Exists => match arguments.first() {
                Some(path) => self.exists(path),
                None => Ok(Val::Bool(false)),
            },
            Body::Coalesce => {
                for argument in arguments {
                    let value = self.tolerant(argument)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Val::Null)
            }
        }
    }

    /// Arrow functions never outlive the call they are given to, so the parameters that enclose
    /// them are still on the stack, in the places the parser gave them.
    pub(super) fn apply(&mut self, arrow: &'a Arrow, values: &[Val<'a>]) -> EvalResult<'a> {
        let outer = self.locals.len();
        self.locals
            .extend(values.iter().take(arrow.parameters).cloned());
        let outcome = self.eval(&arrow.body);
        self.locals.truncate(outer);
        outcome
    }

    pub(super) fn build_list(&mut self, items: Vec<Val<'a>>, span: Span) -> EvalResult<'a> {
        self.meter.allocate(items.len() * VALUE_BYTES, span)?;
        let list = Val::List(List::build(items));
        check_nesting(list.built_depth(), span)?;
        Ok(list)
    }

    pub(super) fn build_object(&mut self, object: BuiltObject<'a>, span: Span) -> EvalResult<'a> {
        self.meter.allocate(object.len() * 2 * VALUE_BYTES, span)?;
        check_nesting(object.depth(), span)?;
        Ok(Val::Object(Object::Built(object.into())))
    }
}

pub(super) fn as_truth(value: &Val<'_>, span: Span) -> Result<bool, ExprError> {
    match value {
        Val::Bool(truth) => Ok(*truth),
        other => {
            let found = other.type_name();
            let hint = match other {
                Val::Null => "write `x != null`, or `x ?? false`",
                Val::Text(_) => "write `x != \"\"`, or `x == \"true\"`",
                Val::List(_) | Val::Object(_) => "write `len(x) > 0`",
                _ => "write `x != 0`",
            };
            let message = format!("a condition must be true or false, not {found}");
            Err(ExprError::types(message, span).with_hint(hint))
        }
    }
}

pub(super) fn check_nesting(depth: usize, span: Span) -> Result<(), ExprError> {
    if depth <= NESTING_MAX {
        return Ok(());
    }
    let message = format!("lists and objects are nested deeper than {NESTING_MAX} levels");
    Err(ExprError::limit(message, span))
}

pub(super) fn from_math<'a>(result: Result<Number, &'static str>, span: Span) -> EvalResult<'a> {
    result
        .map(Val::Number)
        .map_err(|fault| ExprError::math(fault, span))
}

fn from_literal(literal: &Literal) -> Val<'_> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(truth) => Val::Bool(*truth),
        Literal::Number(number) => Val::Number(*number),
        Literal::Text(text) => Val::borrowed(text),
    }
}
