//! A text with expressions in it, read in the way that a field of a node reads it: for editors, which show what it gives.

use serde_json::Value;

use super::ast::{Reference, Segment};
use super::error::{ExprError, Span};
use super::meter::Meter;
use super::template::{Encoding, Template};
use super::{Expression, Scope};

/// How a field reads its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMode {
    Template,
    /// As `Template`, with values in path and query percent-encoded.
    Url,
    /// The whole text is an expression.
    Expression,
}

impl TextMode {
    pub const ALL: [Self; 3] = [Self::Template, Self::Url, Self::Expression];

    pub fn name(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Url => "url",
            Self::Expression => "expression",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// A text that compiles and reads no secret.
#[derive(Clone, Debug)]
pub enum WrittenText {
    Template(Template),
    Expression(Expression),
}

impl WrittenText {
    /// Secrets are never shown, so a text that names them has no result here.
    pub fn compile(text: &str, mode: TextMode) -> Result<Self, ExprError> {
        let template = |encoding| Template::compile(text, encoding).map(Self::Template);
        let compiled = match mode {
            TextMode::Template => template(Encoding::Text),
            TextMode::Url => template(Encoding::Url),
            TextMode::Expression => Expression::compile(text).map(Self::Expression),
        }?;
        match compiled.secret() {
            None => Ok(compiled),
            Some(span) => Err(ExprError::invalid("secrets are never shown", span)
                .with_hint("the node gets the value when it runs")),
        }
    }

    fn secret(&self) -> Option<Span> {
        let is_secret = |reference: &&Reference| matches!(reference.path.first(), Some(Segment::Key(root)) if root == "secrets");
        let found = match self {
            Self::Template(template) => template.references().into_iter().find(is_secret),
            Self::Expression(expression) => expression.references().iter().find(is_secret),
        };
        found.map(|reference| reference.span)
    }

    pub fn evaluate(&self, scope: &Scope<'_>, meter: &mut Meter) -> Result<Value, ExprError> {
        match self {
            Self::Template(template) => template.render(scope, meter),
            Self::Expression(expression) => expression.evaluate(scope, meter),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{ErrorCode, Limits};
    use super::*;

    fn shown(text: &str, mode: TextMode) -> Result<Value, ExprError> {
        let Value::Object(roots) = json!({"input": {"n": 2, "t": "a b"}, "secrets": {"KEY": "x"}})
        else {
            unreachable!()
        };
        let scope = Scope::new(&roots, 0, "e", 1);
        WrittenText::compile(text, mode)?.evaluate(&scope, &mut Meter::new(Limits::default()))
    }

    #[test]
    fn each_mode_reads_as_its_fields_do() {
        assert_eq!(shown("{{input.n}}", TextMode::Template), Ok(json!(2)));
        assert_eq!(shown("n={{input.n}}", TextMode::Template), Ok(json!("n=2")));
        let url = shown("http://h/{{input.t}}", TextMode::Url);
        assert_eq!(url, Ok(json!("http://h/a%20b")));
        assert_eq!(shown("{{input.n}} + 1", TextMode::Expression), Ok(json!(3)));
    }

    #[test]
    fn no_text_shows_a_secret() {
        let texts = [
            "secrets.KEY",
            "len(secrets)",
            "{{secrets['KEY']}}",
            "1 > 2 ? secrets.KEY : 1",
            "map([1], x => secrets[input.t])",
        ];
        for text in texts {
            let refused = shown(text, TextMode::Expression).unwrap_err();
            assert_eq!(refused.code, ErrorCode::ExpressionError, "{text}");
            assert!(
                text[refused.span.start..refused.span.end].contains("secrets"),
                "{text}"
            );
        }
        assert!(shown("{{secrets.KEY}}", TextMode::Template).is_err());
        assert!(shown("http://h/{{secrets.KEY}}", TextMode::Url).is_err());
    }
}
