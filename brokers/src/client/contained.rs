//! What a library's panic costs: its connection, and nothing else. Some panic where the system has no thread for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::contract::{Client, Failure, Sent};
use crate::Message;

/// A connection whose panics are failures.
pub(super) struct Contained {
    client: Box<dyn Client>,
    /// It has panicked since it was last sent to.
    panicked: Option<Failure>,
}

impl Contained {
    /// The connection that a call makes.
    ///
    /// # Errors
    /// Those of the call; a panic is [`Failure::Lost`].
    pub fn connect(
        connect: impl FnOnce() -> Result<Box<dyn Client>, Failure>,
    ) -> Result<Box<dyn Client>, Failure> {
        let client = catch_unwind(AssertUnwindSafe(connect)).unwrap_or_else(|panic| Err(lost(&*panic)))?;
        Ok(Box::new(Self { client, panicked: None }))
    }
}

impl Client for Contained {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        if let Some(failure) = self.panicked.take() {
            return Sent::up_to(0, failure);
        }
        let send = AssertUnwindSafe(|| self.client.send(messages));
        // What it may have sent comes again, which is allowed.
        catch_unwind(send).unwrap_or_else(|panic| Sent::up_to(0, lost(&*panic)))
    }

    fn idle(&mut self) {
        if self.panicked.is_none() {
            let idle = AssertUnwindSafe(|| self.client.idle());
            self.panicked = catch_unwind(idle).err().map(|panic| lost(&*panic));
        }
    }
}

fn lost(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it does not say why");
    Failure::Lost(format!("its client has panicked: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It has no thread for anything.
    struct Panics;

    impl Client for Panics {
        fn send(&mut self, _: &[Arc<Message>]) -> Sent {
            panic!("{} threads", 0)
        }

        fn idle(&mut self) {
            panic!("no thread")
        }
    }

    #[test]
    fn a_client_that_panics_has_lost_its_connection_and_its_words_are_kept() {
        let said = |words: &str| Some(Failure::Lost(format!("its client has panicked: {words}")));
        let mut client = Contained::connect(|| Ok(Box::new(Panics))).unwrap();
        assert_eq!(client.send(&[]).failure, said("0 threads"));
        client.idle();
        client.idle();
        assert_eq!(client.send(&[]).failure, said("no thread"));
        assert_eq!(Contained::connect(|| panic!("never")).err(), said("never"));
    }
}
