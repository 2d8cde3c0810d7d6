//! The standard deviation of each keypoint, for OKS.

use std::str::FromStr;

use cudainfer_kernels::associate::COCO_SIGMAS;

use crate::model::Skeleton;

/// For points of which nothing is known. From one frame to the next an animal moves and turns by more than annotators disagree about its
/// points (COCO's values, 0.067 on average): of 0.067, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6 and 0.8, those from 0.3 to 0.5 gave the fewest breaks and
/// exchanges of identities of flies, and of the made animals of `scripts/evaluate identities`, with a limit of the individuals and without.
pub(super) const EVEN: f32 = 0.4;

/// The property `sigmas`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sigmas {
    /// For every point without a value of its own.
    all: Option<f32>,
    named: Vec<(String, f32)>,
}

impl Sigmas {
    /// The value for point `name`: as given, else the sidecar's, else COCO's where no skeleton is known and all points are `cocos`, else
    /// [`EVEN`].
    pub fn of(&self, name: &str, skeleton: &Skeleton, cocos: bool) -> f32 {
        let given = self.named.iter().find(|(n, _)| n == name).map(|(_, sigma)| *sigma).or(self.all);
        let known = || {
            let place = skeleton.points.iter().position(|point| point == name)?;
            skeleton.sigmas.get(place).copied()
        };
        let coco = || {
            let coco = Skeleton::coco();
            let place = coco.points.iter().position(|point| point == name)?;
            COCO_SIGMAS.get(place).copied().filter(|_| cocos && skeleton.points.is_empty())
        };
        given.or_else(known).or_else(coco).unwrap_or(EVEN)
    }
}

/// Whether all names are those of COCO's points: an animal's nose beside its tail is none of these.
pub(super) fn are_cocos<'a>(mut names: impl Iterator<Item = &'a String>) -> bool {
    let coco = Skeleton::coco();
    names.all(|name| coco.points.contains(name))
}

impl FromStr for Sigmas {
    type Err = String;

    /// `0.05`, `nose=0.03,tail=0.1`, or both.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut sigmas = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, number) =
                part.split_once('=').map_or((None, part), |(name, n)| (Some(name.trim()), n.trim()));
            let sigma: f32 = number.parse().unwrap_or(f32::NAN);
            if !(sigma.is_finite() && sigma > 0.0) {
                return Err(format!(
                    "sigmas: '{part}' is neither a number above 0, for all points, nor POINT=NUMBER, as in \
                     nose=0.026,tail=0.1"
                ));
            }
            match name {
                Some(name) => sigmas.named.push((name.to_owned(), sigma)),
                None => sigmas.all = Some(sigma),
            }
        }
        Ok(sigmas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_source_wins() {
        let (none, coco) = (Skeleton::default(), Skeleton::coco());
        let mouse =
            Skeleton { points: vec!["nose".into(), "tail".into()], sigmas: vec![0.04, 0.2], ..none.clone() };
        let bare = Skeleton { sigmas: Vec::new(), ..mouse.clone() };
        let given: Sigmas = " nose = 0.5".parse().unwrap();
        let all: Sigmas = "0.3, tail=0.4".parse().unwrap();
        for (sigmas, name, skeleton, wanted) in [
            (&given, "nose", &mouse, 0.5),
            (&given, "tail", &mouse, 0.2),
            (&all, "nose", &mouse, 0.3),
            (&all, "tail", &mouse, 0.4),
            (&Sigmas::default(), "nose", &none, 0.026),
            (&Sigmas::default(), "left_hip", &coco, 0.107),
            (&Sigmas::default(), "nose", &bare, EVEN),
            (&Sigmas::default(), "tail", &none, EVEN),
        ] {
            assert_eq!(sigmas.of(name, skeleton, true), wanted, "{name} of {skeleton:?}");
        }
        assert_eq!(Sigmas::default().of("nose", &none, false), EVEN);
    }

    #[test]
    fn cocos_points_are_those_of_people_alone() {
        let names = |names: &[&str]| {
            are_cocos(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().iter())
        };
        assert!(names(&["nose", "left_hip"]) && !names(&["nose", "tail"]));
    }

    #[test]
    fn what_is_no_sigma_is_reported() {
        assert_eq!("".parse(), Ok(Sigmas::default()));
        for wrong in ["much", "nose=", "nose:0.1", "0", "nose=-1", "nan", "tail=inf"] {
            let error = wrong.parse::<Sigmas>().unwrap_err();
            assert!(error.contains(&format!("'{wrong}'")) && error.contains("POINT=NUMBER"), "{error}");
        }
    }

    #[test]
    fn fuzz_sigmas() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "sigmas")
            .with_ratio(40) // a point of three bytes has a text and a number
            .run_text(|text| drop(text.parse::<Sigmas>()));
    }
}
