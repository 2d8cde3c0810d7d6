//! One stream of sixteen misbehaves: the others' results are those that they have without it.

use std::time::Duration;

use cudainfer_tests::sixteen::{Bad, STREAMS, Sixteen, time_of};
use cudainfer_tests::until;

use cudainfer_tests::stream::together;

const FRAMES: u64 = 40;

/// The results of the streams that behave, the errors of the last one, and the frames that it sent and that came out.
fn run(bad: Bad) -> (Vec<Vec<String>>, Vec<String>, [u64; 2]) {
    let sixteen = Sixteen::start(bad, Duration::from_millis(1));
    time_of(&sixteen, FRAMES);
    let mut errors_of_last = Vec::new();
    until("frames that are too short are refused", || {
        let [errors, of_last] = sixteen.errors();
        assert_eq!(errors, [""; 0], "{bad:?}");
        errors_of_last.extend(of_last);
        bad != Bad::Garbage || !errors_of_last.is_empty()
    });
    (sixteen.results(), errors_of_last, sixteen.stop())
}

#[test]
fn fifteen_streams_have_the_results_that_they_have_without_a_bad_sixteenth() {
    let _together = together();
    let (wanted, errors, _) = run(Bad::Nothing);
    assert_eq!((wanted.len(), errors.len()), (STREAMS - 1, 0));
    assert!(wanted.iter().all(|frames| frames.len() as u64 == FRAMES));
    assert!(wanted[0].iter().all(|objects| objects.contains("red")), "{:?}", wanted[0]);
    for bad in Bad::ALL {
        let (results, errors, [sent, out]) = run(bad);
        assert!(results == wanted, "{bad:?} changes the results of others");
        match bad {
            // Frames that are too short end their stream with a sentence.
            Bad::Garbage => assert!(errors.iter().any(|error| error.contains("pre15")), "{errors:?}"),
            Bad::Blocked => assert!(out == 0 && errors.is_empty(), "{out} of {sent}, {errors:?}"),
            Bad::Caps | Bad::Crowd => assert_eq!(errors, [""; 0], "{bad:?}"),
            Bad::Nothing => (),
        }
    }
}
