//! Arrays of numbers in files, as NumPy writes them: `.npy`, and `.npz` of several.

mod dense;
mod npy;
mod npz;
mod part;
mod read;
mod write;

pub use dense::Array;

#[cfg(test)]
mod tests;
