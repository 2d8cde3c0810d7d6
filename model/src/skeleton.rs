//! A model's keypoints and the edges between them: the sidecar's section `[skeleton]`.

use cudainfer_kernels::associate::COCO_SIGMAS;
use serde::{Deserialize, Serialize, Serializer};

/// The points that a model finds on an object. Empty if the sidecar has none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Section")]
pub struct Skeleton {
    /// The points' names in the order of the model's channels; all differ.
    pub points: Vec<String>,
    /// Which points are joined, as numbers of points, each pair once.
    pub edges: Vec<[usize; 2]>,
    /// Which points change places in a mirrored frame; no point is in two pairs.
    pub symmetric: Vec<[usize; 2]>,
    /// The standard deviation of each point as a fraction of the object's scale (see [`COCO_SIGMAS`]); empty if the sidecar
    /// has none.
    pub sigmas: Vec<f32>,
}

/// The section `[skeleton]` as the file has it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    name: Option<String>,
    points: Vec<String>,
    edges: Vec<Vec<Point>>,
    symmetric: Vec<Vec<Point>>,
    sigmas: Vec<f32>,
}

/// A point by its number or its name.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a point is written as its name or as its number, counted from 0")]
enum Point {
    Number(usize),
    Name(String),
}

/// The 17 points of COCO's category "person", with its names and in its order.
const COCO_POINTS: [&str; 17] = [
    "nose",
    "left_eye",
    "right_eye",
    "left_ear",
    "right_ear",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
];

/// The 19 edges of the same category (`skeleton` in COCO's person_keypoints_*.json, which counts points from 1).
const COCO_EDGES: [[usize; 2]; 19] = [
    [15, 13],
    [13, 11],
    [16, 14],
    [14, 12],
    [11, 12],
    [5, 11],
    [6, 12],
    [5, 6],
    [5, 7],
    [6, 8],
    [7, 9],
    [8, 10],
    [1, 2],
    [0, 1],
    [0, 2],
    [1, 3],
    [2, 4],
    [3, 5],
    [4, 6],
];

impl Skeleton {
    /// COCO's person.
    pub fn coco() -> Self {
        Self {
            points: COCO_POINTS.map(str::to_owned).to_vec(),
            edges: COCO_EDGES.to_vec(),
            // All but the nose come in pairs, left before right.
            symmetric: (1..COCO_POINTS.len()).step_by(2).map(|left| [left, left + 1]).collect(),
            sigmas: COCO_SIGMAS.to_vec(),
        }
    }

    /// Points without edges; `None` if two have the same name, or one has none.
    pub(super) fn of_points(points: Vec<String>) -> Option<Self> {
        let mut sorted: Vec<_> = points.iter().collect();
        sorted.sort_unstable();
        let valid =
            sorted.windows(2).all(|pair| pair[0] != pair[1]) && points.iter().all(|point| !point.is_empty());
        valid.then(|| Self { points, ..Self::default() })
    }

    /// The same with these additional edges, except for those that are there already. Both ends of each are points, and differ.
    pub(super) fn with_edges(mut self, edges: Vec<[usize; 2]>) -> Self {
        let mut known = std::collections::HashSet::new();
        self.edges = edges.into_iter().filter(|[a, b]| known.insert([*a.min(b), *a.max(b)])).collect();
        self
    }

    /// The edges between the points that an object has, as indices into the list of its points. `present` has the skeleton's
    /// number of each of them; if a point is there twice, the first counts.
    pub fn edges_among(&self, present: &[usize]) -> Vec<[u32; 2]> {
        let place = |point: usize| {
            let place = present.iter().position(|&p| p == point)?;
            u32::try_from(place).ok()
        };
        self.edges.iter().filter_map(|&[a, b]| Some([place(a)?, place(b)?])).collect()
    }
}

impl Serialize for Skeleton {
    /// The section as it would be written, with the points' numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            points: &'a [String],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            edges: &'a [[usize; 2]],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            symmetric: &'a [[usize; 2]],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            sigmas: &'a [f32],
        }
        let Self { points, edges, symmetric, sigmas } = self;
        Written { points, edges, symmetric, sigmas }.serialize(serializer)
    }
}

impl TryFrom<Section> for Skeleton {
    type Error = String;

    fn try_from(section: Section) -> Result<Self, String> {
        let Section { name, points, edges, symmetric, sigmas } = section;
        if let Some(name) = name {
            if !(points.is_empty() && edges.is_empty() && symmetric.is_empty() && sigmas.is_empty()) {
                return Err(format!(
                    "skeleton.name = \"{name}\" brings its own points, edges, symmetric pairs and sigmas: \
                                    keep the name or the lists"
                ));
            }
            return match name.as_str() {
                "coco-17" => Ok(Self::coco()),
                _ => Err(format!(
                    "there is no skeleton '{name}': write name = \"coco-17\", or points = [...] and \
                                  edges = [...] for one of your own"
                )),
            };
        }
        if points.is_empty() {
            return Err("a skeleton needs points = [\"...\", ...], or name = \"coco-17\"".into());
        }
        for (i, point) in points.iter().enumerate() {
            if point.is_empty() || points.iter().take(i).any(|p| p == point) {
                return Err(format!(
                    "skeleton.points: point {i} is called '{point}', but every point needs a name that no other has"
                ));
            }
        }
        let edges = pairs("edges", &points, edges)?;
        for (i, &[a, b]) in edges.iter().enumerate() {
            if edges.iter().take(i).any(|&e| e == [a, b] || e == [b, a]) {
                let [a, b] = [&points[a], &points[b]];
                return Err(format!(
                    "skeleton.edges: '{a}' and '{b}' are joined twice: leave one of them out"
                ));
            }
        }
        let symmetric = pairs("symmetric", &points, symmetric)?;
        let mut flat = symmetric.iter().flatten().enumerate();
        if let Some((_, &twice)) = flat.find(|(i, p)| symmetric.iter().flatten().take(*i).any(|q| q == *p)) {
            return Err(format!(
                "skeleton.symmetric: '{}' is in two pairs, but has one counterpart",
                points[twice]
            ));
        }
        if !sigmas.is_empty() && sigmas.len() != points.len() {
            let (given, needed) = (sigmas.len(), points.len());
            return Err(format!(
                "skeleton.sigmas has {given} values for {needed} points: give one each, or none"
            ));
        }
        if let Some(wrong) = sigmas.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return Err(format!("skeleton.sigmas: {wrong} is no spread: it must be above 0"));
        }
        Ok(Self { points, edges, symmetric, sigmas })
    }
}

/// Pairs of different points, as numbers.
fn pairs(field: &str, points: &[String], written: Vec<Vec<Point>>) -> Result<Vec<[usize; 2]>, String> {
    let number = |point: Point| match point {
        Point::Number(i) if i < points.len() => Ok(i),
        Point::Number(i) => Err(format!(
            "skeleton.{field}: there is no point {i}: the points are numbered from 0 to {}",
            points.len() - 1
        )),
        Point::Name(name) => points.iter().position(|p| *p == name).ok_or_else(|| {
            format!("skeleton.{field}: there is no point '{name}': the points are {}", points.join(", "))
        }),
    };
    let mut found = Vec::with_capacity(written.len());
    for pair in written {
        let [a, b] = <[Point; 2]>::try_from(pair)
            .map_err(|pair| format!("skeleton.{field}: a pair has two points, not {}", pair.len()))?;
        let pair = [number(a)?, number(b)?];
        if pair[0] == pair[1] {
            return Err(format!("skeleton.{field}: '{}' is paired with itself", points[pair[0]]));
        }
        found.push(pair);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Skeleton, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn cocos_person_is_the_one_of_its_annotations() {
        let coco = read("name = \"coco-17\"").unwrap();
        let named = |pairs: &[[usize; 2]]| -> Vec<[String; 2]> {
            pairs.iter().map(|p| p.map(|i| coco.points[i].clone())).collect()
        };
        assert_eq!((coco.points.len(), coco.edges.len(), coco.sigmas.len()), (17, 19, 17));
        assert_eq!(coco.symmetric.len(), 8);
        for [left, right] in named(&coco.symmetric) {
            assert_eq!(left.replace("left_", "right_"), right);
        }
        // The skeleton is its own mirror image, as COCO's is.
        let mirrored = |p: usize| {
            let pair = coco.symmetric.iter().find(|pair| pair.contains(&p));
            pair.map_or(p, |pair| if pair[0] == p { pair[1] } else { pair[0] })
        };
        for &[a, b] in &coco.edges {
            let (a, b) = (mirrored(a), mirrored(b));
            assert!(coco.edges.contains(&[a, b]) || coco.edges.contains(&[b, a]), "{a}-{b}");
        }
        let edges = named(&coco.edges);
        assert!(edges.contains(&["left_ankle".into(), "left_knee".into()]), "{edges:?}");
        assert!(edges.contains(&["left_ear".into(), "left_shoulder".into()]), "{edges:?}");
    }

    #[test]
    fn points_are_named_or_numbered() {
        let fly = read(
            "points = [\"head\", \"left wing\", \"right wing\"]\nedges = [[\"head\", \"left wing\"], [0, 2]]\n\
             symmetric = [[\"left wing\", 2]]\nsigmas = [0.05, 0.1, 0.1]",
        );
        let fly = fly.unwrap();
        assert_eq!((fly.edges, fly.symmetric), (vec![[0, 1], [0, 2]], vec![[1, 2]]));
        assert_eq!(fly.sigmas, [0.05, 0.1, 0.1]);
    }

    #[test]
    fn edges_are_renumbered_to_the_points_that_are_there() {
        let coco = Skeleton::coco();
        // Right shoulder, left shoulder, left hip; then the left shoulder once more.
        assert_eq!(coco.edges_among(&[6, 5, 11, 5]), [[1, 2], [1, 0]]);
        assert_eq!(coco.edges_among(&[0, 16]), [[0u32; 2]; 0]);
        assert_eq!(Skeleton::default().edges_among(&[0, 1]), [[0u32; 2]; 0]);
    }

    #[test]
    fn errors_are_reported() {
        let points = "points = [\"a\", \"b\", \"c\"]\n";
        for (text, why) in [
            ("name = \"coco-18\"", "no skeleton 'coco-18'"),
            ("name = \"coco-17\"\nsigmas = [0.1]", "keep the name or the lists"),
            ("", "needs points"),
            ("edges = [[0, 1]]", "needs points"),
            ("points = [\"a\", \"b\", \"a\"]", "point 2 is called 'a'"),
            ("points = [\"a\", \"\"]", "point 1 is called ''"),
            ("points = [\"a\"]\nlimbs = [[0, 1]]", "limbs"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        for (text, why) in [
            ("edges = [[\"a\", \"d\"]]", "no point 'd': the points are a, b, c"),
            ("edges = [[0, 3]]", "no point 3: the points are numbered from 0 to 2"),
            ("edges = [[0, -1]]", "its name or as its number"),
            ("edges = [[0, 1, 2]]", "a pair has two points, not 3"),
            ("edges = [[1, \"b\"]]", "'b' is paired with itself"),
            ("edges = [[0, 1], [1, 0]]", "'b' and 'a' are joined twice"),
            ("symmetric = [[0, 1], [2, 0]]", "'a' is in two pairs"),
            ("symmetric = [[0, 0]]", "'a' is paired with itself"),
            ("sigmas = [0.1, 0.1]", "2 values for 3 points"),
            ("sigmas = [0.1, 0.0, 0.1]", "0 is no spread"),
            ("sigmas = [0.1, nan, 0.1]", "NaN is no spread"),
        ] {
            let error = read(&format!("{points}{text}")).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
