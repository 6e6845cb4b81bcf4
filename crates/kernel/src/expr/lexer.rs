//! Text to tokens, one at a time.
//!
//! Tokens are made on demand because a template is expression text only up to its `}}`: nothing
//! behind that point may be looked at.

use super::error::{ExprError, Span};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Text(String),
    Int(u64),
    Float(f64),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Lexeme<'t> {
    pub(super) token: Token<'t>,
    pub(super) span: Span,
}

/// Longest first, because the first that fits is taken.
const SYMBOLS: [&str; 28] = [
    "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "+", "-", "*", "/", "%", "<", ">", "!",
    "?", ":", ",", ".", "(", ")", "[", "]", "{", "}", "|",
];

#[derive(Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    position: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, position: usize) -> Self {
        Self { text, position }
    }

    pub(super) fn next(&mut self) -> Result<Lexeme<'t>, ExprError> {
        self.take_while(char::is_whitespace);
        let start = self.position;
        let token = match self.peek() {
            None => Token::End,
            Some('"' | '\'') => self.text_literal()?,
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some(c) if starts_name(c) => Token::Name(self.take_while(continues_name)),
            Some(c) => self.symbol(c)?,
        };
        let span = Span::new(start, self.position);
        Ok(Lexeme { token, span })
    }

    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.position += next.len_utf8();
        Some(next)
    }

    fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    fn symbol(&mut self, first: char) -> Result<Token<'t>, ExprError> {
        let rest = self.rest();
        let fits = |symbol: &&&str| rest.starts_with(**symbol) && !is_ternary(symbol, rest);
        match SYMBOLS.iter().find(fits) {
            Some(symbol) => {
                self.position += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            None => Err(self.unexpected(first)),
        }
    }

    fn unexpected(&self, found: char) -> ExprError {
        let span = Span::new(self.position, self.position + found.len_utf8());
        let error = ExprError::invalid(format!("unexpected character {found:?}"), span);
        match found {
            '=' => error.with_hint("compare with `==`"),
            '&' => error.with_hint("`and` is written `&&`"),
            '`' => error.with_hint("quote text with ' or \""),
            _ => error,
        }
    }

    fn number(&mut self) -> Result<Token<'t>, ExprError> {
        let start = self.position;
        self.take_while(|c| c.is_ascii_digit());
        let fraction = self.take_fraction();
        let exponent = self.take_exponent();
        let digits = &self.text[start..self.position];
        let span = Span::new(start, self.position);
        let parsed = if fraction || exponent {
            digits
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .map(Token::Float)
        } else {
            digits.parse().ok().map(Token::Int)
        };
        parsed.ok_or_else(|| {
            ExprError::invalid("the number is too large", span)
                .with_hint("large exact numbers are written decimal(\"…\")")
        })
    }

    fn take_fraction(&mut self) -> bool {
        let mut ahead = self.rest().chars();
        let found = ahead.next() == Some('.') && ahead.next().is_some_and(|c| c.is_ascii_digit());
        if found {
            self.position += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        found
    }

    fn take_exponent(&mut self) -> bool {
        let rest = self.rest();
        let Some(tail) = rest.strip_prefix(['e', 'E']) else {
            return false;
        };
        let digits = tail.strip_prefix(['+', '-']).unwrap_or(tail);
        let found = digits.starts_with(|c: char| c.is_ascii_digit());
        if found {
            self.position += rest.len() - digits.len();
            self.take_while(|c| c.is_ascii_digit());
        }
        found
    }

    fn text_literal(&mut self) -> Result<Token<'t>, ExprError> {
        let start = self.position;
        let quote = self.bump();
        let mut text = String::new();
        loop {
            match self.bump() {
                None => {
                    let span = Span::new(start, self.text.len());
                    return Err(ExprError::invalid("the text has no closing quote", span));
                }
                end if end == quote => return Ok(Token::Text(text)),
                Some('\\') => text.push(self.escape()?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ExprError> {
        let start = self.position.saturating_sub(1);
        let plain = match self.bump() {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('u') => self.unicode_escape(),
            Some(c @ ('\\' | '\'' | '"' | '/' | '{' | '}')) => Some(c),
            _ => None,
        };
        plain.ok_or_else(|| {
            let span = Span::new(start, self.position);
            ExprError::invalid("unknown escape in text", span)
                .with_hint("a backslash itself is written `\\\\`")
        })
    }

    /// Four hexadecimal digits, two such escapes that form a surrogate pair, or `\u{1F600}`.
    fn unicode_escape(&mut self) -> Option<char> {
        if let Some(tail) = self.rest().strip_prefix('{') {
            let digits = &tail[..tail.find('}')?];
            self.position += digits.len() + 2;
            return char::from_u32(u32::from_str_radix(digits, 16).ok()?);
        }
        let first = self.four_hex_digits()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        self.position += self.rest().strip_prefix("\\u").map(|_| 2)?;
        let second = self.four_hex_digits()?;
        let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + low)
    }

    fn four_hex_digits(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        self.position += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

/// `a?.5:1` is a condition with the number `.5` in every language that has both; here it is read
/// the same way, so that the error is about the number and not about a member called `5`.
fn is_ternary(symbol: &str, rest: &str) -> bool {
    symbol == "?." && rest[2..].starts_with(|c: char| c.is_ascii_digit())
}

fn starts_name(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn continues_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Can `name` be written behind a dot, without brackets and quotes?
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(starts_name) && name.chars().all(continues_name)
}
