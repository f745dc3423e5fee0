//! Parses the text of expressions.
//!
//! ```text
//! sum    = term (("+" | "-") term)*
//! term   = factor (("*" | "/" | "%") factor)*        "/" rounds down, "%" is the remainder of floor division
//! factor = "-" factor | number | name | "(" sum ")" | ("min" | "max") "(" sum ("," sum)* ")"
//! ```
//!
//! The result is in the normal form of the constructors. Sums and products are distributed before they are
//! normalised, so that a printed expression parses back to the same expression.

mod token;

use super::min_max::{Extremum, extremum_sum};
use super::renormalize::in_normal_form;
use super::{Sum, SymExpr};
use crate::interval::Interval;
use crate::symbols::{Origin, Symbols};
use token::{Token, tokens};

pub(crate) use token::{is_word, quoted, word_or_quoted};

/// The maximum nesting of parentheses, calls and signs.
const MAX_DEPTH: u32 = 64;
/// The maximum number of tokens.
const MAX_TOKENS: usize = 4096;
/// The maximum number of terms of a sum before normalisation.
const MAX_TERMS: usize = 128;

/// The reason why an expression could not be parsed, and the position.
///
/// ```
/// # use snick::Symbols;
/// let error = Symbols::default().parse("2*(3+)").unwrap_err();
/// assert_eq!(error.offset, 5);
/// assert_eq!(error.to_string(), "expected a number, a name or `(`, found `)` at character 6 of `2*(3+)`");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} at character {} of `{text}`", self.column())]
#[non_exhaustive]
pub struct ExprError {
    /// The text of the expression.
    pub text: String,
    /// The byte offset of the error.
    pub offset: usize,
    /// The kind of error.
    pub kind: ExprErrorKind,
}

impl ExprError {
    fn column(&self) -> usize {
        self.text.get(..self.offset).map_or(0, |before| before.chars().count()).saturating_add(1)
    }
}

/// The kind of syntax error in an expression.
///
/// ```
/// # use snick::{ExprErrorKind, Symbols};
/// let error = Symbols::default().parse("2*x").unwrap_err();
/// assert_eq!(error.kind, ExprErrorKind::UnknownSymbol("x".into()));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExprErrorKind {
    /// An unexpected token.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The expected kind of token.
        expected: &'static str,
        /// The token that was found.
        found: String,
    },
    /// A name that is not in the symbol table.
    #[error("unknown symbol `{0}`")]
    UnknownSymbol(String),
    /// A number or coefficient does not fit in 64 bits, or the expression exceeds a size limit.
    #[error("the expression is too large")]
    TooLarge,
    /// Parentheses are nested too deeply.
    #[error("parentheses are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// Division by an expression that can be 0.
    #[error("the divisor may be 0; its values are {0}")]
    ZeroDivisor(Interval),
}

type Result<T> = std::result::Result<T, ExprError>;

impl Symbols {
    /// Parses an expression over symbols of this table: `+`, `-`, `*`, `/` (rounded down), `%`, `min`, `max`
    /// and parentheses. Also parses the output of [`Symbols::display`], in which `s3` is symbol 3 if this
    /// symbol has no name, and names that are not words are in backticks.
    ///
    /// A sign binds tighter than division, as in Python: `-7/2` is -4.
    ///
    /// # Errors
    /// [`ExprError`] with the position. To declare unknown names, use [`Symbols::parse_or_declare`].
    ///
    /// ```
    /// use snick::{Interval, Origin, Symbols};
    ///
    /// let mut symbols = Symbols::default();
    /// let width = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let tiles = symbols.parse("(W+31)/32")?;
    /// assert_eq!(tiles, symbols.ceil_div(&width, &32.into()).unwrap());
    /// assert_eq!(symbols.parse(&symbols.display(&tiles).to_string())?, tiles);
    /// assert_eq!(symbols.parse("H+1").unwrap_err().to_string(), "unknown symbol `H` at character 1 of `H+1`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(&self, text: &str) -> Result<SymExpr> {
        let tokens = tokens(text, MAX_TOKENS)?;
        let mut parser = Parser { symbols: self, text, tokens: &tokens, next: 0, depth: 0 };
        let sum = parser.sum()?;
        parser.expect(&Token::End, "an operator or the end")?;
        in_normal_form(self, sum).ok_or_else(|| error(text, 0, ExprErrorKind::TooLarge))
    }

    /// Like [`Symbols::parse`], but declares unknown names as symbols within `interval`. On error, declares
    /// nothing.
    ///
    /// # Errors
    /// Same as [`Symbols::parse`], except for unknown names.
    ///
    /// ```
    /// use snick::{Interval, Origin, Symbols};
    ///
    /// let mut symbols = Symbols::default();
    /// let area = symbols.parse_or_declare("H*W", Interval::DIM, Origin::default())?;
    /// assert_eq!(symbols.len(), 2);
    /// assert_eq!(symbols.parse("W*H"), Ok(area));
    /// # Ok::<(), snick::ExprError>(())
    /// ```
    pub fn parse_or_declare(&mut self, text: &str, interval: Interval, origin: Origin) -> Result<SymExpr> {
        let tokens = tokens(text, MAX_TOKENS)?;
        let mut declared: Option<Self> = None;
        for name in names_of(&tokens) {
            if declared.as_ref().unwrap_or(self).labelled(name).is_some() {
                continue;
            }
            // Cannot fail: the symbol is new, so no other interval can contradict this one.
            let table = declared.get_or_insert_with(|| self.clone());
            let _ = table.named(name, interval, origin);
        }
        let Some(declared) = declared else { return self.parse(text) };
        let expr = declared.parse(text)?;
        *self = declared;
        Ok(expr)
    }
}

/// The names of symbols in order of first use, without duplicates.
pub(crate) fn names(text: &str) -> Result<Vec<String>> {
    let tokens = tokens(text, MAX_TOKENS)?;
    let mut names: Vec<String> = Vec::new();
    for name in names_of(&tokens) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Words that are not function calls.
fn names_of(tokens: &[(usize, Token)]) -> impl Iterator<Item = &str> {
    let is_call = |index: usize| tokens.get(index + 1).is_some_and(|(_, next)| *next == Token::Sign('('));
    tokens.iter().enumerate().filter_map(move |(index, (_, token))| match token {
        Token::Name(name) if !is_call(index) => Some(name.as_str()),
        _ => None,
    })
}

fn error(text: &str, offset: usize, kind: ExprErrorKind) -> ExprError {
    ExprError { text: text.to_owned(), offset, kind }
}

struct Parser<'a> {
    symbols: &'a Symbols,
    text: &'a str,
    tokens: &'a [(usize, Token)],
    next: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |(offset, _)| *offset)
    }

    /// Consumes the next token if it is one of these signs.
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let Token::Sign(sign) = self.peek() else { return None };
        signs.contains(sign).then(|| {
            self.next += 1;
            *sign
        })
    }

    fn expect(&mut self, token: &Token, expected: &'static str) -> Result<()> {
        if self.peek() != token {
            return Err(self.unexpected(expected));
        }
        self.next += 1;
        Ok(())
    }

    fn unexpected(&self, expected: &'static str) -> ExprError {
        let found = self.peek().to_string();
        error(self.text, self.offset(), ExprErrorKind::Unexpected { expected, found })
    }

    /// Checks the size limits.
    fn checked(&self, offset: usize, sum: Option<Sum>) -> Result<Sum> {
        sum.filter(|sum| sum.terms.len() <= MAX_TERMS)
            .ok_or_else(|| error(self.text, offset, ExprErrorKind::TooLarge))
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(error(self.text, self.offset(), ExprErrorKind::TooDeep));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Result<Sum> {
        let mut total = self.term(false)?;
        loop {
            let offset = self.offset();
            let next = match self.sign(&['+', '-']) {
                Some('+') => total.plus_scaled(&self.term(false)?, 1),
                Some(_) => total.plus_scaled(&self.term(true)?, 1),
                None => return Ok(total),
            };
            total = self.checked(offset, next)?;
        }
    }

    /// A term, negated if `is_negative`.
    fn term(&mut self, is_negative: bool) -> Result<Sum> {
        let start = self.offset();
        // i64::MIN has no positive counterpart, so its sign is part of the number.
        let least = is_negative && self.least_number();
        let mut product = if least { Sum::constant(i64::MIN) } else { self.factor()? };
        loop {
            let offset = self.offset();
            let Some(sign) = self.sign(&['*', '/', '%']) else { break };
            if least && sign != '*' {
                return Err(error(self.text, start, ExprErrorKind::TooLarge));
            }
            let second = self.offset();
            let factor = self.factor()?;
            product = match sign {
                '*' => self.checked(offset, product.times(&factor))?,
                _ => self.divided(offset, product, second, factor, sign == '%')?,
            };
        }
        if is_negative && !least { self.checked(start, product.scaled(-1)) } else { Ok(product) }
    }

    /// The quotient `a / b`, or the remainder if `is_remainder`.
    fn divided(&self, offset: usize, a: Sum, second: usize, b: Sum, is_remainder: bool) -> Result<Sum> {
        let too_large = || error(self.text, offset, ExprErrorKind::TooLarge);
        let a = in_normal_form(self.symbols, a).ok_or_else(too_large)?;
        let b = in_normal_form(self.symbols, b).ok_or_else(too_large)?;
        let range = self.symbols.interval(&b);
        if range.contains(0) {
            return Err(error(self.text, second, ExprErrorKind::ZeroDivisor(range)));
        }
        let quotient = self.symbols.floor_div(&a, &b).ok_or_else(too_large)?;
        let quotient = quotient.sum().into_owned();
        let result = if is_remainder {
            quotient.times(&b.sum()).and_then(|whole| a.sum().plus_scaled(&whole, -1))
        } else {
            Some(quotient)
        };
        self.checked(offset, result)
    }

    fn factor(&mut self) -> Result<Sum> {
        let offset = self.offset();
        match self.peek() {
            Token::Sign('-') => {
                self.next += 1;
                if self.least_number() {
                    return Ok(Sum::constant(i64::MIN));
                }
                let factor = self.deeper(Self::factor)?;
                self.checked(offset, factor.scaled(-1))
            }
            Token::Sign('(') => {
                self.next += 1;
                let sum = self.deeper(Self::sum)?;
                self.expect(&Token::Sign(')'), "an operator or `)`")?;
                Ok(sum)
            }
            Token::Number(number) => {
                self.next += 1;
                self.checked(offset, i64::try_from(*number).ok().map(Sum::constant))
            }
            Token::Name(name) => {
                self.next += 1;
                if *self.peek() == Token::Sign('(') {
                    return self.call(offset, name);
                }
                let unknown = || error(self.text, offset, ExprErrorKind::UnknownSymbol(name.clone()));
                let id = self.symbols.labelled(name).ok_or_else(unknown)?;
                // A symbol with a single possible value becomes that value, as in `Symbols::named`.
                let exact = self.symbols.symbol_interval(id).is_exact();
                Ok(exact.map_or(SymExpr::Symbol(id), SymExpr::Const).sum().into_owned())
            }
            Token::Sign(_) | Token::End => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    /// Consumes the next token if it is 2^63, the magnitude of the smallest i64.
    fn least_number(&mut self) -> bool {
        let found = *self.peek() == Token::Number(i64::MIN.unsigned_abs());
        self.next += usize::from(found);
        found
    }

    /// Parses the operands of a minimum or maximum, and returns the result.
    fn call(&mut self, offset: usize, name: &str) -> Result<Sum> {
        let kind = match name {
            "min" => Extremum::Min,
            "max" => Extremum::Max,
            _ => {
                let found = format!("`{name}(`");
                let kind = ExprErrorKind::Unexpected { expected: "`min(`, `max(` or an operator", found };
                return Err(error(self.text, offset, kind));
            }
        };
        self.next += 1;
        let mut operands = Vec::new();
        loop {
            let at = self.offset();
            let operand = self.deeper(Self::sum)?;
            let normal = in_normal_form(self.symbols, operand).map(|expr| expr.sum().into_owned());
            operands.push(self.checked(at, normal)?);
            if self.sign(&[',']).is_none() {
                break;
            }
        }
        self.expect(&Token::Sign(')'), "an operator, `,` or `)`")?;
        let result = extremum_sum(self.symbols, kind, &operands);
        self.checked(offset, result)
    }
}

#[cfg(test)]
#[path = "parse/tests.rs"]
mod tests;
