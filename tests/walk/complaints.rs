//! What GStreamer and GLib log as critical, or as a warning: none of it may be, but for elements that are given up on purpose.

use std::sync::{Mutex, Once};

use gst::glib;

use crate::disposal::COMPLAINT;

static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Collects them from now on.
pub fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for domain in ["GStreamer", "GStreamer-Base", "GStreamer-Video", "GLib", "GLib-GObject"] {
            let levels = glib::LogLevels::LEVEL_CRITICAL | glib::LogLevels::LEVEL_WARNING;
            glib::log_set_handler(Some(domain), levels, false, false, |domain, _, text| {
                // The second is videotestsrc's own, of frames without timestamps after seeks.
                if !text.contains(COMPLAINT) && !text.contains("gst_object_sync_values") {
                    let line = format!("{}: {text}", domain.unwrap_or_default());
                    COMPLAINTS.lock().unwrap_or_else(|e| e.into_inner()).push(line);
                }
            });
        }
    });
}

/// Those since the last call.
pub fn unexpected() -> Vec<String> {
    std::mem::take(&mut COMPLAINTS.lock().unwrap_or_else(|e| e.into_inner()))
}
