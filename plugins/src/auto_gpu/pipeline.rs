//! The pipeline's memory until it stops: the GPU of its instances without a name.

use gst::prelude::*;

use crate::refused;

/// The type of the GstContext that keeps it.
const CONTEXT: &str = "cudainfer.gpu";

/// The GPU of the pipeline that `element` is in.
pub(crate) fn remembered(element: &gst::Element) -> Option<u32> {
    let root = refused::root(element.upcast_ref()).downcast::<gst::Element>().ok()?;
    root.context(CONTEXT)?.structure().get::<u32>("gpu").ok()
}

/// Sets the GPU of the pipeline.
pub(crate) fn remember(element: &gst::Element, gpu: u32) {
    let root = refused::root(element.upcast_ref());
    let Some(root) = root.downcast_ref::<gst::Element>() else { return };
    // Not persistent: the context is dropped when the pipeline goes to NULL.
    let mut context = gst::Context::new(CONTEXT, false);
    if let Some(context) = context.get_mut() {
        context.structure_mut().set("gpu", gpu);
    }
    root.set_context(&context);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_elements_of_a_pipeline_know_its_gpu_until_it_stops() {
        gst::init().unwrap();
        let pipeline = gst::Pipeline::new();
        let bin = gst::Bin::new();
        let [inside, outside] = [(); 2].map(|()| gst::ElementFactory::make("identity").build().unwrap());
        bin.add(&inside).unwrap();
        pipeline.add(&bin).unwrap();
        pipeline.add(&outside).unwrap();
        assert_eq!(remembered(&inside), None);
        pipeline.set_state(gst::State::Ready).unwrap();
        remember(&inside, 5);
        assert_eq!((remembered(&inside), remembered(&outside)), (Some(5), Some(5)));
        pipeline.set_state(gst::State::Null).unwrap();
        assert_eq!(remembered(&outside), None);
    }
}
