//! The `device` property of every element that computes.

use std::{fmt, str::FromStr};

use super::{Device, DeviceError, probe};

/// Where an element should compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// `auto`: the first GPU that can be used, else the CPU.
    #[default]
    Auto,
    /// `cuda` (the same as `cuda:0`) or `cuda:N`: this GPU and nothing else.
    Cuda(u32),
    /// `cpu`: the CPU even if there is a GPU.
    Cpu,
}

/// A text that is no [`Choice`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a device: write auto, cuda, cuda:N (N is the GPU's number, from 0) or cpu")]
pub struct ParseChoiceError(String);

impl FromStr for Choice {
    type Err = ParseChoiceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseChoiceError(text.to_owned());
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let number = text.strip_prefix("cuda:").ok_or_else(wrong)?;
                // u32's own parser accepts "+1", too
                if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(wrong());
                }
                number.parse().map(Self::Cuda).map_err(|_| wrong())
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Cpu => f.write_str("cpu"),
        }
    }
}

/// What a [`Choice`] means on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// Compute on this GPU.
    Cuda(Device),
    /// Compute on the CPU.
    Cpu {
        /// Why no GPU can be used, for the one warning that [`Choice::Auto`] owes its user; `None` if the user asked
        /// for the CPU.
        reason: Option<String>,
    },
}

impl Choice {
    /// Looks for the GPU that was asked for.
    ///
    /// # Errors
    /// Only for [`Choice::Cuda`]: those of [`probe`], [`DeviceError::NoSuchDevice`] or [`DeviceError::OldGpu`].
    pub fn resolve(self) -> Result<Resolved, DeviceError> {
        // If the user asked for the CPU, the driver is not touched.
        if self == Self::Cpu {
            return Ok(Resolved::Cpu { reason: None });
        }
        self.resolve_among(probe())
    }

    fn resolve_among(self, found: Result<&[Device], DeviceError>) -> Result<Resolved, DeviceError> {
        let device = match self {
            Self::Cpu => return Ok(Resolved::Cpu { reason: None }),
            Self::Auto => found.and_then(first_usable),
            Self::Cuda(wanted) => found.and_then(|devices| {
                let device = devices.iter().find(|device| device.ordinal == wanted);
                let device = device.ok_or(DeviceError::NoSuchDevice { wanted, count: devices.len() })?;
                device.check().map(|()| device)
            }),
        };
        match device {
            Ok(device) => Ok(Resolved::Cuda(device.clone())),
            Err(error) if self == Self::Auto => Ok(Resolved::Cpu { reason: Some(error.to_string()) }),
            Err(error) => Err(error),
        }
    }
}

/// The first GPU the kernels run on, or why the first GPU of all cannot be used.
fn first_usable(devices: &[Device]) -> Result<&Device, DeviceError> {
    if let Some(device) = devices.iter().find(|device| device.check().is_ok()) {
        return Ok(device);
    }
    let first = devices.first().ok_or(DeviceError::NoGpu { visible_devices: None })?;
    first.check().map(|()| first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gpu(ordinal: u32, capability: (i32, i32)) -> Device {
        Device { ordinal, name: format!("GPU {ordinal}"), capability, driver: 12040 }
    }

    #[test]
    fn the_four_ways_to_write_it() {
        for (text, choice) in [
            ("auto", Choice::Auto),
            ("cpu", Choice::Cpu),
            ("cuda", Choice::Cuda(0)),
            ("cuda:0", Choice::Cuda(0)),
            ("cuda:17", Choice::Cuda(17)),
        ] {
            assert_eq!(text.parse(), Ok(choice));
        }
    }

    #[test]
    fn everything_else_is_refused_with_the_ways_to_write_it() {
        for text in ["", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda:4294967296", " cpu"] {
            let error = text.parse::<Choice>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("'{text}' is not a device: write auto, cuda, cuda:N")),
                "{error}"
            );
        }
    }

    #[test]
    fn auto_takes_the_first_gpu_that_is_new_enough() {
        let devices = [gpu(0, (6, 1)), gpu(1, (8, 6)), gpu(2, (9, 0))];
        assert_eq!(Choice::Auto.resolve_among(Ok(&devices)), Ok(Resolved::Cuda(gpu(1, (8, 6)))));
    }

    #[test]
    fn auto_without_a_gpu_is_the_cpu_with_the_reason() {
        let reason = |found| match Choice::Auto.resolve_among(found) {
            Ok(Resolved::Cpu { reason: Some(reason) }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(Err(DeviceError::NoDriver)), DeviceError::NoDriver.to_string());
        assert!(reason(Ok(&[gpu(0, (6, 1)), gpu(1, (7, 0))])).contains("'GPU 0' is too old"));
    }

    #[test]
    fn cuda_takes_that_gpu_or_nothing() {
        let devices = [gpu(0, (9, 0)), gpu(1, (6, 1))];
        assert_eq!(Choice::Cuda(0).resolve_among(Ok(&devices)), Ok(Resolved::Cuda(gpu(0, (9, 0)))));
        assert_eq!(Choice::Cuda(1).resolve_among(Ok(&devices)), Err(devices[1].check().unwrap_err()));
        assert_eq!(
            Choice::Cuda(2).resolve_among(Ok(&devices)),
            Err(DeviceError::NoSuchDevice { wanted: 2, count: 2 })
        );
        assert_eq!(Choice::Cuda(0).resolve_among(Err(DeviceError::NoDriver)), Err(DeviceError::NoDriver));
    }

    #[test]
    fn the_cpu_is_given_without_a_reason() {
        assert_eq!(Choice::Cpu.resolve(), Ok(Resolved::Cpu { reason: None }));
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_back(ordinal: u32) {
            for choice in [Choice::Auto, Choice::Cpu, Choice::Cuda(ordinal)] {
                prop_assert_eq!(choice.to_string().parse(), Ok(choice));
            }
        }
    }
}
