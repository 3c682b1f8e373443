//! Argv splitting: splits a command that a manifest writes as one text, without a shell.

/// Shell operators; a command that uses one is refused.
const OPERATORS: [char; 9] = ['|', '&', ';', '<', '>', '(', ')', '`', '\n'];

/// Splits a command into words. `~` and `$NAME` expand through `known`, and an expansion is never
/// split again.
pub(crate) fn split(
    text: &str,
    known: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars().peekable();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => {
                let next = letters.next().ok_or("it ends in a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (_, '$') => {
                let name = name(&mut letters)?;
                let value = known(&name).ok_or_else(|| format!("`${name}` is not set"))?;
                word.get_or_insert_default().push_str(&value);
            }
            (None, '~') if word.is_none() && matches!(letters.peek(), None | Some('/')) => {
                word = Some(known("HOME").ok_or("there is no home folder")?);
            }
            (None, _) if OPERATORS.contains(&letter) => {
                return Err(format!("`{letter}` means nothing: no shell reads it"));
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (_, _) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

/// Reads the variable name after a `$`, with or without braces.
fn name(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<String, String> {
    let braced = letters.next_if_eq(&'{').is_some();
    let mut name = String::new();
    while let Some(letter) =
        letters.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
    {
        name.push(letter);
    }
    let closed = !braced || letters.next_if_eq(&'}').is_some();
    match closed && !name.is_empty() {
        true => Ok(name),
        false => Err("a `$` is followed by no plain name".to_owned()),
    }
}
