//! Which way a convolution runs, as it is kept between starts.

use std::sync::Arc;

use super::cudnn::{ConvolutionGraph, Engine};
use crate::emit;

/// How a step runs.
#[derive(Debug)]
pub(super) enum Chosen {
    /// As the only kernels that there are for it.
    Plain,
    /// As this kernel of ours.
    Own(Box<emit::Kernel>),
    /// As an engine of cuDNN's.
    Cudnn { graph: ConvolutionGraph, engine: Arc<Engine> },
}

impl Chosen {
    /// Bytes of memory that it needs while it runs.
    pub fn workspace(&self) -> usize {
        match self {
            Self::Cudnn { engine, .. } => engine.workspace,
            Self::Plain | Self::Own(_) => 0,
        }
    }
}

/// The fastest way that was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub way: Way,
    /// In nanoseconds.
    pub time: u64,
}

/// A way to run a convolution, without where its tensors are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// Our own kernel of this index among the candidates, and its name.
    Own(usize, String),
    /// cuDNN's engine of this text.
    Cudnn(Vec<u8>),
}

impl Choice {
    /// As bytes: a line that says what it is, and cuDNN's text.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.way {
            Way::Own(index, name) => format!("own {} {index} {name}\n", self.time).into_bytes(),
            Way::Cudnn(text) => [format!("cudnn {}\n", self.time).as_bytes(), text].concat(),
        }
    }

    /// What [`Choice::bytes`] made.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let words: Vec<&str> = std::str::from_utf8(&bytes[..end]).ok()?.split(' ').collect();
        match words[..] {
            ["own", time, index, name] => {
                Some(Self { way: Way::Own(index.parse().ok()?, name.to_owned()), time: time.parse().ok()? })
            }
            ["cudnn", time] => {
                Some(Self { way: Way::Cudnn(bytes[end + 1..].to_vec()), time: time.parse().ok()? })
            }
            _ => None,
        }
    }

    /// The choice for a convolution of these candidates of ours; `cudnn` makes an engine of its text. Nothing where it does not fit any more.
    pub fn chosen(
        &self,
        own: &[emit::Kernel],
        cudnn: impl FnOnce(&[u8]) -> Option<Chosen>,
    ) -> Option<Chosen> {
        match &self.way {
            Way::Own(index, name) => {
                let kernel = own.get(*index)?;
                // Names have a hash of the source, in which buffers and offsets may differ between convolutions of one kind.
                (emit::what(&kernel.name) == emit::what(name)).then(|| Chosen::Own(Box::new(kernel.clone())))
            }
            Way::Cudnn(text) => cudnn(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_were_written_and_nothing_else_is() {
        let own = Choice { way: Way::Own(2, "dense_0123".into()), time: 3400 };
        let cudnn = Choice { way: Way::Cudnn(b"{\"engine\": 3}\nmore".to_vec()), time: 12 };
        for choice in [own, cudnn] {
            assert_eq!(Choice::read(&choice.bytes()), Some(choice));
        }
        for wrong in ["", "own 1 2", "own x 2 name\n", "other 1\n", "cudnn \n"] {
            assert_eq!(Choice::read(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn fuzz_choice() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "choice").run(|bytes| {
            let Some(choice) = Choice::read(bytes) else { return };
            assert_eq!(
                Choice::read(&choice.bytes()),
                Some(choice),
                "what was read is written and read again"
            );
        });
    }
}
