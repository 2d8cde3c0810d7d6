//! Functions that GStreamer calls from C.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::CAT;

/// The result of `work`, or `failure` where it panics: a panic that reached C would end the process. `name` is its name in the
/// log.
pub(super) fn called_from_c<T>(name: &str, failure: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        gst::error!(CAT, "{name} panicked, which is a bug of cudainfer: {text}");
        failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_failure() {
        gst::init().unwrap();
        assert_eq!(called_from_c("a test", -1, || 7), 7);
        let empty: [i32; 0] = [];
        let nowhere = std::hint::black_box(3);
        assert_eq!(called_from_c("a test", -1, || empty[nowhere]), -1);
        assert_eq!(called_from_c("a test", -1, || panic!("on {}", "purpose")), -1);
    }
}
