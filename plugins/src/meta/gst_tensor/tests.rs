//! What is written is read from the library's own meta. Where GStreamer has none (before 1.26), these tests print that and end.

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use cudainfer_kernels::words::Words as _;
use gst::glib::translate::IntoGlib;

use super::library::{Meta, Tensor as Written};
use super::*;
use crate::meta::tensor::Tensor;

/// The library, or why the rest of the test is left out.
fn library() -> Option<&'static Functions> {
    gst::init().unwrap();
    let functions = open();
    if let Err(why) = &functions {
        eprintln!("left out, for this GStreamer has no tensor metadata: {why}");
    }
    functions.ok()
}

fn quark(name: &str) -> u32 {
    gst::glib::Quark::from_str(name).into_glib()
}

fn tensor(name: &str, ty: TensorType, dims: &[usize], bytes: &[u8]) -> Tensor {
    Tensor { desc: TensorDesc::fixed(name, ty, dims), data: gst::Buffer::from_slice(bytes.to_vec()) }
}

#[test]
fn what_is_put_on_a_frame_is_read_back_with_the_same_data() {
    let Some(functions) = library() else { return };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    assert!(foreign(frame).is_none());
    let tensors: Vec<_> = TensorType::ALL
        .iter()
        .copied()
        .map(|ty| tensor(ty.name(), ty, &[1, 2], &(0..).take(2 * ty.size()).collect::<Vec<_>>()))
        .collect();
    let labelled =
        |tensor| Labelled { tensor, id: quark(&format!("{}-id", tensor.desc.name)), col_major: true };
    put(functions, frame, &tensors.iter().map(labelled).collect::<Vec<_>>());
    let Foreign { tensors: found, ignored } = foreign(frame).unwrap();
    assert_eq!(ignored, Vec::<String>::new());
    assert_eq!(found.len(), tensors.len());
    for (found, written) in found.iter().zip(&tensors) {
        assert_eq!(found.desc.name, format!("{}-id", written.desc.name));
        // GStreamer 1.26 has no truth values.
        let ty = if written.desc.ty == TensorType::Bool { TensorType::UInt8 } else { written.desc.ty };
        assert_eq!((found.desc.ty, &found.desc.dims), (ty, &written.desc.dims));
        assert_eq!(found.data.as_ptr(), written.data.as_ptr(), "the data were copied");
    }
    // A frame that shares its memory has the same tensors from 1.28 on: before, GStreamer does not copy the meta.
    let copy = frame.copy();
    assert_eq!(foreign(&copy).map(|copy| copy.tensors.len()), is_announced().then_some(tensors.len()));
    remove(frame);
    assert!(foreign(frame).is_none());
    drop(found);
    drop(copy);
    assert!(tensors.iter().all(|tensor| tensor.data.is_writable()), "a reference was leaked");
}

#[test]
fn a_single_number_has_a_dimension_and_no_tensors_are_none() {
    let Some(functions) = library() else { return };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    put(functions, frame, &[]);
    assert!(foreign(frame).unwrap().tensors.is_empty());
    let number = tensor("n", TensorType::Float32, &[], &[0; 4]);
    put(functions, frame, &[Labelled { tensor: &number, id: quark("n"), col_major: false }]);
    assert_eq!(foreign(frame).unwrap().tensors[0].desc.dims, [Some(1)]);
}

/// A frame with one tensor that `spoil` has changed.
fn spoiled(
    functions: &'static Functions,
    dims: &[usize],
    bytes: usize,
    spoil: impl FnOnce(&mut Written),
) -> gst::Buffer {
    let mut frame = gst::Buffer::new();
    let dims = dims.to_vec();
    let written = tensor("t", TensorType::Float32, &dims, &vec![0; bytes]);
    put(
        functions,
        frame.get_mut().unwrap(),
        &[Labelled { tensor: &written, id: quark("t"), col_major: false }],
    );
    let metas = functions.metas(&frame);
    // SAFETY: the frame is this function's own, and nobody else reads it.
    let tensor: &mut Written = unsafe { &mut **(*metas[0].cast::<Meta>()).tensors };
    spoil(tensor);
    frame
}

#[test]
fn what_cannot_be_read_is_ignored_with_a_phrase_and_crashes_nothing() {
    let Some(functions) = library() else { return };
    let with = |dims: &[usize], bytes, spoil: fn(&mut Written)| {
        foreign(&spoiled(functions, dims, bytes, spoil)).unwrap()
    };
    for (phrase, found) in [
        ("'t' is of type float64", with(&[2], 8, |t| t.data_type = 12)),
        ("'t' is of type bfloat16", with(&[2], 8, |t| t.data_type = 13)),
        ("'t' is of type number 99", with(&[2], 8, |t| t.data_type = 99)),
        ("'t' is of type number -1", with(&[2], 8, |t| t.data_type = -1)),
        ("'t' has the layout 7, but only dense", with(&[2], 8, |t| t.layout = 7)),
        (
            "'t' has no data",
            with(&[2], 8, |t| {
                // SAFETY: the tensor held the buffer.
                unsafe { gst::ffi::gst_buffer_unref(t.data) };
                t.data = std::ptr::null_mut();
            }),
        ),
        ("'t' is 3 float32, but its buffer has only 8 bytes", with(&[3], 8, |_| ())),
        ("but its buffer has only 8 bytes", with(&[usize::MAX, usize::MAX], 8, |_| ())),
        ("but its buffer has only 8 bytes", with(&[1 << 62, 4], 8, |_| ())),
        ("'t' has 17 dimensions", with(&[1; 17], 4, |_| ())),
    ] {
        assert!(found.tensors.is_empty());
        assert!(found.ignored[0].contains(phrase), "{:?} does not say {phrase}", found.ignored);
    }
    // Without a name, with more data than its dimensions ask for, and with none at all.
    let read = |dims: &[usize], bytes, spoil: fn(&mut Written)| with(dims, bytes, spoil).tensors.remove(0);
    for id in [0, u32::MAX] {
        let mut frame = spoiled(functions, &[1], 4, |_| ());
        let metas = functions.metas(&frame);
        // SAFETY: as above.
        unsafe { (**(*metas[0].cast::<Meta>()).tensors).id = id };
        assert_eq!(foreign(frame.make_mut()).unwrap().tensors[0].desc.name, "tensor-0");
    }
    assert_eq!(read(&[2], 100, |_| ()).data.size(), 8);
    assert_eq!(read(&[2, 0], 0, |_| ()).desc.dims, [Some(2), Some(0)]);
    assert_eq!(read(&[2], 8, |t| t.dims_order = 1).desc.dims, [Some(2)]);
}

#[test]
fn tensors_of_several_metas_are_read_once_each() {
    let Some(functions) = library() else { return };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    let one = tensor("a", TensorType::UInt8, &[1], &[7]);
    for name in ["a", "b", "a"] {
        put(functions, frame, &[Labelled { tensor: &one, id: quark(name), col_major: false }]);
    }
    let found = foreign(frame).unwrap();
    assert_eq!(found.tensors.iter().map(|t| t.desc.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(found.ignored, ["'a' is there twice"]);
}
