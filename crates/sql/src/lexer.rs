//! The words of a statement: as much of the two dialects as it takes to know what is text, what is a name, what is a
//! placeholder, and where a statement ends. It reads what the database would read; where it cannot be sure (a string
//! that never ends), it says so instead of guessing.

/// Which database a text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    Postgres,
    Sqlite,
}

impl Dialect {
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword or a name without quotes.
    Word,
    QuotedName,
    /// A string of any spelling.
    Text,
    Number,
    /// `$1` or `?1`.
    Position,
    /// `:name`.
    Name,
    /// A placeholder of SQLite that has no counterpart elsewhere: `?`, `@name`, `$name`.
    Odd,
    Open,
    Close,
    End,
    Symbol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'a str,
    /// Where it begins, in bytes.
    pub(crate) start: usize,
}

impl Token<'_> {
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// A name as the database knows it, without its quotes.
    pub(crate) fn name(&self) -> Option<String> {
        match self.kind {
            TokenKind::Word => Some(self.text.to_lowercase()),
            TokenKind::QuotedName => {
                let inner = &self.text[1..self.text.len() - 1];
                Some(inner.replace("\"\"", "\"").replace("``", "`"))
            }
            _ => None,
        }
    }
}

/// Something was opened and never closed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnclosedToken(pub(crate) &'static str);

pub(crate) fn tokens(text: &str, dialect: Dialect) -> Result<Vec<Token<'_>>, UnclosedToken> {
    let mut lexer = Lexer {
        text,
        at: 0,
        dialect,
    };
    let mut found = Vec::new();
    loop {
        lexer.skip_blank()?;
        let start = lexer.at;
        if start >= text.len() {
            return Ok(found);
        }
        let kind = lexer.token()?;
        found.push(Token {
            kind,
            text: &text[start..lexer.at],
            start,
        });
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn goes_on_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || byte == b'$'
}

impl Lexer<'_> {
    /// Past the end it is NUL, which no statement may hold.
    fn byte(&self, ahead: usize) -> u8 {
        let bytes = self.text.as_bytes();
        bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is_postgres(&self) -> bool {
        self.dialect == Dialect::Postgres
    }

    fn done(&self) -> bool {
        self.at >= self.text.len()
    }

    fn skip_blank(&mut self) -> Result<(), UnclosedToken> {
        loop {
            match (self.byte(0), self.byte(1)) {
                (b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, _) => self.at += 1,
                (b'-', b'-') => self.skip_line(),
                (b'/', b'*') => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// PostgreSQL ends a line comment at either end of line, SQLite at the line feed only.
    fn skip_line(&mut self) {
        let postgres = self.is_postgres();
        let ends = |byte: u8| byte == b'\n' || (postgres && byte == b'\r');
        while !self.done() && !ends(self.byte(0)) {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) -> Result<(), UnclosedToken> {
        let mut depth = 0;
        while !self.done() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') if depth == 0 || self.is_postgres() => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.at += 1,
            }
        }
        Err(UnclosedToken("a comment"))
    }

    fn token(&mut self) -> Result<TokenKind, UnclosedToken> {
        match self.byte(0) {
            b'\'' => self.string(false),
            b'"' => self.quoted(b'"'),
            b'`' if !self.is_postgres() => self.quoted(b'`'),
            b'[' if !self.is_postgres() => self.bracketed(),
            b'$' => self.dollar(),
            b'?' => Ok(self.question()),
            b':' => Ok(self.colon()),
            b'@' if !self.is_postgres() && begins_name(self.byte(1)) => {
                self.at += 1;
                self.take_name();
                Ok(TokenKind::Odd)
            }
            byte if begins_name(byte) => self.word(),
            byte if byte.is_ascii_digit() => Ok(self.number()),
            byte => {
                self.at += 1;
                Ok(match byte {
                    b'(' => TokenKind::Open,
                    b')' => TokenKind::Close,
                    b';' => TokenKind::End,
                    _ => TokenKind::Symbol,
                })
            }
        }
    }

    fn take_name(&mut self) {
        while goes_on_name(self.byte(0)) {
            self.at += 1;
        }
    }

    /// A word, or a string with escapes: `E'…'`.
    fn word(&mut self) -> Result<TokenKind, UnclosedToken> {
        let escapes = matches!(self.byte(0), b'e' | b'E') && self.byte(1) == b'\'';
        if escapes && self.is_postgres() {
            self.at += 1;
            return self.string(true);
        }
        self.take_name();
        Ok(TokenKind::Word)
    }

    fn number(&mut self) -> TokenKind {
        while matches!(self.byte(0), b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') {
            self.at += 1;
        }
        TokenKind::Number
    }

    fn string(&mut self, escapes: bool) -> Result<TokenKind, UnclosedToken> {
        self.at += 1;
        while !self.done() {
            match (self.byte(0), self.byte(1)) {
                (b'\'', b'\'') => self.at += 2,
                (b'\'', _) => {
                    self.at += 1;
                    if !self.continues()? {
                        return Ok(TokenKind::Text);
                    }
                }
                (b'\\', _) if escapes => self.at += 2,
                _ => self.at += 1,
            }
        }
        Err(UnclosedToken("a string"))
    }

    /// In PostgreSQL a string goes on after a line break and a quote, by the same rules as it began.
    fn continues(&mut self) -> Result<bool, UnclosedToken> {
        if !self.is_postgres() {
            return Ok(false);
        }
        let end = self.at;
        let mut broken = false;
        loop {
            match (self.byte(0), self.byte(1)) {
                (b'\n' | b'\r', _) => {
                    broken = true;
                    self.at += 1;
                }
                (b' ' | b'\t' | 0x0b | 0x0c, _) => self.at += 1,
                (b'-', b'-') => self.skip_line(),
                (b'\'', _) if broken => {
                    self.at += 1;
                    return Ok(true);
                }
                _ => {
                    self.at = end;
                    return Ok(false);
                }
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<TokenKind, UnclosedToken> {
        self.at += 1;
        while !self.done() {
            if self.byte(0) != quote {
                self.at += 1;
            } else if self.byte(1) == quote {
                self.at += 2;
            } else {
                self.at += 1;
                return Ok(TokenKind::QuotedName);
            }
        }
        Err(UnclosedToken("a quoted name"))
    }

    fn bracketed(&mut self) -> Result<TokenKind, UnclosedToken> {
        while !self.done() {
            self.at += 1;
            if self.byte(0) == b']' {
                self.at += 1;
                return Ok(TokenKind::QuotedName);
            }
        }
        Err(UnclosedToken("a name in brackets"))
    }

    /// `$1`, `$tag$…$tag$`, or what SQLite takes for a name.
    fn dollar(&mut self) -> Result<TokenKind, UnclosedToken> {
        self.at += 1;
        if self.byte(0).is_ascii_digit() {
            self.take_digits();
            return Ok(TokenKind::Position);
        }
        if !self.is_postgres() {
            self.take_name();
            return Ok(TokenKind::Odd);
        }
        let begin = self.at;
        while goes_on_name(self.byte(0)) && self.byte(0) != b'$' {
            self.at += 1;
        }
        if self.byte(0) != b'$' {
            self.at = begin;
            return Ok(TokenKind::Symbol);
        }
        self.at += 1;
        let mark = &self.text[begin - 1..self.at];
        match self.text[self.at..].find(mark) {
            Some(length) => {
                self.at += length + mark.len();
                Ok(TokenKind::Text)
            }
            None => Err(UnclosedToken("a dollar-quoted string")),
        }
    }

    fn take_digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// `?1` everywhere; a lone `?` is an operator of PostgreSQL and a placeholder of SQLite.
    fn question(&mut self) -> TokenKind {
        self.at += 1;
        match self.byte(0) {
            b'0'..=b'9' => {
                self.take_digits();
                TokenKind::Position
            }
            _ if self.is_postgres() => TokenKind::Symbol,
            _ => TokenKind::Odd,
        }
    }

    /// `:name`, or a cast `::`, or a colon.
    fn colon(&mut self) -> TokenKind {
        self.at += 1;
        if self.byte(0) == b':' {
            self.at += 1;
            return TokenKind::Symbol;
        }
        if !begins_name(self.byte(0)) {
            return TokenKind::Symbol;
        }
        self.take_name();
        TokenKind::Name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, text: &str, expected: &[&str]) {
        let found = tokens(text, dialect).unwrap();
        let found: Vec<&str> = found.iter().map(|token| token.text).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn postgres_reads_its_strings_comments_and_quotes() {
        let pg = Dialect::Postgres;
        check(pg, "SELECT 'a;''b' ;", &["SELECT", "'a;''b'", ";"]);
        check(pg, r"E'a\';b' 'a\'", &[r"E'a\';b'", r"'a\'"]);
        check(
            pg,
            "E'a' -- c'\n 'b\\'; x' y",
            &["E'a' -- c'\n 'b\\'; x'", "y"],
        );
        check(pg, "'a' 'b'", &["'a'", "'b'"]);
        check(pg, "a /* x /* ; */ ' */ b -- ; '\nc", &["a", "b", "c"]);
        check(pg, "$$ ; ' $$ $x$ $$ ; $x$", &["$$ ; ' $$", "$x$ $$ ; $x$"]);
        check(pg, "a$1 $1+$2", &["a$1", "$1", "+", "$2"]);
        check(pg, "\"a\"\";\" x", &["\"a\"\";\"", "x"]);
        check(
            pg,
            "a::int :b ?1 c ? d",
            &["a", "::", "int", ":b", "?1", "c", "?", "d"],
        );
        check(pg, "x -- a\ry", &["x", "y"]);
    }

    #[test]
    fn sqlite_reads_its_own() {
        let lite = Dialect::Sqlite;
        check(lite, r"'a\' x", &[r"'a\'", "x"]);
        check(lite, "a /* /* */ b", &["a", "b"]);
        check(lite, "[a;b] `c;d` \"e\"", &["[a;b]", "`c;d`", "\"e\""]);
        check(lite, "? ?1 @a $b :c", &["?", "?1", "@a", "$b", ":c"]);
        check(lite, "E'a' 'b'", &["E", "'a'", "'b'"]);
        check(lite, "'ä' ö", &["'ä'", "ö"]);
    }

    #[test]
    fn what_never_ends_is_refused() {
        for text in ["'a", "E'a\\'", "\"a", "/* /* */", "$a$ $b$", "'a'\n'b"] {
            assert!(tokens(text, Dialect::Postgres).is_err(), "{text}");
        }
        for text in ["'a", "\"a", "/* a", "[a", "`a"] {
            assert!(tokens(text, Dialect::Sqlite).is_err(), "{text}");
        }
    }
}
