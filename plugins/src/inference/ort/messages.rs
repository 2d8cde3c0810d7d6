//! ONNX Runtime's own messages, which go to the category `cudainfer-ort`.
//!
//! The environment is one for the process and keeps the logger of the code that made it first; another one's is ignored
//! (microsoft/onnxruntime#17548). GStreamer's onnxinference makes one too, of the same library where both use the distribution's.
//! In 1.28 its logger writes in the name of the element, also after the element is gone while others keep the environment: each
//! message then reads freed memory. So every session of ours has a logger of its own, and an environment that may be another's is
//! set to log nothing itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ort::environment::Environment;
use ort::logging::{LogLevel, LoggerFunction};
use ort::session::builder::SessionBuilder;

pub(super) use crate::log::ORT as CAT;

/// The level from which messages are logged: below it, ONNX Runtime logs much about each node.
const LEVEL: LogLevel = LogLevel::Warning;

/// The logger that an environment is made with.
#[derive(Default)]
pub(super) struct EnvironmentLogger {
    heard: Arc<AtomicBool>,
}

impl EnvironmentLogger {
    /// What ONNX Runtime is handed.
    pub fn function(&self) -> LoggerFunction {
        let heard = Arc::clone(&self.heard);
        Arc::new(move |level, category, _, _, message| {
            heard.store(true, Ordering::Relaxed);
            write(level, category, message);
        })
    }

    /// Sets the level of an environment that was made with this logger; `shared`: others in the process had opened its library
    /// before, so that it may be theirs. It is ours if this logger has received any message of it.
    pub fn set_level(&self, environment: &Environment, shared: bool) {
        if shared && !self.heard.load(Ordering::Relaxed) {
            gst::info!(
                CAT,
                "others in this process use ONNX Runtime's library too: what it says outside our sessions is not logged"
            );
            environment.set_log_level(LogLevel::Fatal);
        } else {
            environment.set_log_level(LEVEL);
        }
    }
}

/// Has a session's messages come here, whoever made the environment.
///
/// # Errors
/// ONNX Runtime's.
pub(super) fn attach(session: SessionBuilder) -> Result<SessionBuilder, ort::Error> {
    let function: LoggerFunction = Arc::new(|level, category, _, _, message| write(level, category, message));
    Ok(session.with_logger(function)?.with_log_level(LEVEL)?)
}

fn write(level: LogLevel, category: &str, message: &str) {
    let level = match level {
        LogLevel::Verbose => gst::DebugLevel::Debug,
        LogLevel::Info => gst::DebugLevel::Info,
        LogLevel::Warning => gst::DebugLevel::Warning,
        LogLevel::Error | LogLevel::Fatal => gst::DebugLevel::Error,
    };
    gst::log_with_level!(CAT, level, "{category}: {message}");
}
