//! Paths: `a.b[0]["c d"]`, with `?.` and `?.[ ]` for what may be missing.

use super::super::ast::{Base, Expr, ExprKind, Literal, Path, PathSegment, Reference};
use super::super::ast::{Segment, SegmentKey};
use super::super::error::{ExprError, Span};
use super::super::lexer::Token;
use super::super::number::Number;
use super::{Parse, Parser};

impl Parser<'_> {
    /// A value and what follows it: members and elements.
    pub(super) fn postfix(&mut self) -> Parse<Expr> {
        let start = self.current.span.start;
        let value = self.primary()?;
        if !self.at_any(&[".", "?.", "["]) {
            return Ok(value);
        }
        let span = Span::new(start, self.previous_end);
        self.path_from(Base::Expr(Box::new(value)), span)
    }

    pub(super) fn path_from(&mut self, base: Base, base_span: Span) -> Parse<Expr> {
        let mut segments = Vec::new();
        while let Some(segment) = self.segment()? {
            self.count_node(base_span)?;
            segments.push(segment);
        }
        let span = Span::new(base_span.start, self.previous_end);
        if let Base::Root(root) = &base {
            self.references.push(reference(root, &segments, span));
        }
        let base_end = base_span.end;
        let path = Path {
            base,
            base_end,
            segments,
        };
        self.node(ExprKind::Path(path), span)
    }

    fn segment(&mut self) -> Parse<Option<PathSegment>> {
        let optional = self.at("?.");
        let key = if self.eat("[")? {
            self.bracketed_key()?
        } else if self.eat(".")? || self.eat("?.")? {
            match optional && self.eat("[")? {
                true => self.bracketed_key()?,
                false => self.member_name()?,
            }
        } else {
            return Ok(None);
        };
        let end = self.previous_end;
        Ok(Some(PathSegment { key, optional, end }))
    }

    fn member_name(&mut self) -> Parse<SegmentKey> {
        let Token::Name(name) = self.current.token else {
            let hint = "other names are written `a[\"b c\"]`, elements `a[0]`";
            return Err(self.unexpected("a name behind the dot").with_hint(hint));
        };
        let span = self.current.span;
        self.advance()?;
        if self.at("(") {
            return Err(ExprError::invalid("values have no methods", span)
                .with_hint("functions are written `upper(a)` or `a | upper`"));
        }
        Ok(SegmentKey::Key(name.into()))
    }

    fn bracketed_key(&mut self) -> Parse<SegmentKey> {
        let key = self.expression()?.expr;
        self.expect("]")?;
        Ok(match key.kind {
            ExprKind::Literal(Literal::Text(name)) => SegmentKey::Key(name),
            ExprKind::Literal(Literal::Number(Number::Int(index))) => SegmentKey::Index(index),
            _ => SegmentKey::Dynamic(key),
        })
    }
}

fn reference(root: &str, segments: &[PathSegment], span: Span) -> Reference {
    let mut path = vec![Segment::Key(root.to_owned())];
    path.extend(segments.iter().map(|segment| match &segment.key {
        SegmentKey::Key(name) => Segment::Key(name.to_string()),
        SegmentKey::Index(index) => Segment::Index(*index),
        SegmentKey::Dynamic(_) => Segment::Dynamic,
    }));
    let optional = segments.iter().any(|segment| segment.optional);
    Reference {
        path,
        span,
        optional,
    }
}
