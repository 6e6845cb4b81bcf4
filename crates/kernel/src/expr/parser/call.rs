//! Calls, pipes and arrow functions.

use super::*;

impl<'t> Parser<'t> {
    pub(super) fn piped(&mut self) -> Parse<Operand> {
        let references = self.references.len();
        let mut value = self.postfix()?;
        let mut shape = ExpressionShape::Closed;
        while self.eat("|")? {
            value = self.pipe(value, references)?;
            shape = ExpressionShape::Piped;
        }
        let expr = value;
        Ok(Operand { expr, shape })
    }

    /// `value | name` and `value | name(more)` are `name(value, more)`.
    fn pipe(&mut self, value: Expr, references: usize) -> Parse<Expr> {
        let Token::Name(name) = self.current.token else {
            let hint = "a pipe leads to a function: `name | upper`; \"or\" is written `||`";
            return Err(self.unexpected("a function").with_hint(hint));
        };
        let function = self.function(name)?;
        let start = value.span;
        self.advance()?;
        if function.tolerates(0) {
            self.tolerate_since(references);
        }
        let mut arguments = vec![value];
        if self.at("(") {
            self.arguments(function, &mut arguments)?;
        }
        self.finish_call(function, arguments, start.start)
    }

    pub(super) fn call(&mut self, name: &'t str, span: Span) -> Parse<Expr> {
        let function = functions::find(name).ok_or_else(|| unknown(name, span))?;
        let mut arguments = Vec::new();
        self.arguments(function, &mut arguments)?;
        self.finish_call(function, arguments, span.start)
    }

    fn function(&self, name: &str) -> Parse<&'static FunctionDoc> {
        functions::find(name).ok_or_else(|| unknown(name, self.current.span))
    }

    fn arguments(&mut self, function: &'static FunctionDoc, into: &mut Vec<Expr>) -> Parse<()> {
        self.expect("(")?;
        while !self.at(")") {
            let position = into.len();
            let references = self.references.len();
            into.push(self.argument(function, position)?);
            if function.tolerates(position) {
                self.tolerate_since(references);
            }
            if !self.eat(",")? {
                break;
            }
        }
        self.expect(")")
    }

    fn argument(&mut self, function: &FunctionDoc, position: usize) -> Parse<Expr> {
        let wanted = function.arrow_at(position);
        match (self.arrow_parameters(), wanted) {
            (Some(parameters), Some(most)) => self.nested(|p| p.arrow(parameters, most)),
            (None, None) => Ok(self.expression()?.expr),
            (Some(_), None) => Err(self.misplaced_arrow(function, "takes no function here")),
            (None, Some(_)) => Err(self.misplaced_arrow(function, "needs a function here")),
        }
    }

    fn misplaced_arrow(&self, function: &FunctionDoc, problem: &str) -> ExprError {
        let message = format!("`{}` {problem}", function.name);
        let hint = format!("its form is `{}`", function.signature);
        ExprError::invalid(message, self.current.span).with_hint(hint)
    }

    /// The parameters of `x => …` or `(x, y) => …`, if that is what comes next. Nothing is
    /// consumed; only names and commas are looked at, so looking costs little.
    fn arrow_parameters(&self) -> Option<Vec<&'t str>> {
        let mut ahead = self.lexer.clone();
        let mut next = || ahead.next().ok().map(|lexeme| lexeme.token);
        let mut parameters = Vec::new();
        match self.current.token {
            Token::Name(name) => parameters.push(name),
            Token::Symbol("(") => loop {
                let Token::Name(name) = next()? else {
                    return None;
                };
                parameters.push(name);
                match next()? {
                    Token::Symbol(",") => {}
                    Token::Symbol(")") => break,
                    _ => return None,
                }
            },
            _ => return None,
        }
        (next()? == Token::Symbol("=>")).then_some(parameters)
    }

    fn arrow(&mut self, parameters: Vec<&'t str>, most: usize) -> Parse<Expr> {
        let start = self.current.span;
        while !self.at("=>") {
            self.advance()?;
        }
        let head = start.to(self.current.span);
        self.check_parameters(&parameters, most, head)?;
        self.advance()?;
        let outer = self.locals.len();
        let count = parameters.len();
        self.locals.extend(parameters);
        let body = self.expression()?.expr;
        self.locals.truncate(outer);
        let span = start.to(body.span);
        let arrow = Arrow {
            parameters: count,
            body: Box::new(body),
        };
        self.node(ExprKind::Arrow(arrow), span)
    }

    fn check_parameters(&self, parameters: &[&str], most: usize, span: Span) -> Parse<()> {
        if parameters.len() > most {
            let message = format!("the function is given {most} values at most");
            return Err(ExprError::invalid(message, span));
        }
        match parameters.iter().find(|name| KEYWORDS.contains(name)) {
            Some(name) => {
                let message = format!("`{name}` is a keyword and cannot name a parameter");
                Err(ExprError::invalid(message, span))
            }
            None => Ok(()),
        }
    }

    fn finish_call(
        &mut self,
        function: &'static FunctionDoc,
        arguments: Vec<Expr>,
        start: usize,
    ) -> Parse<Expr> {
        let span = Span::new(start, self.previous_end);
        if !function.accepts(arguments.len()) {
            let message = format!("`{}` is given {} arguments", function.name, arguments.len());
            let hint = format!("its form is `{}`", function.signature);
            return Err(ExprError::invalid(message, span).with_hint(hint));
        }
        self.node(ExprKind::Call(function, arguments), span)
    }
}

fn unknown(name: &str, span: Span) -> ExprError {
    let message = format!("there is no function `{}`", clipped(name));
    let error = ExprError::invalid(message, span);
    let names = functions::functions().iter().map(|function| function.name);
    match super::super::nearest::nearest(name, names) {
        Some(known) => error.with_hint(format!("did you mean `{known}`?")),
        None => error.with_hint("the functions are listed in docs/expressions.md"),
    }
}
