//! From the text of a formula to its tree.

use std::fmt;

use memscape_study::Unknown;
use serde::{Deserialize, Serialize};

use super::datum::{Datum, Sort};
use super::term::{Comparison, Function, Kind, Operator, Term};
use super::token::{Token, fault, tokens};
use crate::error::Error;

/// A formula over parameters and columns.
///
/// ```text
/// or       = and { "or" and }
/// and      = not { "and" not }
/// not      = "not" not | compared
/// compared = sum { ("<" | "<=" | ">" | ">=" | "==" | "!=") sum }
///          | sum ["not"] "in" "[" or { "," or } "]"
/// sum      = product { ("+" | "-") product }
/// product  = signed { ("*" | "/" | "//" | "%") signed }
/// signed   = "-" signed | power
/// power    = atom [ "**" signed ]
/// atom     = number | "text" | 'text' | true | false | null | name | "(" or ")"
///          | (min | max | abs | sqrt | log2 | log10 | floor | ceil | round) "(" or { "," or } ")"
/// name     = letters, digits and `_`, with dots between them; anything in backquotes
/// ```
///
/// It means what it means in Python, with two differences: what is computed from null
/// is null (`== null` and `!= null` can be asked), and a constraint that comes out
/// null does not hold. Numbers are 64-bit floats.
///
/// ```
/// use memscape_explore::Expression;
///
/// let small = Expression::parse("pim.registers * memory.banks_per_channel <= 512 and weight_bytes <= 16e9")?;
/// let names: Vec<&str> = small.names().collect();
/// assert_eq!(names, ["pim.registers", "memory.banks_per_channel", "weight_bytes"]);
/// let error = Expression::parse("pim.registers * <= 512").unwrap_err().to_string();
/// assert!(error.contains("at character 17 (`<= 512`)"), "{error}");
/// # Ok::<(), memscape_explore::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expression {
    text: String,
    /// Each name once, and where it first stands.
    names: Vec<(String, usize)>,
    root: Term,
}

/// Longer texts are more likely a mistake than a question.
const MOST_BYTES: usize = 2000;

/// Nor is anybody's formula nested deeper.
const MOST_DEPTH: usize = 64;

impl Expression {
    /// Reads a formula.
    ///
    /// # Errors
    /// [`Error::BadExpression`] points at the character.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MOST_BYTES {
            let problem = format!("it is longer than {MOST_BYTES} bytes; give several constraints");
            let end = (0..=24).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
            return Err(fault(&text[..end], end, problem));
        }
        let mut parser = Parser { text, tokens: tokens(text)?, next: 0, depth: 0, names: Vec::new() };
        let root = parser.or()?;
        match parser.peek() {
            Token::End => Ok(Self { text: text.to_owned(), names: parser.names, root }),
            Token::Name(_) | Token::Number(_) | Token::Text(_) | Token::Quoted(_) => {
                Err(parser.expected("`and`, `or` or an operator"))
            }
            Token::Mark(_) => Err(parser.expected("an operator or the end")),
        }
    }

    /// The formula as given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Each name once, in the order in which they stand.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|it| it.0.as_str())
    }

    /// That it can come out as wanted, where its names, in order, are of these sorts.
    pub(crate) fn check(&self, names: &[Option<Sort>], wanted: Sort, what: &str) -> Result<(), Error> {
        self.root.expect(&self.text, names, wanted, what).map(drop)
    }

    /// That a text which a name is held against is one of those that it may be, where `of` knows them.
    pub(crate) fn check_texts(&self, of: impl Fn(&str) -> Option<Vec<String>>) -> Result<(), Error> {
        let mut texts = Vec::new();
        self.root.texts(&mut texts);
        texts.into_iter().try_for_each(|(name, text, at)| {
            let name = &self.names[name].0;
            match of(name) {
                Some(known) if !known.iter().any(|it| it == text) => {
                    let unknown = Unknown::new(name, text, known.iter().map(String::as_str));
                    Err(fault(&self.text, at, format!("`{name}` is never `{text}`{}", unknown.hint())))
                }
                _ => Ok(()),
            }
        })
    }

    /// A fault at the place where a name first stands.
    pub(crate) fn fault_at(&self, name: usize, problem: impl Into<String>) -> Error {
        fault(&self.text, self.names[name].1, problem)
    }

    /// The value, where its names, in order, stand for `data`.
    #[inline]
    pub(crate) fn value<'a>(&'a self, data: &[Datum<'a>]) -> Datum<'a> {
        self.root.value(data)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Expression {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl From<Expression> for String {
    fn from(expression: Expression) -> Self {
        expression.text
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
    names: Vec<(String, usize)>,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    fn expected(&self, what: &str) -> Error {
        fault(self.text, self.at(), format!("expected {what}"))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Name(it) if it == word);
        self.next += usize::from(found);
        found
    }

    fn takes_mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(it) if *it == mark);
        self.next += usize::from(found);
        found
    }

    fn needs_mark(&mut self, mark: &str) -> Result<(), Error> {
        if self.takes_mark(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    /// One level deeper.
    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Result<Term, Error>) -> Result<Term, Error> {
        if self.depth == MOST_DEPTH {
            let problem = format!("it is nested deeper than {MOST_DEPTH} levels");
            return Err(fault(self.text, self.at(), problem));
        }
        self.depth += 1;
        let term = parse(self);
        self.depth -= 1;
        term
    }

    fn or(&mut self) -> Result<Term, Error> {
        self.nested(|it| it.logic("or", Self::and))
    }

    fn and(&mut self) -> Result<Term, Error> {
        self.logic("and", Self::not)
    }

    fn logic(
        &mut self,
        word: &str,
        operand: impl Fn(&mut Self) -> Result<Term, Error>,
    ) -> Result<Term, Error> {
        let at = self.at();
        let mut terms = vec![operand(self)?];
        while self.takes_word(word) {
            terms.push(operand(self)?);
        }
        match terms.len() {
            1 => Ok(terms.remove(0)),
            _ => Ok(Term { at, kind: Kind::Logic(word == "and", terms) }),
        }
    }

    fn not(&mut self) -> Result<Term, Error> {
        let at = self.at();
        if self.takes_word("not") {
            let inner = self.nested(Self::not)?;
            return Ok(Term { at, kind: Kind::Not(Box::new(inner)) });
        }
        self.compared()
    }

    fn compared(&mut self) -> Result<Term, Error> {
        let at = self.at();
        let first = self.sum()?;
        let negated = matches!(self.peek(), Token::Name(it) if it == "not");
        self.next += usize::from(negated);
        if self.takes_word("in") {
            self.needs_mark("[")?;
            let given = self.list("]")?;
            return Ok(Term { at, kind: Kind::Among(Box::new(first), given, negated) });
        }
        if negated {
            return Err(self.expected("`in`"));
        }
        let mut rest = Vec::new();
        while let Some(comparison) = self.comparison() {
            rest.push((comparison, self.sum()?));
        }
        match rest.len() {
            0 => Ok(first),
            _ => Ok(Term { at, kind: Kind::Compare(Box::new(first), rest) }),
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let Token::Mark(mark) = self.peek() else { return None };
        let found = match *mark {
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            _ => return None,
        };
        self.next += 1;
        Some(found)
    }

    fn sum(&mut self) -> Result<Term, Error> {
        self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<Term, Error> {
        let operators = [
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("//", Operator::DivideFloor),
            ("%", Operator::Remainder),
        ];
        self.chain(&operators, Self::signed)
    }

    fn chain(
        &mut self,
        operators: &[(&str, Operator)],
        operand: impl Fn(&mut Self) -> Result<Term, Error>,
    ) -> Result<Term, Error> {
        let at = self.at();
        let mut term = operand(self)?;
        while let Token::Mark(mark) = self.peek() {
            let Some((_, operator)) = operators.iter().find(|it| it.0 == *mark) else { break };
            self.next += 1;
            let other = operand(self)?;
            term = Term { at, kind: Kind::Arithmetic(*operator, Box::new(term), Box::new(other)) };
        }
        Ok(term)
    }

    fn signed(&mut self) -> Result<Term, Error> {
        let at = self.at();
        if self.takes_mark("-") {
            let inner = self.nested(Self::signed)?;
            return Ok(Term { at, kind: Kind::Negative(Box::new(inner)) });
        }
        let base = self.atom()?;
        if self.takes_mark("**") {
            let power = self.nested(Self::signed)?;
            return Ok(Term { at, kind: Kind::Arithmetic(Operator::Power, Box::new(base), Box::new(power)) });
        }
        Ok(base)
    }

    fn atom(&mut self) -> Result<Term, Error> {
        let at = self.at();
        let kind = match self.peek().clone() {
            Token::Number(it) => Kind::Number(it),
            Token::Text(it) => Kind::Text(it),
            Token::Quoted(it) => self.name(it, at),
            Token::Name(it) => match it.as_str() {
                "true" => Kind::Bool(true),
                "false" => Kind::Bool(false),
                "null" => Kind::Null,
                "and" | "or" | "not" | "in" => {
                    return Err(self.expected("a number, a text, a name or `(`"));
                }
                _ if self.tokens[self.next + 1].1 == Token::Mark("(") => return self.call(&it),
                _ => self.name(it, at),
            },
            Token::Mark("(") => {
                self.next += 1;
                let mut inner = self.or()?;
                self.needs_mark(")")?;
                inner.at = at;
                return Ok(inner);
            }
            _ => return Err(self.expected("a number, a text, a name or `(`")),
        };
        self.next += 1;
        Ok(Term { at, kind })
    }

    fn name(&mut self, name: String, at: usize) -> Kind {
        let known = self.names.iter().position(|it| it.0 == name);
        Kind::Name(known.unwrap_or_else(|| {
            self.names.push((name, at));
            self.names.len() - 1
        }))
    }

    fn call(&mut self, name: &str) -> Result<Term, Error> {
        let at = self.at();
        let Some((_, function)) = Function::ALL.iter().find(|it| it.0 == name) else {
            let names: Vec<&str> = Function::ALL.iter().map(|it| it.0).collect();
            let problem =
                format!("there is no function `{name}`; there are {}", memscape_study::list(&names));
            return Err(fault(self.text, at, problem));
        };
        self.next += 2;
        let given = self.list(")")?;
        if given.len() > 1 && !function.takes_several() {
            return Err(fault(self.text, at, format!("`{name}` takes one value, not {}", given.len())));
        }
        Ok(Term { at, kind: Kind::Call(*function, given) })
    }

    /// At least one value, and what ends them.
    fn list(&mut self, end: &str) -> Result<Vec<Term>, Error> {
        let mut all = vec![self.or()?];
        while self.takes_mark(",") {
            all.push(self.or()?);
        }
        if self.takes_mark(end) { Ok(all) } else { Err(self.expected(&format!("`,` or `{end}`"))) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> String {
        let expression = Expression::parse(text).unwrap();
        let data: Vec<Datum<'_>> = expression
            .names()
            .map(|it| match it {
                "a" => Datum::Number(7.0),
                "b.c" => Datum::Number(2.0),
                "mode" => Datum::Text("in-turn"),
                "on" => Datum::Bool(true),
                _ => Datum::Null,
            })
            .collect();
        match expression.value(&data) {
            Datum::Null => "null".to_owned(),
            Datum::Bool(it) => it.to_string(),
            Datum::Number(it) => it.to_string(),
            Datum::Text(it) => it.to_owned(),
        }
    }

    #[test]
    fn formulas_mean_what_they_mean_in_python() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("2 ** 3 ** 2", "512"),
            ("-2 ** 2", "-4"),
            ("2 ** -1", "0.5"),
            ("10 - 4 - 3", "3"),
            ("a // b.c * 10 + a % b.c", "31"),
            ("-7 % 3", "2"),
            ("7 // -2 + 7 % -2", "-5"),
            ("1 // 0.1 + 0.5 // 0.001", "508"),
            ("1 % 0.1", "0.09999999999999995"),
            ("1_000 + 16e9", "16000001000"),
            (".5 + 1.5e-1", "0.65"),
            ("min(a, b.c, 3) + max(a, 1) + abs(-1)", "10"),
            ("log2(8) + sqrt(4) + floor(1.9) + ceil(0.1) + round(2.6)", "10"),
            ("1 < b.c < 3", "true"),
            ("1 < b.c < 2", "false"),
            ("a > 1 and not b.c > 1 or on", "true"),
            ("mode == 'in-turn' and mode != \"x\"", "true"),
            ("a in [1, 7]", "true"),
            ("mode not in ['x']", "true"),
            ("`b.c` + a", "9"),
            // What is not there decides nothing.
            ("gone < 1", "null"),
            ("not gone < 1", "null"),
            ("gone < 1 or on", "true"),
            ("gone < 1 and not on", "false"),
            ("gone == null", "true"),
            ("a != null", "true"),
            ("gone in [1]", "null"),
            ("a / 0 > 1e300", "true"),
            ("a == 'seven'", "false"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    fn error(text: &str) -> String {
        Expression::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_fault_is_pointed_at() {
        insta::assert_snapshot!(error("a * <= 5"), @"`a * <= 5`: expected a number, a text, a name or `(` at character 5 (`<= 5`)");
        insta::assert_snapshot!(error("(a + 1"), @"`(a + 1`: expected `)` at its end");
        insta::assert_snapshot!(error("a = 5"), @"`a = 5`: `=` means nothing here; write `==` at character 3 (`= 5`)");
        insta::assert_snapshot!(error("a > 1 && b > 1"), @"`a > 1 && b > 1`: `&&` means nothing here; write `and` at character 7 (`&& b > 1`)");
        insta::assert_snapshot!(error("a b"), @"`a b`: expected `and`, `or` or an operator at character 3 (`b`)");
        insta::assert_snapshot!(error("a == 'x"), @"`a == 'x`: the ' that ends it is missing at character 6 (`'x`)");
        insta::assert_snapshot!(error("sin(a)"), @"`sin(a)`: there is no function `sin`; there are `min`, `max`, `abs`, `sqrt`, `log2`, `log10`, `floor`, `ceil`, `round` at character 1 (`sin(a)`)");
        insta::assert_snapshot!(error("abs(a, 1)"), @"`abs(a, 1)`: `abs` takes one value, not 2 at character 1 (`abs(a, 1)`)");
        insta::assert_snapshot!(error("1e999 < a"), @"`1e999 < a`: `1e999` is no finite number at character 1 (`1e999 < a`)");
        for (foreign, own) in
            [("=<", "<="), ("=>", ">="), ("<>", "!="), ("≤", "<="), ("≥", ">="), ("≠", "!=")]
        {
            let told = error(&format!("a {foreign} 5"));
            assert!(told.contains(&format!("`{foreign}` means nothing here; write `{own}`")), "{told}");
        }
        insta::assert_snapshot!(error("µ = 1"), @"`µ = 1`: `=` means nothing here; write `==` at character 3 (`= 1`)");
        insta::assert_snapshot!(error("a not 5"), @"`a not 5`: expected `in` at character 7 (`5`)");
        insta::assert_snapshot!(error(""), @"``: expected a number, a text, a name or `(` at its end");
        assert!(error(&"(".repeat(500)).contains("nested deeper than 64 levels"));
        assert!(error(&"not ".repeat(400)).contains("nested deeper"));
        assert!(error(&"é".repeat(2000)).contains("longer than 2000 bytes"));
    }

    #[test]
    fn sorts_that_do_not_fit_are_refused_in_advance() {
        let check = |text: &str| {
            let it = Expression::parse(text).unwrap();
            let sorts: Vec<Option<Sort>> = it
                .names()
                .map(|it| match it {
                    "mode" => Some(Sort::Text),
                    "on" => Some(Sort::Bool),
                    "any" => None,
                    _ => Some(Sort::Number),
                })
                .collect();
            it.check(&sorts, Sort::Bool, "a constraint is").map_err(|it| it.to_string())
        };
        for fine in ["a < 1", "on", "any == 'x' or any < 1", "mode < 'x'", "not on", "mode == null"] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        insta::assert_snapshot!(check("a + 1").unwrap_err(), @"`a + 1`: a constraint is true or false, and this is a number at character 1 (`a + 1`)");
        insta::assert_snapshot!(check("a < mode").unwrap_err(), @"`a < mode`: a number cannot be compared with a text at character 5 (`mode`)");
        insta::assert_snapshot!(check("mode * 2 < 1").unwrap_err(), @"`mode * 2 < 1`: arithmetic takes a number, and this is a text at character 1 (`mode * 2 < 1`)");
        insta::assert_snapshot!(check("on and a").unwrap_err(), @"`on and a`: `and` takes true or false, and this is a number at character 8 (`a`)");
        insta::assert_snapshot!(check("on < true").unwrap_err(), @"`on < true`: true and false have no order; use `==`, `not`, `and`, `or` at character 6 (`true`)");
    }

    proptest! {
        /// Nothing panics, and what is refused says where.
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9.<>=!()\\[\\]+*/%', \"`é-]{0,40}") {
            if let Err(error) = Expression::parse(&text) {
                let Error::BadExpression { at, .. } = error else { panic!("{error}") };
                prop_assert!(at <= text.chars().count() + 1);
            }
        }
    }
}
