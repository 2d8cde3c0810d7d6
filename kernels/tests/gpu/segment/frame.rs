//! Masks taken to the frame.

use cudainfer_kernels::device::DevicePlane;
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::segment::{CudaResize, Resize};

use super::super::{Random, download, stream, upload};

#[test]
#[ignore = "needs a CUDA device"]
fn masks_in_the_frame_are_the_cpus() {
    let stream = stream();
    let taker = CudaResize::new(&stream).unwrap();
    let mut random = Random::new(6);
    let turn = Affine { scale: [0.5, 0.6], skew: [-0.3, 0.4], offset: [9.3, -4.1] };
    for (from, input, frame) in [
        ([1, 1], [1, 1], [1, 1]),
        ([9, 17], [72, 136], [65, 33]),
        ([65, 9], [130, 18], [17, 65]),
        ([160, 160], [640, 640], [640, 360]),
    ] {
        let mask: Vec<u8> = (0..from[0] * from[1]).map(|_| random.below(256) as u8).collect();
        for to_frame in [
            Affine::IDENTITY,
            Affine::upright([0.31, 0.31], [-4.2, 3.3]),
            Affine::upright([1.9, 2.3], [5.5, -20.25]),
            Affine::upright([-0.5, 0.5], [33.0, 0.1]),
            turn,
        ] {
            for (soft, padding, skipped) in [(false, 0, 0), (true, 0, 0), (false, 3, 1), (true, 7, 4)] {
                let resize = Resize { from, input, to_frame, frame, soft };
                let stride = frame[0] + padding;
                let mut wanted = vec![0xee; skipped + stride * frame[1]];
                let (memory, out) = (upload(&stream, &mask), upload(&stream, &wanted));
                resize.run(&mask, &mut wanted[skipped..], stride).unwrap();
                let plane = DevicePlane::new(out.slice().after(skipped), stride);
                taker.run(&stream, &resize, memory.slice(), plane).unwrap();
                assert!(download(&stream, out.slice()) == wanted, "{resize:?} {padding} {skipped}");
            }
        }
    }
}
