//! Each pipeline file's results on the GPU, compared with the golden ones, which were made on a CPU.

use cudainfer_tests::golden::{ON_GPU, names, outcome};

/// How many of a frame's bytes may differ by more than a few steps: an edge that moves by a tenth of a pixel is another line of pixels
/// where it lay between two, and masks are thresholds.
const OTHER_BYTES: f64 = 0.01;

/// Steps of 255 that rounding in another order explains.
const STEPS: u8 = 4;

#[test]
#[ignore = "needs a CUDA device"]
fn every_pipeline_file_makes_the_golden_records_and_frames_on_the_gpu() {
    let mut wrong = Vec::new();
    for name in names() {
        let (made, by_cpu) = (outcome(&name, None), outcome(&name, Some("cpu")));
        // Only frames whose CRCs are the golden ones are what others are compared with.
        wrong.extend(by_cpu.other_frames(&name));
        wrong.extend(made.differences(&name, ON_GPU));
        for (pad, (made, wanted)) in made.frames.iter().zip(&by_cpu.frames).enumerate() {
            assert_eq!(made.len(), wanted.len(), "{name}, pad {pad}");
            for (number, (made, wanted)) in made.iter().zip(wanted).enumerate() {
                let others = made.iter().zip(wanted).filter(|(a, b)| a.abs_diff(**b) > STEPS).count();
                let part = others as f64 / wanted.len() as f64;
                println!("{name}, pad {pad}, frame {number}: {part:.5} of the bytes are others");
                if made.len() != wanted.len() || part > OTHER_BYTES {
                    wrong.push(format!("{name}, pad {pad}, frame {number}: {part} of the bytes are others"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
