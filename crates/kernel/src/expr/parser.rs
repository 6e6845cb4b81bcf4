//! Tokens to a tree, by recursive descent.
//!
//! From loose to tight: `? :`, `||`, `&&`, `not`, comparisons and `in`, `??`, `+ -`, `* / %`,
//! unary `- !`, pipes, paths. Where readers disagree about precedence the parser asks for
//! parentheses instead of choosing silently: comparisons do not chain, `??` does not mix with
//! arithmetic, and a pipe does not follow an operand of arithmetic, of `??` or of `? :`.

use super::ast::{
    ArithmeticOp, Arrow, Base, CompareOp, Expr, ExprKind, Literal, ObjectKey, Reference,
};
use super::error::{ExprError, Span};
use super::functions::{self, FunctionDoc};
use super::lexer::{Lexeme, Lexer, Token};
use super::number::Number;

mod call;
mod path;

const NODES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 32;
const KEYWORDS: [&str; 7] = ["true", "false", "null", "and", "or", "not", "in"];

pub(super) struct ParseResult {
    pub(super) root: Expr,
    pub(super) references: Vec<Reference>,
    pub(super) end: usize,
}

/// The whole text is one expression, in which `{{ e }}` counts as `(e)`.
pub(super) fn parse_whole(text: &str) -> Result<ParseResult, ExprError> {
    let mut parser = Parser::new(text, 0)?;
    let root = parser.expression()?.expr;
    if parser.current.token != Token::End {
        return Err(parser.unexpected("the end of the expression"));
    }
    Ok(parser.finish(root, text.len()))
}

/// The expression behind the `{{` that ends at `start`, up to and including its `}}`.
pub(super) fn parse_hole(text: &str, start: usize) -> Result<ParseResult, ExprError> {
    let mut parser = Parser::new(text, start)?;
    parser.inside_braces = true;
    let root = parser.expression()?.expr;
    if !parser.at_double("}}") {
        return Err(parser.unclosed_hole(start));
    }
    let end = parser.current.span.start + 2;
    Ok(parser.finish(root, end))
}

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    current: Lexeme<'t>,
    /// Where the token before `current` ended.
    previous_end: usize,
    depth: usize,
    nodes: usize,
    /// Parameters of the enclosing arrow functions, outermost first.
    locals: Vec<&'t str>,
    references: Vec<Reference>,
    inside_braces: bool,
}

/// How an expression was written, which decides what may stand next to it without parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpressionShape {
    Closed,
    Piped,
    Arithmetic,
}

struct Operand {
    expr: Expr,
    shape: ExpressionShape,
}

impl Operand {
    fn closed(expr: Expr) -> Self {
        let shape = ExpressionShape::Closed;
        Self { expr, shape }
    }
}

type Parse<T> = Result<T, ExprError>;

impl<'t> Parser<'t> {
    fn new(text: &'t str, start: usize) -> Parse<Self> {
        let mut lexer = Lexer::new(text, start);
        let current = lexer.next()?;
        Ok(Self {
            text,
            lexer,
            current,
            previous_end: start,
            depth: 0,
            nodes: 0,
            locals: Vec::new(),
            references: Vec::new(),
            inside_braces: false,
        })
    }

    fn finish(self, root: Expr, end: usize) -> ParseResult {
        let references = self.references;
        ParseResult {
            root,
            references,
            end,
        }
    }

    fn expression(&mut self) -> Parse<Operand> {
        self.nested(Self::conditional)
    }

    /// Every way to nest passes here, so that hostile text meets a limit and not the stack's end.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= DEPTH_MAX {
            return Err(too_deep(self.current.span));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn conditional(&mut self) -> Parse<Operand> {
        let condition = self.any()?;
        if !self.eat("?")? {
            return Ok(condition);
        }
        let yes = self.expression()?.expr;
        self.expect(":")?;
        let no = self.expression()?;
        self.refuse_pipe(&no, "the last part of `? :`")?;
        let span = condition.expr.span.to(no.expr.span);
        let parts = Box::new([condition.expr, yes, no.expr]);
        self.node(ExprKind::Condition(parts), span)
            .map(Operand::closed)
    }

    fn any(&mut self) -> Parse<Operand> {
        let first = self.all()?;
        self.chain(first, &["||", "or"], Self::all, ExprKind::Any)
    }

    fn all(&mut self) -> Parse<Operand> {
        let first = self.not()?;
        self.chain(first, &["&&", "and"], Self::not, ExprKind::All)
    }

    fn chain(
        &mut self,
        first: Operand,
        operators: &[&str],
        next: fn(&mut Self) -> Parse<Operand>,
        build: fn(Vec<Expr>) -> ExprKind,
    ) -> Parse<Operand> {
        if !self.at_any(operators) {
            return Ok(first);
        }
        let mut items = vec![first.expr];
        while self.at_any(operators) {
            self.advance()?;
            items.push(next(self)?.expr);
        }
        let span = self.span_from(items.first());
        self.node(build(items), span).map(Operand::closed)
    }

    fn not(&mut self) -> Parse<Operand> {
        let start = self.current.span;
        if !self.eat("not")? {
            return self.comparison();
        }
        let operand = self.nested(Self::not)?.expr;
        let span = start.to(operand.span);
        let kind = ExprKind::Not(Box::new(operand));
        self.node(kind, span).map(Operand::closed)
    }

    fn comparison(&mut self) -> Parse<Operand> {
        let left = self.coalesce()?;
        let Some(op) = self.compare_op()? else {
            return Ok(left);
        };
        let right = self.coalesce()?.expr;
        let span = left.expr.span.to(right.span);
        if self.at_compare_op() {
            return Err(ExprError::invalid("comparisons cannot be chained", span)
                .with_hint("write `a < b && b < c`, or use parentheses"));
        }
        let kind = ExprKind::Compare(op, Box::new([left.expr, right]));
        self.node(kind, span).map(Operand::closed)
    }

    fn at_compare_op(&self) -> bool {
        self.at_any(&["==", "!=", "<", "<=", ">", ">=", "in"])
    }

    fn compare_op(&mut self) -> Parse<Option<CompareOp>> {
        let op = match self.current.token {
            Token::Symbol("==") => CompareOp::Equal,
            Token::Symbol("!=") => CompareOp::NotEqual,
            Token::Symbol("<") => CompareOp::Less,
            Token::Symbol("<=") => CompareOp::LessOrEqual,
            Token::Symbol(">") => CompareOp::Greater,
            Token::Symbol(">=") => CompareOp::GreaterOrEqual,
            Token::Name("in") => CompareOp::In,
            Token::Name("not") => {
                self.advance()?;
                self.expect("in")?;
                return Ok(Some(CompareOp::NotIn));
            }
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(op))
    }

    fn coalesce(&mut self) -> Parse<Operand> {
        let references = self.references.len();
        let first = self.sum()?;
        if !self.at("??") {
            return Ok(first);
        }
        self.refuse_arithmetic(&first)?;
        let mut items = vec![first.expr];
        while self.eat("??")? {
            self.tolerate_since(references);
            let next = self.sum()?;
            self.refuse_arithmetic(&next)?;
            self.refuse_pipe(&next, "an operand of `??`")?;
            items.push(next.expr);
        }
        let span = self.span_from(items.first());
        self.node(ExprKind::Coalesce(items), span)
            .map(Operand::closed)
    }

    fn sum(&mut self) -> Parse<Operand> {
        self.arithmetic(Self::product, |token| match token {
            Token::Symbol("+") => Some(ArithmeticOp::Add),
            Token::Symbol("-") => Some(ArithmeticOp::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Parse<Operand> {
        self.arithmetic(Self::unary, |token| match token {
            Token::Symbol("*") => Some(ArithmeticOp::Multiply),
            Token::Symbol("/") => Some(ArithmeticOp::Divide),
            Token::Symbol("%") => Some(ArithmeticOp::Remainder),
            _ => None,
        })
    }

    fn arithmetic(
        &mut self,
        next: fn(&mut Self) -> Parse<Operand>,
        operator: fn(&Token<'_>) -> Option<ArithmeticOp>,
    ) -> Parse<Operand> {
        let first = next(self)?;
        let mut rest = Vec::new();
        while let Some(op) = operator(&self.current.token) {
            self.advance()?;
            let operand = next(self)?;
            self.refuse_pipe(&operand, "an operand of arithmetic")?;
            rest.push((op, operand.expr));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let span = Span::new(first.expr.span.start, self.previous_end);
        let kind = ExprKind::Arithmetic(Box::new(first.expr), rest);
        let shape = ExpressionShape::Arithmetic;
        let expr = self.node(kind, span)?;
        Ok(Operand { expr, shape })
    }

    fn unary(&mut self) -> Parse<Operand> {
        let start = self.current.span;
        if self.eat("!")? {
            let operand = self.nested(Self::unary)?.expr;
            let span = start.to(operand.span);
            return self
                .node(ExprKind::Not(Box::new(operand)), span)
                .map(Operand::closed);
        }
        if !self.eat("-")? {
            return self.piped();
        }
        let operand = self.nested(Self::unary)?;
        self.refuse_pipe(&operand, "the operand of `-`")?;
        let span = start.to(operand.expr.span);
        self.negation(operand.expr, span).map(Operand::closed)
    }

    /// A negative number is a literal, so that `items[-1]` is a static path.
    fn negation(&mut self, operand: Expr, span: Span) -> Parse<Expr> {
        let kind = match operand.kind {
            ExprKind::Literal(Literal::Number(number)) => {
                let negative = number
                    .negate()
                    .map_err(|fault| ExprError::math(fault, span))?;
                ExprKind::Literal(Literal::Number(negative))
            }
            _ => ExprKind::Negate(Box::new(operand)),
        };
        self.node(kind, span)
    }

    fn primary(&mut self) -> Parse<Expr> {
        let Lexeme { token, span } = self.current.clone();
        match token {
            Token::Name(name) => self.name(name, span),
            Token::Text(text) => self.literal(Literal::Text(text.into())),
            Token::Int(number) => self.literal(Literal::Number(Number::from_u64(number))),
            Token::Float(number) => self.literal(Literal::Number(Number::Float(number))),
            Token::Symbol("(") => self.parentheses(),
            Token::Symbol("[") => self.list(),
            Token::Symbol("{") if self.at_double("{{") => self.braces(),
            Token::Symbol("{") => self.object(),
            Token::Symbol(_) | Token::End => Err(self.unexpected("a value")),
        }
    }

    fn name(&mut self, name: &'t str, span: Span) -> Parse<Expr> {
        match name {
            "true" | "false" => self.literal(Literal::Bool(name == "true")),
            "null" => self.literal(Literal::Null),
            "and" | "or" | "in" | "not" => Err(self.unexpected("a value")),
            _ => {
                self.advance()?;
                match self.at("(") {
                    true => self.call(name, span),
                    false => self.path_from(self.base(name), span),
                }
            }
        }
    }

    fn base(&self, name: &str) -> Base {
        match self.locals.iter().rposition(|local| *local == name) {
            Some(slot) => Base::Local(slot),
            None => Base::Root(name.into()),
        }
    }

    fn literal(&mut self, literal: Literal) -> Parse<Expr> {
        let span = self.current.span;
        self.advance()?;
        self.node(ExprKind::Literal(literal), span)
    }

    fn parentheses(&mut self) -> Parse<Expr> {
        self.advance()?;
        let inner = self.expression()?.expr;
        self.expect(")")?;
        Ok(inner)
    }

    /// `{{ e }}` inside a condition.
    fn braces(&mut self) -> Parse<Expr> {
        let start = self.current.span.start;
        if self.inside_braces {
            let span = Span::new(start, start + 2);
            return Err(ExprError::invalid("`{{` inside `{{ }}`", span)
                .with_hint("inside the braces a path is written plainly: `{{ a + b }}`"));
        }
        self.inside_braces = true;
        self.advance()?;
        self.advance()?;
        let inner = self.expression()?.expr;
        if !self.at_double("}}") {
            return Err(self.unclosed_hole(start + 2));
        }
        self.advance()?;
        self.advance()?;
        self.inside_braces = false;
        Ok(inner)
    }

    fn list(&mut self) -> Parse<Expr> {
        let start = self.current.span;
        self.advance()?;
        let mut items = Vec::new();
        while !self.at("]") {
            items.push(self.expression()?.expr);
            if !self.eat(",")? {
                break;
            }
        }
        self.expect("]")?;
        let span = Span::new(start.start, self.previous_end);
        self.node(ExprKind::List(items), span)
    }

    fn object(&mut self) -> Parse<Expr> {
        let start = self.current.span;
        self.advance()?;
        let mut entries = Vec::new();
        while !self.at("}") {
            let key = self.object_key()?;
            self.expect(":")?;
            entries.push((key, self.expression()?.expr));
            self.count_node(start)?;
            if !self.eat(",")? {
                break;
            }
        }
        self.expect("}")?;
        let span = Span::new(start.start, self.previous_end);
        self.node(ExprKind::Object(entries), span)
    }

    fn object_key(&mut self) -> Parse<ObjectKey> {
        let key = match &self.current.token {
            Token::Name(name) => ObjectKey::Static((*name).into()),
            Token::Text(text) => ObjectKey::Static(text.as_str().into()),
            Token::Symbol("[") => return self.computed_key(),
            _ => return Err(self.unexpected("a key")),
        };
        self.advance()?;
        Ok(key)
    }

    fn computed_key(&mut self) -> Parse<ObjectKey> {
        self.advance()?;
        let key = self.expression()?.expr;
        self.expect("]")?;
        Ok(ObjectKey::Computed(key))
    }

    fn node(&mut self, kind: ExprKind, span: Span) -> Parse<Expr> {
        self.count_node(span)?;
        let height = kind.height();
        if height > DEPTH_MAX {
            return Err(too_deep(span));
        }
        Ok(Expr { kind, span, height })
    }

    fn count_node(&mut self, span: Span) -> Parse<()> {
        self.nodes += 1;
        if self.nodes <= NODES_MAX {
            return Ok(());
        }
        let message = format!("the expression has more than {NODES_MAX} parts");
        Err(ExprError::limit(message, span).with_hint("compute part of it in an earlier step"))
    }

    fn advance(&mut self) -> Parse<()> {
        let next = self.lexer.next()?;
        self.previous_end = self.current.span.end;
        self.current = next;
        Ok(())
    }

    /// Is the current token this symbol or keyword?
    fn at(&self, wanted: &str) -> bool {
        match self.current.token {
            Token::Symbol(symbol) => symbol == wanted,
            Token::Name(name) => name == wanted,
            _ => false,
        }
    }

    fn at_any(&self, wanted: &[&str]) -> bool {
        wanted.iter().any(|symbol| self.at(symbol))
    }

    /// Are the two braces written together? Alone, `}` also ends an object.
    fn at_double(&self, braces: &str) -> bool {
        let here = self.text.get(self.current.span.start..);
        here.is_some_and(|rest| rest.starts_with(braces))
    }

    fn eat(&mut self, wanted: &str) -> Parse<bool> {
        let found = self.at(wanted);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, wanted: &str) -> Parse<()> {
        match self.eat(wanted)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{wanted}`"))),
        }
    }

    fn span_from(&self, first: Option<&Expr>) -> Span {
        let start = first.map_or(self.previous_end, |expr| expr.span.start);
        Span::new(start, self.previous_end)
    }

    fn tolerate_since(&mut self, first: usize) {
        for reference in self.references.iter_mut().skip(first) {
            reference.optional = true;
        }
    }

    fn refuse_pipe(&self, operand: &Operand, place: &str) -> Parse<()> {
        if operand.shape != ExpressionShape::Piped {
            return Ok(());
        }
        let message = format!("it is unclear what the pipe behind {place} applies to");
        Err(ExprError::invalid(message, operand.expr.span)
            .with_hint("use parentheses: `(a + b) | round` or `a + (b | round)`"))
    }

    fn refuse_arithmetic(&self, operand: &Operand) -> Parse<()> {
        if operand.shape != ExpressionShape::Arithmetic {
            return Ok(());
        }
        let message = "`??` next to arithmetic needs parentheses";
        Err(ExprError::invalid(message, operand.expr.span)
            .with_hint("write `(a ?? 0) + 1` or `a ?? (0 + 1)`"))
    }

    fn unexpected(&self, wanted: &str) -> ExprError {
        let found = match &self.current.token {
            Token::End => "the end".to_owned(),
            Token::Name(name) => format!("`{}`", clipped(name)),
            Token::Text(_) => "text".to_owned(),
            Token::Int(_) | Token::Float(_) => "a number".to_owned(),
            Token::Symbol(symbol) => format!("`{symbol}`"),
        };
        let message = format!("expected {wanted}, found {found}");
        ExprError::invalid(message, self.current.span)
    }

    fn unclosed_hole(&self, start: usize) -> ExprError {
        let mut error = self.unexpected("`}}`");
        if self.current.token == Token::End {
            error.span = Span::new(start.saturating_sub(2), self.text.len());
            error.message = "`{{` has no closing `}}`".to_owned();
        }
        error.with_hint("a literal `{{` is written `{{'{{'}}`")
    }
}

fn too_deep(span: Span) -> ExprError {
    let message = format!("the expression is nested deeper than {DEPTH_MAX} levels");
    ExprError::limit(message, span).with_hint("compute part of it in an earlier step")
}

/// Names come from the author's text and may be of any length; messages stay readable.
pub(super) fn clipped(name: &str) -> &str {
    const CHARS_MAX: usize = 120;
    match name.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}
