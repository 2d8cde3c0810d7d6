//! Makes the nth call of a kind fail, for each n of a whole run, as SQLite and curl test themselves.
//!
//! A [`Scenario`] is something that the project does from its start to its end. [`torture`] runs it again and again: each time with
//! one [`Fault`], and then once without. A fault must be an error or a recovery that names it, in time, without a loss of what was
//! acknowledged and without anything left over; and the run after it must be as if nothing had been.
//!
//! Nothing of the project knows of this. Calls are intercepted where they leave it:
//!
//! - calls of the system by the kernel ([`system_calls`]): a thread has a filter that asks another one what to answer. Whatever library
//!   or language makes the call, it is seen;
//! - threads, and functions of libraries that are opened at run time, by definitions of `pthread_create` and `dlsym` that come before
//!   the C library's ([`symbols`]);
//! - memory that may be refused by the allocator ([`Allocator`]), which the test's program must declare.
//!
//! `cargo test` tries some n of each kind; `scripts/torture` tries all.

#![allow(clippy::panic)] // a test's failure is a panic

mod fault;
mod memory;
mod onnx_runtime;
mod process;
mod scenario;
mod seam;
mod stage;
mod symbols;
mod system_calls;
mod torture;
mod trial;

pub use fault::{Fault, Form};
pub use memory::Allocator;
pub use scenario::{Ran, Scenario};
pub use seam::{Seam, disarm, watch};
pub use torture::torture;
