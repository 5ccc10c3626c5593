//! The words of a formula, each with its place.

use crate::error::Error;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Number(f64),
    Text(String),
    /// A name, or a word of the language.
    Name(String),
    /// A name in backquotes: any characters, and never a word of the language.
    Quoted(String),
    Mark(&'static str),
    End,
}

/// Longer ones first, so that `<=` is not read as `<`.
const MARKS: [&str; 18] =
    ["**", "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", ","];

/// What other languages write, and what to write instead.
const FOREIGN: [(&str, &str); 12] = [
    ("&&", "and"),
    ("||", "or"),
    ("&", "and"),
    ("|", "or"),
    ("!", "not"),
    ("=<", "<="),
    ("=>", ">="),
    ("<>", "!="),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("=", "=="),
];

/// A fault at a place of a formula, counted in bytes.
pub(crate) fn fault(text: &str, at: usize, problem: impl Into<String>) -> Error {
    let character = text[..at].chars().count() + 1;
    let rest: String = text[at..].chars().take(24).collect();
    let place = match rest.trim_end() {
        "" => "at its end".to_owned(),
        rest => format!("at character {character} (`{rest}`)"),
    };
    Error::BadExpression { text: text.to_owned(), at: character, place, problem: problem.into() }
}

/// The words of a formula with the byte at which each begins; the last one is
/// [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Error> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = if first.is_ascii_digit() || (first == '.' && starts_fraction(rest)) {
            number(text, at)?
        } else if first.is_alphabetic() || first == '_' {
            let length = name_length(rest);
            (Token::Name(rest[..length].to_owned()), length)
        } else if matches!(first, '"' | '\'' | '`') {
            quoted(text, at, first)?
        } else if let Some(mark) = MARKS.iter().find(|it| rest.starts_with(**it) && !rest.starts_with("<>")) {
            (Token::Mark(mark), mark.len())
        } else {
            let instead = FOREIGN.iter().find(|it| rest.starts_with(it.0));
            let problem = match instead {
                Some((foreign, own)) => format!("`{foreign}` means nothing here; write `{own}`"),
                None => format!("`{first}` means nothing here"),
            };
            return Err(fault(text, at, problem));
        };
        all.push((at, token));
        at += length;
    }
    all.push((text.len(), Token::End));
    Ok(all)
}

/// The formulas that a formula joins by `and`: itself, if it is anything else.
pub(crate) fn conjuncts(text: &str) -> Result<Vec<&str>, Error> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, token) in tokens(text)? {
        match token {
            Token::Mark("(" | "[") => depth += 1,
            Token::Mark(")" | "]") => depth = depth.saturating_sub(1),
            Token::Name(it) if it == "or" && depth == 0 => return Ok(vec![text]),
            Token::Name(it) if it == "and" && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + "and".len();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    Ok(parts)
}

fn starts_fraction(rest: &str) -> bool {
    rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
}

/// Letters, digits and underscores, with dots between them.
fn name_length(rest: &str) -> usize {
    let part = |it: char| it.is_alphanumeric() || it == '_';
    let mut characters = rest.char_indices().peekable();
    while let Some((at, it)) = characters.next() {
        let dot = it == '.' && characters.peek().is_some_and(|next| part(next.1));
        if !part(it) && !dot {
            return at;
        }
    }
    rest.len()
}

fn number(text: &str, at: usize) -> Result<(Token, usize), Error> {
    let bytes = &text.as_bytes()[at..];
    let is_number = |index: usize| match bytes[index] {
        b'0'..=b'9' | b'.' | b'_' | b'e' | b'E' => true,
        b'+' | b'-' => matches!(bytes[index - 1], b'e' | b'E'),
        _ => false,
    };
    let length = 1 + (1..bytes.len()).take_while(|it| is_number(*it)).count();
    let word = &text[at..at + length];
    match word.replace('_', "").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Number(value), length)),
        _ => Err(fault(text, at, format!("`{word}` is no finite number"))),
    }
}

fn quoted(text: &str, at: usize, quote: char) -> Result<(Token, usize), Error> {
    let inner = &text[at + 1..];
    let Some(end) = inner.find(quote) else {
        return Err(fault(text, at, format!("the {quote} that ends it is missing")));
    };
    let word = inner[..end].to_owned();
    Ok((if quote == '`' { Token::Quoted(word) } else { Token::Text(word) }, end + 2))
}
