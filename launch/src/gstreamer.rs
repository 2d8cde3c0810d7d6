//! GStreamer, and the plugin in it.

use std::path::PathBuf;

/// The plugin with cudainfer's elements.
pub const PLUGIN: &str = "cudainfer";

/// Starts GStreamer, with this tracer unless the environment names others, and finds the plugin: installed, or beside the program.
///
/// # Errors
/// A sentence that says what to do.
///
/// # Safety of the environment
/// Must be called before any other thread begins, because it may set a variable of the environment.
pub fn init(tracer: Option<&str>) -> Result<(), String> {
    if let Some(tracer) = tracer.filter(|_| std::env::var_os("GST_TRACERS").is_none()) {
        // SAFETY: no other thread has begun that could read the environment meanwhile, as this function's contract says.
        unsafe { std::env::set_var("GST_TRACERS", tracer) };
    }
    // GStreamer makes tracers while it starts, so a plugin beside the program must be in the path before that.
    let beside = folder_of_program().filter(|folder| folder.join("libgstcudainfer.so").is_file());
    if let Some(folder) = beside {
        let mut paths = vec![folder];
        paths.extend(std::env::var_os("GST_PLUGIN_PATH").iter().flat_map(std::env::split_paths));
        // The user's own path must stay first.
        paths.rotate_left(1);
        if let Ok(joined) = std::env::join_paths(paths) {
            // SAFETY: as above.
            unsafe { std::env::set_var("GST_PLUGIN_PATH", joined) };
        }
    }
    gst::init().map_err(|e| format!("GStreamer does not start: {e}"))?;
    if gst::ElementFactory::find("trtinfer").is_some() {
        return Ok(());
    }
    Err("GStreamer does not find the plugin cudainfer: install it, or set GST_PLUGIN_PATH to the folder of \
         libgstcudainfer.so (gst-inspect-1.0 cudainfer says whether it loads)"
        .into())
}

fn folder_of_program() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.to_owned())
}
