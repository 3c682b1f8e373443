//! Hidden input: reads a text that is typed and not echoed.

use std::io::{self, ErrorKind, Read as _, Write as _};

use haft_model::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// How much may be typed, or be given on standard input.
const MOST: u64 = 64 * 1024;

/// Keys that mean something here, because the terminal itself no longer looks at them.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const ERASE: [u8; 2] = [8, 127];

/// Prompts for a text without echo; `None` where the person gave up.
pub(crate) fn ask(question: &str) -> io::Result<Option<Secret>> {
    // Silence first: a person who reads the question may type at once.
    let silence = Silence::begin()?;
    let mut err = io::stderr();
    write!(err, "{question}")?;
    err.flush()?;
    let typed = line();
    drop(silence);
    writeln!(err)?;
    typed
}

/// All of standard input, without the end of its last line.
pub(crate) fn given() -> io::Result<Secret> {
    let mut text = String::new();
    io::stdin().take(MOST + 1).read_to_string(&mut text)?;
    let text = Secret::new(text);
    if text.expose().len() as u64 > MOST {
        return Err(io::Error::other(format!("it is longer than {MOST} bytes")));
    }
    let plain = text.expose().strip_suffix('\n').unwrap_or(text.expose());
    Ok(Secret::new(plain.strip_suffix('\r').unwrap_or(plain).to_owned()))
}

fn line() -> io::Result<Option<Secret>> {
    let mut typed = Vec::with_capacity(MOST as usize);
    for byte in io::stdin().lock().bytes() {
        match byte? {
            b'\n' | b'\r' | END => break,
            INTERRUPT => return Ok(None),
            byte if ERASE.contains(&byte) => erase(&mut typed),
            byte if (typed.len() as u64) < MOST => typed.push(byte),
            _ => return Err(io::Error::other(format!("it is longer than {MOST} bytes"))),
        }
    }
    let text = String::from_utf8(typed);
    text.map(|text| Some(Secret::new(text)))
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text"))
}

/// Takes the last letter back, all bytes of it.
fn erase(typed: &mut Vec<u8>) {
    while typed.pop().is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {}
}

/// A terminal that shows nothing, until this is dropped.
struct Silence(Termios);

impl Silence {
    fn begin() -> io::Result<Silence> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        // Keys that would end the process are only letters now, since a process that is ended here
        // would leave the terminal silent.
        silent.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Silence(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_taken_back_whole() {
        let mut typed = "aü€".as_bytes().to_vec();
        erase(&mut typed);
        assert_eq!(typed, "aü".as_bytes());
        erase(&mut typed);
        erase(&mut typed);
        erase(&mut typed);
        assert!(typed.is_empty());
    }
}
