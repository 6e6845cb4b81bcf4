//! The compiled form of an expression.
//!
//! Chains such as `a + b + c` are kept flat: the height of the tree bounds the stack that
//! evaluating and dropping it needs, and a long sum must not count as a deep one.

use super::error::Span;
use super::functions::FunctionDoc;
use super::number::Number;

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
    pub(super) height: usize,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Literal(Literal),
    List(Vec<Expr>),
    Object(Vec<(ObjectKey, Expr)>),
    Path(Path),
    Negate(Box<Expr>),
    Not(Box<Expr>),
    /// `first op next op next …`, operators of one precedence level.
    Arithmetic(Box<Expr>, Vec<(ArithmeticOp, Expr)>),
    Compare(CompareOp, Box<[Expr; 2]>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Coalesce(Vec<Expr>),
    Condition(Box<[Expr; 3]>),
    Call(&'static FunctionDoc, Vec<Expr>),
    /// Only ever an argument of a call, see `parser`.
    Arrow(Arrow),
}

#[derive(Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Number(Number),
    Text(Box<str>),
}

#[derive(Debug)]
pub(super) enum ObjectKey {
    Static(Box<str>),
    Computed(Expr),
}

#[derive(Debug)]
pub(super) struct Path {
    pub(super) base: Base,
    /// Where the written base ends; the segments follow.
    pub(super) base_end: usize,
    pub(super) segments: Vec<PathSegment>,
}

#[derive(Debug)]
pub(super) enum Base {
    Root(Box<str>),
    /// A parameter of an arrow function, by its place on the stack of parameters.
    Local(usize),
    Expr(Box<Expr>),
}

#[derive(Debug)]
pub(super) struct PathSegment {
    pub(super) key: SegmentKey,
    /// Written with `?.`
    pub(super) optional: bool,
    pub(super) end: usize,
}

#[derive(Debug)]
pub(super) enum SegmentKey {
    Key(Box<str>),
    Index(i64),
    Dynamic(Expr),
}

#[derive(Debug)]
pub(super) struct Arrow {
    pub(super) parameters: usize,
    pub(super) body: Box<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

/// One path as written, for checks when a schema is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub path: Vec<Segment>,
    pub span: Span,
    /// The expression copes with the path missing: `?.`, `??`, `default`, `exists`, `coalesce`.
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    Key(String),
    /// Counts from the end when negative.
    Index(i64),
    /// Known only when evaluated.
    Dynamic,
}

impl ExprKind {
    /// One more than the highest child.
    pub(super) fn height(&self) -> usize {
        let below = match self {
            Self::Literal(_) => 0,
            Self::List(items) | Self::All(items) | Self::Any(items) => highest(items),
            Self::Coalesce(items) | Self::Call(_, items) => highest(items),
            Self::Object(entries) => entries.iter().map(entry_height).max().unwrap_or(0),
            Self::Path(path) => path.height(),
            Self::Negate(operand) | Self::Not(operand) => operand.height,
            Self::Arithmetic(first, rest) => {
                let rest = rest.iter().map(|(_, operand)| operand.height).max();
                first.height.max(rest.unwrap_or(0))
            }
            Self::Compare(_, sides) => highest(sides.as_slice()),
            Self::Condition(parts) => highest(parts.as_slice()),
            Self::Arrow(arrow) => arrow.body.height,
        };
        below + 1
    }
}

impl Path {
    fn height(&self) -> usize {
        let base = match &self.base {
            Base::Expr(base) => base.height,
            Base::Root(_) | Base::Local(_) => 0,
        };
        let segments = self.segments.iter().map(|segment| match &segment.key {
            SegmentKey::Dynamic(key) => key.height,
            SegmentKey::Key(_) | SegmentKey::Index(_) => 0,
        });
        segments.max().unwrap_or(0).max(base)
    }
}

fn highest(items: &[Expr]) -> usize {
    items.iter().map(|item| item.height).max().unwrap_or(0)
}

fn entry_height((key, value): &(ObjectKey, Expr)) -> usize {
    match key {
        ObjectKey::Computed(key) => key.height.max(value.height),
        ObjectKey::Static(_) => value.height,
    }
}
