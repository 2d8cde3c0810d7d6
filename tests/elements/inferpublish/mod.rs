//! The element inferpublish: which records it makes, and where they arrive.

mod brokers;
mod delivery;
mod files;
mod frame_numbers;
mod kinds;
mod labels;
mod records;
mod second_pass;
