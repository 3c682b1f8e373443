//! Panic isolation of drivers, hooks and prompts: a panic becomes an error, and the call still ends
//! in an envelope.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that resolves to an error with the panic's message.
pub(crate) struct CatchPanic<F>(pub(crate) F);

impl<F: Future + Unpin> Future for CatchPanic<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // A future that panicked is never polled again, so its broken state is never observed.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.0).poll(context)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            Err(payload) => Poll::Ready(Err(words(payload.as_ref()))),
        }
    }
}

/// Calls a closure and turns its panic into an error with the panic's message.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| words(payload.as_ref()))
}

fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.as_deref().unwrap_or("no reason was given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer_in_words() {
        let said: Result<(), String> = caught(|| panic!("number {}", 3));
        assert_eq!(said, Err("it panicked: number 3".to_owned()));
        assert_eq!(caught(|| 3), Ok(3));
    }
}
