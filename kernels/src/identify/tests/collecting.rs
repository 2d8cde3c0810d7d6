//! Unknowns and what is kept of them.

use super::super::{Unknowns, UnknownsError};
use super::*;

#[test]
fn an_unknown_is_the_mean_of_its_embeddings() {
    let mut unknowns = Unknowns::new(10);
    let mut numbers = Numbers(7);
    let embeddings: Vec<_> = (0..200).map(|_| unit(&numbers.vector(64)).unwrap()).collect();
    let number = unknowns.begin(&embeddings[0]).unwrap();
    embeddings[1..].iter().for_each(|embedding| unknowns.learn(number, embedding));
    let mean: Vec<f64> =
        (0..64).map(|i| embeddings.iter().map(|embedding| f64::from(embedding[i])).sum::<f64>()).collect();
    let size = mean.iter().map(|v| v * v).sum::<f64>().sqrt();
    let probe = unit(&numbers.vector(64)).unwrap();
    let wanted: f64 = mean.iter().zip(&probe).map(|(mean, v)| mean / size * f64::from(*v)).sum();
    // The mean is rounded to float32 once, and the product adds 64 numbers.
    let got = unknowns.similarity(number, &probe).unwrap();
    assert!((f64::from(got) - wanted).abs() < 1e-6, "{got} is not {wanted}");
    assert_eq!(unknowns.nearest(&probe), Some((number, got)));
}

#[test]
fn the_nearest_counts_and_numbers_are_never_given_twice() {
    let mut unknowns = Unknowns::new(3);
    assert_eq!((unknowns.length(), unknowns.nearest(&at(0.0))), (None, None));
    for (degrees, number) in [(0.0, 1), (90.0, 2), (180.0, 3)] {
        assert_eq!(unknowns.begin(&at(degrees)), Some(number));
    }
    assert_eq!((unknowns.begin(&at(270.0)), unknowns.left_out(), unknowns.count()), (None, 1, 3));
    assert_eq!(unknowns.nearest(&at(100.0)).unwrap().0, 2);
    assert_eq!(unknowns.nearest(&[1.0; 3]), None, "of another model");
    assert_eq!(unknowns.similarity(9, &at(0.0)), None);
    assert_eq!(unknowns.length(), Some(2));
}

#[test]
fn what_is_kept_is_bounded_differs_and_is_taken_over_at_the_next_start() {
    let mut unknowns = Unknowns::new(3);
    unknowns.begin(&at(0.0));
    let before = unknowns.changes();
    unknowns.learn(1, &at(5.0));
    assert_eq!(unknowns.changes(), before, "5 degrees are more alike than 0.95");
    // 20 degrees are a cosine of 0.94.
    (1..=17).for_each(|step| unknowns.learn(1, &at(20.0 * f64::from(step))));
    let kept = unknowns.collected().next().unwrap().1.to_vec();
    assert_eq!((kept.len(), unknowns.changes()), (8 * 2, before + 7));
    let mut next = Unknowns::new(3);
    next.restore(5, 2, &kept[..4]).unwrap();
    let (number, rows) = next.collected().next().unwrap();
    // They are scaled to length 1 once more.
    let same = rows.iter().zip(&kept).all(|(got, kept)| (got - kept).abs() < 1e-6);
    assert!((number, rows.len(), next.changes(), same) == (5, 4, 0, true), "{rows:?}");
    assert!((next.similarity(5, &at(10.0)).unwrap() - 1.0).abs() < 1e-6, "the mean of 0 and 20 degrees");
    assert_eq!(next.begin(&at(180.0)), Some(6), "after the highest");
    assert_eq!(next.restore(5, 2, &kept), Err(UnknownsError::Twice(5)));
    assert_eq!(next.restore(7, 4, &kept), Err(UnknownsError::Length { number: 7, found: 4, wanted: 2 }));
    assert_eq!(next.restore(7, 2, &[0.0, 0.0]), Err(UnknownsError::NoDirection(7)));
}
