//! ONNX Runtime, found as the plugin finds it: by ORT_DYLIB_PATH, else in a virtual environment.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudainfer_kernels::tensor::TensorType;
use half::f16;
use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::{DynValue, Tensor};

use cudainfer_fused::graph::Elements;

/// The runtime's library. A test without it fails: it would compare nothing.
fn library() -> PathBuf {
    if let Some(named) = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        return named.into();
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let environments = here.ancestors().map(|folder| folder.join(".venv"));
    let environments = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from).into_iter().chain(environments);
    let pythons = environments.flat_map(|folder| std::fs::read_dir(folder.join("lib"))).flatten().flatten();
    let folders = pythons.map(|python| python.path().join("site-packages/onnxruntime/capi"));
    let files = folders.flat_map(std::fs::read_dir).flatten().flatten();
    files
        .map(|file| file.path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("libonnxruntime.so"))
        .expect("ONNX Runtime's library: scripts/setup installs it into .venv; or set ORT_DYLIB_PATH")
}

fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let builder = ort::init_from(library()).unwrap();
        builder.with_name("cudainfer-fused").with_telemetry(false).build().unwrap()
    })
}

/// A tensor as it is given to the runtime or made by it.
#[derive(Clone, Debug)]
pub struct Array {
    /// The type of its elements.
    pub ty: TensorType,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// Its elements.
    pub elements: Elements,
}

/// Runs a model on the CPU.
pub fn run(model: &[u8], inputs: &[(String, Array)]) -> Result<Vec<Array>, ort::Error> {
    // As the file says it: optimised, 1.31 merges a border of 0 with a MaxPool of numbers that may be negative.
    let builder =
        Session::builder(environment())?.with_optimization_level(GraphOptimizationLevel::Disable)?;
    let mut session = builder.with_intra_threads(1)?.commit_from_memory(model)?;
    let names: Vec<String> = session.outputs().iter().map(|output| output.name().to_owned()).collect();
    let inputs: Vec<_> = inputs.iter().map(|(name, array)| (name.clone(), value(array))).collect();
    let outputs = session.run(inputs)?;
    Ok(names.iter().map(|name| array(&outputs[name.as_str()])).collect())
}

fn value(array: &Array) -> DynValue {
    let dims = array.dims.clone();
    match (&array.elements, array.ty) {
        (Elements::Floats(values), TensorType::Float16) => {
            let values: Vec<f16> = values.iter().map(|value| f16::from_f32(*value)).collect();
            Tensor::from_array((dims, values)).unwrap().into_dyn()
        }
        (Elements::Floats(values), _) => Tensor::from_array((dims, values.clone())).unwrap().into_dyn(),
        (Elements::Integers(values), TensorType::Int32) => {
            let values: Vec<i32> = values.iter().map(|value| i32::try_from(*value).unwrap()).collect();
            Tensor::from_array((dims, values)).unwrap().into_dyn()
        }
        (Elements::Integers(values), TensorType::UInt8) => {
            let values: Vec<u8> = values.iter().map(|value| u8::try_from(*value).unwrap()).collect();
            Tensor::from_array((dims, values)).unwrap().into_dyn()
        }
        (Elements::Integers(values), TensorType::Int8) => {
            let values: Vec<i8> = values.iter().map(|value| i8::try_from(*value).unwrap()).collect();
            Tensor::from_array((dims, values)).unwrap().into_dyn()
        }
        (Elements::Integers(values), TensorType::Bool) => {
            let values: Vec<bool> = values.iter().map(|value| *value != 0).collect();
            Tensor::from_array((dims, values)).unwrap().into_dyn()
        }
        (Elements::Integers(values), _) => Tensor::from_array((dims, values.clone())).unwrap().into_dyn(),
    }
}

fn array(value: &DynValue) -> Array {
    macro_rules! as_type {
        ($($element:ty, $ty:ident, $kind:ident, $of:expr;)*) => {
            $(if let Ok((dims, values)) = value.try_extract_tensor::<$element>() {
                let dims = dims.iter().map(|dim| usize::try_from(*dim).unwrap()).collect();
                let elements = Elements::$kind(values.iter().copied().map($of).collect());
                return Array { ty: TensorType::$ty, dims, elements };
            })*
        };
    }
    as_type! {
        f32, Float32, Floats, |value| value;
        f16, Float16, Floats, f16::to_f32;
        i64, Int64, Integers, |value| value;
        i32, Int32, Integers, i64::from;
        u8, UInt8, Integers, i64::from;
        i8, Int8, Integers, i64::from;
        bool, Bool, Integers, i64::from;
    }
    panic!("{:?}", value.dtype())
}
