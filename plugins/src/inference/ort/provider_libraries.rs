//! Which libraries of GPU providers were opened so that their exceptions can be caught (`unwinder`), and which were not.

use std::collections::BTreeSet;

use crate::inference::Provider;

/// The libraries, by the names that ONNX Runtime has for them.
#[derive(Debug)]
pub(super) struct ProviderLibraries {
    /// Opened here, before ONNX Runtime needed them.
    opened: BTreeSet<&'static str>,
    /// Opened by ONNX Runtime, in its own way. They stay so to the end of the process.
    left: BTreeSet<&'static str>,
}

impl ProviderLibraries {
    /// None has been opened yet.
    pub const fn new() -> Self {
        Self { opened: BTreeSet::new(), left: BTreeSet::new() }
    }

    /// Opens the provider's libraries with `open`, except for those that are open already. Returns the errors, each after its
    /// library's name: another attempt may find what these libraries need.
    pub fn open(
        &mut self,
        provider: Provider,
        mut open: impl FnMut(&'static str) -> Result<(), String>,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        for name in names(provider) {
            if !self.opened.contains(name) && !self.left.contains(name) {
                match open(name) {
                    Ok(()) => {
                        self.opened.insert(name);
                    }
                    Err(why) => errors.push(format!("{name}: {why}")),
                }
            }
        }
        errors
    }

    /// ONNX Runtime uses the provider from now on: it has opened those of its libraries that were not opened here.
    pub fn in_use(&mut self, provider: Provider) {
        self.left.extend(names(provider).iter().filter(|name| !self.opened.contains(*name)));
    }

    /// Whether an exception in one of the provider's libraries would end the process.
    pub fn has_uncaught(&self, provider: Provider) -> bool {
        names(provider).iter().any(|name| self.left.contains(name))
    }
}

/// The libraries that the provider consists of.
fn names(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::TensorRt => &["tensorrt", "cuda"],
        Provider::TensorRtRtx => &["nv_tensorrt_rtx"],
        Provider::Cuda => &["cuda"],
        Provider::Cpu | Provider::Auto | Provider::Fused | Provider::OpenVino | Provider::Plugin => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_whose_own_libraries_were_opened_has_no_uncaught_exceptions() {
        let mut libraries = ProviderLibraries::new();
        // TensorRT is not installed: `auto` tries CUDA next.
        let only_cuda = |name| if name == "cuda" { Ok(()) } else { Err("no libnvinfer.so.10".to_owned()) };
        assert_eq!(libraries.open(Provider::TensorRt, only_cuda), ["tensorrt: no libnvinfer.so.10"]);
        assert_eq!(libraries.open(Provider::Cuda, |name| panic!("{name} is open")), [""; 0]);
        libraries.in_use(Provider::Cuda);
        assert!(!libraries.has_uncaught(Provider::Cuda));
        libraries.in_use(Provider::TensorRt);
        assert!(libraries.has_uncaught(Provider::TensorRt), "ONNX Runtime opened its library itself");
        assert!(!libraries.has_uncaught(Provider::Cuda));
        assert!(!libraries.has_uncaught(Provider::Cpu));
    }

    #[test]
    fn another_attempt_opens_what_the_first_could_not() {
        let mut libraries = ProviderLibraries::new();
        let errors = libraries.open(Provider::Cuda, |_| Err("no libcublas.so.12".into()));
        assert_eq!(errors, ["cuda: no libcublas.so.12"]);
        assert_eq!(libraries.open(Provider::Cuda, |_| Ok(())), [""; 0]);
        libraries.in_use(Provider::Cuda);
        assert!(!libraries.has_uncaught(Provider::Cuda));
    }

    #[test]
    fn what_onnx_runtime_has_opened_stays_as_it_is() {
        let mut libraries = ProviderLibraries::new();
        libraries.open(Provider::Cuda, |_| Err("an initialiser failed".into()));
        libraries.in_use(Provider::Cuda);
        // The loader would only return the library that is open.
        assert_eq!(libraries.open(Provider::Cuda, |name| panic!("{name} is open")), [""; 0]);
        assert!(libraries.has_uncaught(Provider::Cuda));
        assert!(libraries.has_uncaught(Provider::TensorRt), "it consists of that library, too");
        assert!(!libraries.has_uncaught(Provider::TensorRtRtx));
    }
}
