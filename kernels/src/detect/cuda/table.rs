//! A value by class, on the device.

use crate::device::{CudaStream, Memory};

use super::super::DetectError;
use super::params::ClassTable;

/// Values of single classes, and that of all others.
#[derive(Debug)]
pub struct Table {
    /// None where every class has the same value.
    entries: Option<Memory>,
    length: u32,
    other: f32,
}

impl Table {
    /// `by_class` is sorted; `other` is the value of all other classes. Waits for the device.
    pub fn new(stream: &CudaStream, by_class: &[(u32, f32)], other: f32) -> Result<Self, DetectError> {
        let mut table =
            Self { entries: None, length: u32::try_from(by_class.len()).unwrap_or(u32::MAX), other };
        if !by_class.is_empty() {
            let words: Vec<[u32; 2]> =
                by_class.iter().map(|(class, value)| [*class, value.to_bits()]).collect();
            table.entries = Some(stream.allocate_with(bytemuck::cast_slice(&words))?);
        }
        Ok(table)
    }

    /// For a kernel, as long as `self` lives.
    pub fn params(&self) -> ClassTable {
        let entries = self.entries.as_ref().map_or(0, Memory::pointer);
        ClassTable { entries, length: self.length, other: self.other }
    }
}
