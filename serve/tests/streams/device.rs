//! V4L2 devices that are missing. A camera that works would need the kernel's v4l2loopback, which the machines that run these
//! tests do not have; the elements downstream of v4l2src are those of all other sources.

use cudainfer_serve::stream::Reason;
use cudainfer_serve::stream::supervisor::State;
use cudainfer_tests::until;

use crate::fleet::{ends_undisturbed, fleet, of};

#[test]
fn a_device_that_is_missing_or_no_camera_is_reported_and_tried_again() {
    let source = |name: &str, device: &str| {
        format!("[[source]]\nname = \"{name}\"\nuri = \"v4l2://{device}\"\npipeline = \"plain\"\n")
    };
    let fleet = fleet(&(source("missing", "/dev/video-none") + &source("other", "/dev/null")));
    for (name, device) in [("missing", "/dev/video-none"), ("other", "/dev/null")] {
        until("it is tried again and again", || {
            of(&fleet, name).restarts.get(&Reason::Connection) >= Some(&3)
        });
        let status = of(&fleet, name);
        assert!([State::Waiting, State::Starting].contains(&status.state), "{status:?}");
        assert!(status.attempt >= 3, "the waits grow: {status:?}");
        let error = status.last_error.clone().unwrap();
        assert!(error.contains(device), "the device is named: {error}");
    }
    ends_undisturbed(&fleet);
}
