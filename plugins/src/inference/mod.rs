//! Running models: a [`Session`] is a model that is ready to run, whatever library runs it, and an [`Engine`] all sessions
//! of one. `ort` makes sessions with ONNX Runtime, `openvino` with OpenVINO; another library would be a folder beside them and a variant of [`Runtime`]. `search`
//! finds the fastest of a runtime's variants of a session.

mod backend;
mod cache;
mod choose;
mod config;
mod contest;
mod device_bytes;
mod earlier;
mod elements;
mod engine;
mod error;
mod exit;
mod fed;
mod frame_dims;
mod frame_tensors;
mod fused;
mod gpu;
mod host_fed;
mod image;
mod model_file;
mod openvino;
mod ort;
mod pace;
mod packages;
mod pictures;
mod progress;
mod provider;
mod recurrent;
mod rival;
mod runtime;
mod search;
mod session;
mod shape;
mod start;
mod state;
mod stop;
mod unwinder;
mod upgrade;
mod variant;
mod warm_up;

pub use config::{Config, EngineSearch, WarmUp};
pub use earlier::EarlierPicture;
pub use elements::{elements, filled};
pub use engine::Engine;
pub use error::InferenceError;
pub use fed::{Fed, FedTensors, Source};
pub use frame_dims::{of_one_frame, with_shape};
pub use frame_tensors::{Constant, FrameTensors};
pub use pace::Outlook;
pub use progress::{Progress, watched};
pub use provider::{OpenVinoDevice, Precision, Provider};
pub use runtime::Runtime;
pub use session::{Session, SharedSession};
pub use shape::{RunShape, row};
pub use start::StartTimes;
pub use stop::Stop;

#[cfg(test)]
mod tests;
