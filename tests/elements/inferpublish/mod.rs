//! The element inferpublish: which records it makes, and where they arrive.

mod brokers;
mod delivery;
mod files;
mod kinds;
mod labels;
mod records;
