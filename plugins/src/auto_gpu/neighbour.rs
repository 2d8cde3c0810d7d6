//! The GPU of the other elements of a stream: a custom query, downstream and then upstream, that is answered by the first element
//! which has its GPU already.

use gst::prelude::*;

/// The name of the query's structure; an element with a GPU sets the field `gpu`, its number.
const QUERY: &str = "cudainfer-device";

/// The GPU of the nearest element of the stream that has one, or whose property names one.
pub(crate) fn neighbour(element: &gst::Element) -> Option<u32> {
    let pads = element.src_pads().into_iter().chain(element.sink_pads());
    pads.into_iter().find_map(|pad| {
        let mut query = gst::query::Custom::new(gst::Structure::new_empty(QUERY));
        let answered = pad.peer_query(&mut query);
        query.structure().filter(|_| answered)?.get::<u32>("gpu").ok()
    })
}

/// Whether this is that query.
pub(crate) fn asked(query: &gst::QueryRef) -> bool {
    let gst::QueryView::Custom(custom) = query.view() else { return false };
    custom.structure().is_some_and(|structure| structure.name() == QUERY)
}

/// Answers it, for the query function to return; without a GPU, the query goes on to other elements.
pub(crate) fn answer(query: &mut gst::QueryRef, gpu: Option<u32>) -> bool {
    let (Some(gpu), gst::QueryViewMut::Custom(custom)) = (gpu, query.view_mut()) else { return false };
    custom.structure_mut().set("gpu", gpu);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(description: &str, name: &str) -> (gst::Pipeline, gst::Element) {
        gst::init().unwrap();
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| crate::plugin_register_static().unwrap());
        let pipeline = gst::parse::launch(description).unwrap().downcast::<gst::Pipeline>().unwrap();
        let element = pipeline.by_name(name).unwrap();
        (pipeline, element)
    }

    #[test]
    fn what_a_property_says_is_known_in_both_directions_through_other_elements() {
        let (_pipeline, first) = linked(
            "cudainferupload name=it ! identity ! queue ! fusedpreproc device=cuda:3 ! fakesink",
            "it",
        );
        assert_eq!(neighbour(&first), Some(3));
        let (_pipeline, last) = linked(
            "cudainferupload device=cuda:1 ! tee name=t ! queue ! fusedpreproc name=it ! fakesink",
            "it",
        );
        assert_eq!(neighbour(&last), Some(1));
        let description =
            "fusedpreproc name=it ! identity ! trtinfer model=none.onnx device=cuda ! gpunms ! fakesink";
        let (_pipeline, before) = linked(description, "it");
        assert_eq!(neighbour(&before), Some(0), "cuda is the first one");
    }

    #[test]
    fn downstream_comes_first_and_who_is_free_says_nothing() {
        let (_pipeline, middle) = linked(
            "cudainferupload device=cuda:1 ! fusedpreproc name=it ! trtinfer model=none.onnx device=cuda:2 ! fakesink",
            "it",
        );
        assert_eq!(neighbour(&middle), Some(2));
        let description = "cudainferdownload device=cpu ! fusedpreproc name=it ! trtinfer model=none.onnx ! gpunms ! fakesink";
        let (_pipeline, alone) = linked(description, "it");
        assert_eq!(neighbour(&alone), None);
        let (_pipeline, free) = linked("identity ! fusedpreproc name=it", "it");
        assert_eq!(neighbour(&free), None, "with a pad that is not linked");
    }
}
