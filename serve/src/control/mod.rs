//! Control by HTTP: streams, zones, models, pictures, health, metrics and the page.
//!
//! [`routes`] has the table of all paths; openapi.json describes them, and a test compares both.

mod access;
mod answer;
mod configuration;
mod connections;
mod counts;
mod deepstream;
mod discover;
mod elements;
mod event_stream;
mod events;
mod files;
mod health;
mod incoming;
mod live;
mod live_pictures;
mod metrics;
mod page;
mod pipelines;
mod routes;
mod running;
mod sent;
mod server;
mod shared;
mod snapshot;
mod streams;
mod table;
mod test_picture;
mod tls;
mod whep;
mod zones;

pub use page::OPENAPI;
pub use routes::paths;
pub use running::is_running;
pub use server::{ControlError, Listener, Server};
