//! Control by HTTP: streams, zones, models, pictures, health, metrics and the page.
//!
//! [`routes`] is the table of what is answered; openapi.json describes it, and a test holds one against the other.

mod access;
mod answer;
mod connections;
mod deepstream;
mod files;
mod health;
mod incoming;
mod metrics;
mod page;
mod picture;
mod pipelines;
mod routes;
mod sent;
mod server;
mod snapshot;
mod streams;
mod table;
mod tls;
mod zones;

pub use page::OPENAPI;
pub use routes::paths;
pub use server::{ControlError, Listener, Server};
