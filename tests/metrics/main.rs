//! The tracer's pages while pipelines run, and the reports of scripts/profile. One tracer in this process serves all tests, whose
//! pipelines have different names; tests that set it up by variables run processes of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

mod client;
mod dashboard;
mod drops;
mod health;
mod page;
mod processes;
mod profile;
mod scraped;
mod server;
mod sources;
mod streams;
mod traces;
mod watch;

use std::net::SocketAddr;
use std::sync::{LazyLock, Mutex};

use gst::glib;

/// The address of this process's tracer, for which a stream is stalled after a fifth of a second.
fn server() -> SocketAddr {
    static SERVER: LazyLock<SocketAddr> = LazyLock::new(|| {
        cudainfer_tests::init();
        let said = std::sync::Arc::new(Mutex::new(String::new()));
        let heard = said.clone();
        gst::log::set_threshold_for_name("cudainfer-tracer", gst::DebugLevel::Info);
        let log = gst::log::add_log_function(move |category, _, _, _, _, _, message| {
            if category.name() == "cudainfer-tracer" {
                *heard.lock().unwrap() += &message.get().unwrap();
            }
        });
        let tracer: gst::Tracer = glib::Object::builder::<gstcudainfer::tracer::CudaInferTracer>()
            .property("params", "metrics=127.0.0.1:0,stall=0.2")
            .build()
            .into();
        // For as long as the process runs.
        std::mem::forget(tracer);
        gst::log::remove_log_function(log);
        gst::log::unset_threshold_for_name("cudainfer-tracer");
        let said = said.lock().unwrap().clone();
        let address =
            said.strip_prefix("metrics are at http://").and_then(|rest| rest.strip_suffix("/metrics"));
        address.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
    });
    *SERVER
}
