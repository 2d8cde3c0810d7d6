//! Which elements an element feeds, across the borders of bins.

use gst::prelude::*;

/// The names of the elements that the source pads of `element` are linked to.
pub(super) fn fed_by(element: &gst::Element) -> Vec<String> {
    let pads = element.src_pads();
    let names = pads.iter().filter_map(downstream_of).map(|element| element.name().to_string());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// The element downstream of a source pad: through ghost pads, into bins and out of them.
fn downstream_of(pad: &gst::Pad) -> Option<gst::Element> {
    let mut pad = pad.clone();
    // A pipeline has fewer bins inside of each other.
    for _ in 0..64 {
        let peer = pad.peer()?;
        pad = match peer.downcast_ref::<gst::ProxyPad>() {
            // The inner side of a bin's ghost pad: the way goes on from the ghost pad itself, outside.
            Some(_) if !peer.is::<gst::GhostPad>() => peer.parent()?.downcast::<gst::Pad>().ok()?,
            // The ghost pad of a bin that begins here: its target is inside.
            Some(_) => {
                let inside = peer.downcast::<gst::GhostPad>().ok()?.target()?;
                match inside.parent_element().filter(|element| !element.is::<gst::Bin>()) {
                    Some(element) => return Some(element),
                    None => inside,
                }
            }
            None => return peer.parent_element(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_into_bins_and_out_of_them() {
        gst::init().unwrap();
        let text = "fakesrc name=a ! ( identity name=b ! ( identity name=c ) ) ! tee name=t t. ! queue name=d ! fakesink name=e \
                    t. ! fakesink name=f";
        let bin = gst::parse::launch(text).unwrap().downcast::<gst::Bin>().unwrap();
        let fed = |name: &str| fed_by(&bin.by_name(name).unwrap());
        for (name, wanted) in
            [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["t"]), ("t", vec!["d", "f"]), ("d", vec!["e"])]
        {
            assert_eq!(fed(name), wanted, "{name}");
        }
        assert!(fed("e").is_empty());
    }
}
