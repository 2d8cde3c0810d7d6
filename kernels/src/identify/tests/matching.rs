//! The gallery's best name, and what it means.

use proptest::prelude::*;

use super::super::{GalleryError, IdentifyError, Verdict};
use super::*;

/// Each name's best similarity, plainly in float64, the highest first.
fn reference(people: &[(String, Vec<Vec<f32>>)], embedding: &[f32]) -> Vec<(usize, f64)> {
    let product =
        |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let cosine = |a: &[f32], b: &[f32]| product(a, b) / (product(a, a) * product(b, b)).sqrt();
    let best = |pictures: &Vec<Vec<f32>>| pictures.iter().map(|p| cosine(p, embedding)).fold(-1.0, f64::max);
    let mut scores: Vec<_> = people.iter().map(|(_, pictures)| best(pictures)).enumerate().collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    scores
}

#[test]
fn the_best_name_and_the_second_are_those_of_the_plain_reference() {
    for (length, names, pictures) in [(1, 2, 1), (3, 5, 2), (16, 7, 3), (33, 40, 4), (512, 2000, 3)] {
        let mut numbers = Numbers(length as u64);
        let people: Vec<_> = (0..names)
            .map(|name| {
                let count = 1 + name % pictures;
                (format!("name {name}"), (0..count).map(|_| numbers.vector(length)).collect::<Vec<_>>())
            })
            .collect();
        let entries = people.iter().map(|(name, pictures)| (name.clone(), length, pictures.concat()));
        let gallery = match Gallery::new(entries) {
            Ok(gallery) => gallery,
            // Of one number there are only two directions.
            Err(GalleryError::TwoNames { .. }) if length == 1 => continue,
            Err(e) => panic!("{e}"),
        };
        for _ in 0..5 {
            let embedding = numbers.vector(length);
            let wanted = reference(&people, &embedding);
            let best = gallery.best(&unit(&embedding).unwrap()).unwrap();
            // Products of float32 whose sum is at most 1: an error of 2^-24 for each of the steps, which partly cancel.
            let near = |got: f32, wanted: f64| (f64::from(got) - wanted).abs() < 2e-6;
            assert!(near(best.score, wanted[0].1), "{best:?} is not {:?}", &wanted[..2]);
            assert!(near(best.second.unwrap(), wanted[1].1), "{best:?} is not {:?}", &wanted[..2]);
            if wanted[0].1 - wanted[1].1 > 1e-5 {
                assert_eq!(best.name, wanted[0].0);
            }
        }
    }
}

proptest! {
    #[test]
    fn length_does_not_matter_and_a_picture_of_a_name_is_that_name(
        rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 8), 2..20),
        scale in 0.01_f32..100.0,
    ) {
        let entries = rows.iter().enumerate().map(|(i, row)| (i.to_string(), 8, row.clone()));
        // Rows of zeros, and the same row twice, are refused.
        if let Ok(gallery) = Gallery::new(entries) {
            for (i, row) in rows.iter().enumerate() {
                let scaled: Vec<_> = row.iter().map(|v| v * scale).collect();
                let best = gallery.best(&unit(&scaled).unwrap()).unwrap();
                prop_assert!(best.score > 1.0 - 1e-5 && best.score <= 1.0);
                prop_assert!(best.name == i || best.second.unwrap() > 1.0 - 1e-5);
            }
        }
    }
}

#[test]
fn a_name_needs_the_threshold_and_the_margin_before_every_other_name() {
    // cos 60 = 0.5; 10 degrees from one, 30 from the other: 0.985 and 0.866.
    let gallery = gallery(&[("ann", &[0.0, 90.0]), ("bob", &[40.0])]);
    let verdict =
        |degrees: f64, threshold, margin| params(threshold, margin).judge(gallery.best(&at(degrees)));
    let known = |verdict: Verdict| match verdict {
        Verdict::Known(found) => gallery.names()[found.name].clone(),
        other => format!("{other:?}"),
    };
    assert_eq!(known(verdict(10.0, 0.5, 0.05)), "ann");
    assert_eq!(known(verdict(85.0, 0.5, 0.05)), "ann", "by her second picture");
    assert_eq!(known(verdict(30.0, 0.5, 0.05)), "bob");
    assert_eq!(known(verdict(10.0, 0.5, 0.2)), "Ambiguous");
    assert_eq!(known(verdict(20.0, 0.5, 0.05)), "Ambiguous", "in the middle");
    assert_eq!(known(verdict(20.0, 0.95, 0.0)), "Stranger");
    assert_eq!(known(verdict(200.0, 0.0, 0.0)), "Stranger");
    assert_eq!(known(verdict(200.0, -1.0, 0.0)), "ann");
}

#[test]
fn one_name_alone_needs_no_margin_and_another_length_is_like_nobody() {
    let gallery = gallery(&[("ann", &[0.0])]);
    let best = gallery.best(&at(60.0)).unwrap();
    assert!((best.score - 0.5).abs() < 1e-6 && best.second.is_none());
    assert!(matches!(params(0.4, 2.0).judge(Some(best)), Verdict::Known(_)));
    assert_eq!(gallery.best(&[1.0]), None);
    assert_eq!(params(-1.0, 0.0).judge(None), Verdict::Stranger);
}

#[test]
fn what_is_no_gallery_is_named() {
    let entry = |name: &str, length: usize, values: &[f32]| (name.to_owned(), length, values.to_vec());
    let error = |entries: &[(String, usize, Vec<f32>)]| Gallery::new(entries.to_vec()).unwrap_err();
    assert_eq!(error(&[]), GalleryError::Empty);
    assert_eq!(error(&[entry("", 1, &[1.0])]), GalleryError::NoName);
    for (length, values) in [(0, &[][..]), (2, &[]), (2, &[1.0])] {
        assert_eq!(error(&[entry("ann", length, values)]), GalleryError::NoPictures("ann".into()));
    }
    let (ann, bob) = (entry("ann", 2, &[1.0, 0.0]), entry("bob", 3, &[1.0, 0.0, 0.0]));
    let text = error(&[ann.clone(), bob]).to_string();
    assert!(text.contains("'bob' have 3") && text.contains("'ann' have 2"), "{text}");
    for bad in [0.0, f32::NAN, f32::INFINITY] {
        let values = [1.0, 0.0, bad, 0.0];
        let wanted = GalleryError::NoDirection { name: "bob".into(), picture: 2 };
        assert_eq!(error(&[ann.clone(), entry("bob", 2, &values)]), wanted, "{bad}");
    }
    assert_eq!(error(&[ann.clone(), entry("ann", 2, &[0.0, 1.0])]), GalleryError::NameTwice("ann".into()));
    let twice = entry("bob", 2, &[0.0, 1.0, 3.0, 0.0]);
    assert_eq!(
        error(&[ann.clone(), twice]),
        GalleryError::TwoNames { first: "ann".into(), second: "bob".into() }
    );
    assert!(
        Gallery::new([entry("ann", 2, &[1.0, 0.0, 1.0, 0.0])]).is_ok(),
        "twice under one name is harmless"
    );
}

#[test]
fn parameters_that_no_cosine_can_meet_are_refused() {
    for threshold in [-1.01, 1.5, 50.0, f64::NAN, f64::INFINITY] {
        let wrong = params(threshold, 0.0).check();
        assert!(matches!(wrong, Err(IdentifyError::Threshold(_))), "{threshold}");
    }
    for margin in [-0.1, 2.1, f64::NAN] {
        assert!(matches!(params(0.5, margin).check(), Err(IdentifyError::Margin(_))), "{margin}");
    }
    for (threshold, margin) in [(-1.0, 0.0), (1.0, 2.0)] {
        assert_eq!(params(threshold, margin).check(), Ok(()));
    }
}
