//! A dataset for training: pictures, and what is on them.
//!
//! - `yolo`: `images/NAME.jpg`, `labels/NAME.txt` with a line for each object (its class's number, and centre, width and height of
//!   its box as parts of the picture's sides) and `data.yaml` with the classes, as Ultralytics' trainers read them.
//! - `coco`: `images/NAME.jpg` and `annotations.json`, as <https://cocodataset.org/#format-data> describes it, with the confidence
//!   of each object as `score`.
//!
//! A class keeps its number. A picture comes before what describes it, so that a picture is missing nowhere.

use std::path::Path;

use cudainfer_files::{Folder, Readers};
use serde::{Deserialize, Serialize};

use super::super::object::Object;
use crate::config::DatasetFormat;

const YAML: &str = "data.yaml";
const JSON: &str = "annotations.json";
/// More than such a file has with the most pictures.
const LARGEST: u64 = 256 << 20;

/// A dataset in a folder of its own.
#[derive(Debug)]
pub struct Dataset {
    folder: Folder,
    images: Folder,
    kind: Kind,
    /// How many pictures it has.
    pub frames: usize,
}

#[derive(Debug)]
enum Kind {
    Yolo { labels: Folder, classes: Vec<String> },
    Coco(Coco),
}

/// `annotations.json`.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Coco {
    images: Vec<Image>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Image {
    id: u64,
    file_name: String,
    width: u32,
    height: u32,
    date_captured: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct Annotation {
    id: u64,
    image_id: u64,
    category_id: usize,
    bbox: [f64; 4],
    area: f64,
    iscrowd: u8,
    score: f64,
}

#[derive(Debug, Deserialize, Serialize)]
struct Category {
    id: usize,
    name: String,
}

impl Dataset {
    /// The dataset in this folder, which is made if it does not exist.
    ///
    /// # Errors
    /// A sentence: the folder cannot be made, or has a file that is no such dataset's.
    pub fn open(path: &Path, format: DatasetFormat) -> Result<Self, String> {
        let open = |path: &Path| {
            Folder::open(path, Readers::Umask)
                .map_err(|e| format!("the folder {} cannot be made: {e}", path.display()))
        };
        let (folder, images) = (open(path)?, open(&path.join("images"))?);
        let [own, other] = match format {
            DatasetFormat::Yolo => [YAML, JSON],
            DatasetFormat::Coco => [JSON, YAML],
        };
        if path.join(other).exists() {
            return Err(format!(
                "{} has {other}, so it is a dataset of another format: move it away, or set format of sample",
                path.display()
            ));
        }
        let text = match path.join(own).exists() {
            true => Some(
                folder
                    .text(own, LARGEST)
                    .map_err(|e| format!("{} cannot be read: {e}", path.join(own).display()))?,
            ),
            false => None,
        };
        let damaged =
            || format!("{} is damaged: mend it, or move the dataset away", path.join(own).display());
        let kind = match format {
            DatasetFormat::Yolo => {
                let classes = text.map(|text| classes_of(&text).ok_or_else(damaged)).transpose()?;
                Kind::Yolo { labels: open(&path.join("labels"))?, classes: classes.unwrap_or_default() }
            }
            DatasetFormat::Coco => {
                let coco = text.map(|text| serde_json::from_str(&text).map_err(|_| damaged())).transpose()?;
                Kind::Coco(coco.unwrap_or_default())
            }
        };
        let frames =
            images.names().map_err(|e| format!("{} cannot be read: {e}", images.path().display()))?;
        let frames = frames.iter().filter(|name| name.ends_with(".jpg")).count();
        Ok(Self { folder, images, kind, frames })
    }

    /// Adds a picture of this size, taken at `time` (as `2026-11-23T07:45:01.250Z`), with its objects; its name has no ending.
    ///
    /// # Errors
    /// The system's.
    pub fn add(
        &mut self,
        name: &str,
        jpeg: &[u8],
        size: [u32; 2],
        time: &str,
        objects: &[Object],
    ) -> std::io::Result<()> {
        self.images.write(&format!("{name}.jpg"), jpeg)?;
        self.frames += 1;
        match &mut self.kind {
            Kind::Yolo { labels, classes } => {
                let known = classes.len();
                let lines: String =
                    objects.iter().map(|object| line(object, number(classes, &object.label), size)).collect();
                if classes.len() > known || known == 0 {
                    self.folder.write(YAML, yaml(classes).as_bytes())?;
                }
                labels.write(&format!("{name}.txt"), lines.as_bytes())
            }
            Kind::Coco(coco) => {
                coco.add(format!("images/{name}.jpg"), size, time, objects);
                self.folder.write(JSON, &serde_json::to_vec(coco)?)
            }
        }
    }
}

/// The number of a class, which is added if it is new.
fn number(classes: &mut Vec<String>, label: &str) -> usize {
    classes.iter().position(|class| class == label).unwrap_or_else(|| {
        classes.push(label.to_owned());
        classes.len() - 1
    })
}

/// An object's line: the box within the picture.
fn line(object: &Object, class: usize, size: [u32; 2]) -> String {
    let [left, top, right, bottom] = within(object, size);
    let [width, height] = size.map(f64::from);
    format!(
        "{class} {:.6} {:.6} {:.6} {:.6}\n",
        (left + right) / 2.0 / width,
        (top + bottom) / 2.0 / height,
        (right - left) / width,
        (bottom - top) / height
    )
}

/// The edges of an object's box within a picture: left, upper, right and lower.
fn within(object: &Object, size: [u32; 2]) -> [f64; 4] {
    let [width, height] = size.map(f64::from);
    let rect = object.rect;
    [
        rect.x.clamp(0.0, width),
        rect.y.clamp(0.0, height),
        (rect.x + rect.width).clamp(0.0, width),
        (rect.y + rect.height).clamp(0.0, height),
    ]
}

/// `data.yaml`; the names are written as JSON, which is YAML, whatever they have in them.
fn yaml(classes: &[String]) -> String {
    let names = serde_json::Value::from(classes);
    format!(
        "# Labels are what the model has found: correct them before training.\ntrain: images\nval: images\nnames: {names}\n"
    )
}

fn classes_of(yaml: &str) -> Option<Vec<String>> {
    serde_json::from_str(yaml.lines().find_map(|line| line.strip_prefix("names: "))?).ok()
}

impl Coco {
    fn add(&mut self, file_name: String, [width, height]: [u32; 2], time: &str, objects: &[Object]) {
        let image_id = self.images.last().map_or(1, |image| image.id + 1);
        self.images.push(Image { id: image_id, file_name, width, height, date_captured: time.to_owned() });
        for object in objects {
            let known = self
                .categories
                .iter()
                .find(|category| category.name == object.label)
                .map(|category| category.id);
            let category_id = known.unwrap_or_else(|| {
                let id = self.categories.iter().map(|category| category.id).max().map_or(1, |most| most + 1);
                self.categories.push(Category { id, name: object.label.clone() });
                id
            });
            let [left, top, right, bottom] = within(object, [width, height]);
            let bbox = [left, top, right - left, bottom - top];
            let id = self.annotations.last().map_or(1, |annotation| annotation.id + 1);
            let (area, score) = (bbox[2] * bbox[3], object.confidence);
            self.annotations.push(Annotation { id, image_id, category_id, bbox, area, iscrowd: 0, score });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::object::Rect;
    use super::*;

    fn object(label: &str) -> Object {
        let rect = Rect { x: -10.0, y: 20.0, width: 60.0, height: 20.0 };
        Object { label: label.to_owned(), rect, confidence: 0.5, track: None }
    }

    /// Adds two pictures, each to the dataset as it is found then.
    fn two(folder: &Path, format: DatasetFormat) {
        let labels: [&[Object]; 2] =
            [&[object("dog: \"#1\n"), object("car")], &[object("car"), object("bus")]];
        for (name, objects) in ["one", "two"].into_iter().zip(labels) {
            let mut dataset = Dataset::open(folder, format).unwrap();
            dataset.add(name, b"jpeg", [100, 50], "2026-11-23T07:45:01.250Z", objects).unwrap();
        }
        assert_eq!(Dataset::open(folder, format).unwrap().frames, 2);
    }

    #[test]
    fn a_yolo_dataset_has_boxes_within_the_picture_and_numbers_that_stay() {
        let folder = tempfile::tempdir().unwrap();
        two(folder.path(), DatasetFormat::Yolo);
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        // -10 to 50 of 100 pixels, of which 0 to 50 are seen; 20 to 40 of 50.
        let place = "0.250000 0.600000 0.500000 0.400000";
        assert_eq!(read("labels/one.txt"), format!("0 {place}\n1 {place}\n"));
        assert_eq!(read("labels/two.txt"), format!("1 {place}\n2 {place}\n"));
        assert!(
            read("data.yaml").ends_with("\nnames: [\"dog: \\\"#1\\n\",\"car\",\"bus\"]\n"),
            "{}",
            read("data.yaml")
        );
        let other = Dataset::open(folder.path(), DatasetFormat::Coco).unwrap_err();
        assert!(other.contains("data.yaml") && other.contains("another format"), "{other}");
        std::fs::write(folder.path().join("data.yaml"), "names: {0: car}").unwrap();
        assert!(Dataset::open(folder.path(), DatasetFormat::Yolo).unwrap_err().contains("damaged"));
    }

    #[test]
    fn a_coco_dataset_has_numbers_that_stay() {
        let folder = tempfile::tempdir().unwrap();
        two(folder.path(), DatasetFormat::Coco);
        let text = std::fs::read(folder.path().join(JSON)).unwrap();
        let coco: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(coco["images"][1]["file_name"], "images/two.jpg");
        assert_eq!(coco["categories"][1], serde_json::json!({"id": 2, "name": "car"}));
        let expected = serde_json::json!({
            "id": 3, "image_id": 2, "category_id": 2, "bbox": [0.0, 20.0, 50.0, 20.0], "area": 1000.0, "iscrowd": 0, "score": 0.5
        });
        assert_eq!(coco["annotations"][2], expected);
        std::fs::write(folder.path().join(JSON), "[").unwrap();
        assert!(Dataset::open(folder.path(), DatasetFormat::Coco).unwrap_err().contains("damaged"));
    }
}
