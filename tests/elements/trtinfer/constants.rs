//! Inputs whose values are in files, and values and classes that change while frames flow.

use std::path::PathBuf;

use cudainfer_tests::stream::{Stream, brightness};
use cudainfer_tests::{model, root, run};
use gst::prelude::*;

/// A file beside the test models.
fn beside(name: &str) -> PathBuf {
    root().join(".cache/test-models").join(name)
}

/// The structure of the property.
fn constants(fields: &str) -> gst::Structure {
    format!("constants,{fields}").parse().unwrap()
}

/// A detector's stream. Its frames are gray: a class is found by the first number of its row, which is 1 or 0 here.
fn stream(properties: &str) -> Stream {
    let stream = Stream::new("vocabulary", &format!("device=cpu {properties}"));
    stream.begin();
    stream
}

fn set(stream: &Stream, value: Option<gst::Structure>) {
    stream.pipeline.element("infer").set_property("constants", value);
}

/// The numbers as the bytes of float32.
fn bytes(numbers: &[f32]) -> gst::Buffer {
    gst::Buffer::from_slice(numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<_>>())
}

#[test]
fn the_next_frame_has_the_classes_that_were_set_and_no_frame_is_lost() {
    for properties in ["workers=1", "workers=3 batch-size=4 batch-timeout=20000000 max-in-flight=16"] {
        let stream = stream(properties);
        let mut wanted = Vec::new();
        let mut push = |label: &str| {
            for _ in 0..7 {
                stream.push(wanted.len() as u64);
                wanted.push(label.to_owned());
            }
        };
        push("red");
        set(&stream, Some(constants("txt_feats=<0.0,0.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0>,labels=<a,b,c>")));
        push("c");
        // As many as before, by other names.
        set(&stream, Some(constants("txt_feats=<0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0>,labels=<x,y,z>")));
        push("y");
        let mut of_buffer = constants("labels=<only>");
        of_buffer.set("txt_feats", bytes(&[1.0, 0.0, 0.0]));
        set(&stream, Some(of_buffer));
        push("only");
        let file = beside("vocabulary-compressed.npz");
        set(&stream, Some(constants(&format!("txt_feats=(string)\"{}\",labels=<rot,blau>", file.display()))));
        push("rot");
        // Classes without names have their numbers.
        set(&stream, Some(constants("txt_feats=<0.0,0.0,0.0,1.0,0.0,0.0>,labels=< >")));
        push("1");
        set(&stream, None);
        push("red");
        stream.end();
        let got: Vec<_> = stream.frames().into_iter().map(|frame| frame.label).collect();
        assert_eq!(got, wanted, "{properties}");
        assert_eq!(stream.numbers(), (0..wanted.len() as u64).collect::<Vec<_>>());
        assert_eq!(stream.said(), Vec::<String>::new());
    }
}

#[test]
fn constants_that_do_not_fit_are_a_sentence_and_those_before_stay() {
    let stream = stream("workers=1");
    stream.push(0);
    let given = constants("txt_feats=<0.0,0.0,0.0,1.0,0.0,0.0>,labels=<a,b>");
    set(&stream, Some(given.clone()));
    stream.push(1);
    let file = |name: &str| format!("txt_feats=(string)\"{}\",labels=<a,b>", beside(name).display());
    for (fields, parts) in [
        ("feats=<1.0>,labels=<a>".to_owned(), ["input 'feats'", "images, txt_feats"]),
        ("images=<1.0>,labels=<a>".to_owned(), ["'images'", "takes the picture"]),
        ("txt_feats=<1.0,1.0>,labels=<a>".to_owned(), ["has 2 numbers", "txt_feats:float32:1x?x3"]),
        ("txt_feats=<1.0,0.0,0.0>".to_owned(), ["no names of what they stand for", "labels=<name,name>"]),
        ("txt_feats=<1.0,0.0,0.0>,labels=<a,b,c>".to_owned(), ["3 labels for 1 rows", "one for each"]),
        (
            "txt_feats=<1.0,0.0,0.0>,labels=<1,2>".to_owned(),
            ["labels of the property constants", "labels=<cat,dog>"],
        ),
        ("txt_feats=<1.0,0.0,0.0>,labels=nowhere.txt".to_owned(), ["nowhere.txt", "cannot be read"]),
        ("txt_feats=(GstCaps)\"video/x-raw\",labels=<a>".to_owned(), ["type GstCaps", "GstBuffer"]),
        ("txt_feats=nowhere.npy,labels=<a>".to_owned(), ["nowhere.npy", "No such file"]),
        (file("vocabulary-double.npy"), ["NumPy's type <f8", "astype"]),
        (file("vocabulary-half.npy"), ["1x2x3 float16", "txt_feats:float32:1x?x3"]),
        (file("vocabulary-wide.npy"), ["1x2x4 float32", "txt_feats:float32:1x?x3"]),
        (file("vocabulary-several.npz"), ["no array 'txt_feats'", "one.npy, two.npy"]),
        (file("vocabulary-lies.npz"), ["100000000x2x3 float32", "24 bytes follow"]),
    ] {
        set(&stream, Some(constants(&fields)));
        let said = stream.said();
        let [warning] = &said[..] else { panic!("{fields}: {said:?}") };
        assert!(warning.contains("infer: the constants are not taken, those before stay"), "{warning}");
        assert!(parts.iter().all(|part| warning.contains(part)), "{fields}: {warning}");
        let kept: Option<gst::Structure> = stream.pipeline.element("infer").property("constants");
        assert_eq!(kept.as_ref(), Some(&given));
    }
    stream.push(2);
    stream.end();
    assert_eq!(stream.frames().into_iter().map(|frame| frame.label).collect::<Vec<_>>(), ["red", "b", "b"]);
}

#[test]
fn constants_that_are_set_before_the_start_are_there_from_the_first_frame_on() {
    let fields = "constants=\"constants,txt_feats=<0.0,0.0,0.0,1.0,0.0,0.0>,labels=<a,b>\"";
    let stream = stream(fields);
    (0..3).for_each(|number| stream.push(number));
    stream.end();
    assert!(stream.frames().iter().all(|frame| frame.label == "b"), "{:?}", stream.frames());
    run(&format!(
        "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer device=cpu model={} constants=\"constants,feats=<1.0>\" ! fakesink",
        model("vocabulary")
    ))
    .fails_with(&["input 'feats'", "images, txt_feats"]);
}

#[test]
fn another_model_keeps_what_is_given_if_it_has_such_inputs_and_else_says_that_it_does_not() {
    let stream = stream("workers=1");
    set(&stream, Some(constants("txt_feats=<0.0,0.0,0.0,1.0,0.0,0.0>,labels=<a,b>")));
    let mut next = 0;
    let mut until_label = |label: &str| {
        cudainfer_tests::until(label, || {
            stream.push(next);
            next += 1;
            stream.frames().last().is_some_and(|frame| frame.label == label)
        });
    };
    until_label("b");
    stream.set_model("detector-retrained");
    until_label("rot");
    let said = stream.said();
    assert!(
        said.len() == 1
            && said[0].contains("input 'txt_feats'")
            && said[0].contains("This model has the sidecar's"),
        "{said:?}"
    );
    let kept: Option<gst::Structure> = stream.pipeline.element("infer").property("constants");
    assert_eq!(kept, None);
    stream.set_model("vocabulary");
    until_label("red");
    stream.end();
}

#[test]
fn a_sidecars_constant_may_be_in_a_file_or_one_number_for_all_elements() {
    // Of a gray frame: 1 and a half of its brightness; a row of 0.5 adds 1.5 of it, and a row of 1 three.
    for (name, first) in [
        ("vocabulary", 1.0),
        ("vocabulary-of-several", 1.0),
        ("vocabulary-filled", 1.5),
        ("vocabulary-filled-alone", 3.0),
    ] {
        let stream = Stream::with(&format!(
            "trtinfer name=infer device=cpu model={} ! fakesink name=out async=false",
            model(name)
        ));
        let seen = stream.pipeline.collect("out");
        stream.begin();
        stream.push(0);
        stream.end();
        let frame = &seen.lock().unwrap()[0];
        let set = &gstcudainfer::meta::tensor::TensorSet::of(frame).unwrap()[0];
        let map = set.tensors[0].map().unwrap();
        // [1, 4 + N, 84]: the first anchor's score of the first class.
        let score = map.view().unwrap().to_f32()[4 * 84];
        let wanted = first * f32::from(brightness(0)) / 255.0;
        assert!((score - wanted).abs() < 1e-4, "{name}: {score}, not {wanted}");
    }
}
