//! How fast an object moves on the ground.
//!
//! A Kalman filter of constant velocity in two dimensions, whose acceleration is white noise (Bar-Shalom, Li and Kirubarajan, Estimation
//! with Applications to Tracking and Navigation, 2001, section 6.2.2). What it measures are places with a covariance each, because a
//! pixel far from the camera is more metres than one nearby; so x and y are coupled.

use super::plane::Covariance;

/// The spectral density of the acceleration, in m²/s³: a velocity changes by 0.7 m/s in a second, one time in three by more. Pedestrians
/// change by less and cars that brake by more, for whom the speed lags by some tenths of a second.
const ACCELERATION: f64 = 0.5;
/// The standard deviation of the velocity of what was never seen before, along each axis, in m/s.
const UNKNOWN: f64 = 20.0;
/// A place that is as many standard deviations away, or more, is another object's, or the object was partly hidden: 1 in 270000 is that
/// far off by chance.
const OUTLIER: f64 = 5.0;
/// What was seen this long ago, in seconds, says nothing about the speed now.
const LONGEST: f64 = 5.0;
/// A speed is sure if its standard deviation is at most this many m/s,
const SURE: f64 = 0.5;
/// or this share of it.
const SURE_SHARE: f64 = 0.1;
/// Above this many standard deviations a speed has a direction.
const MOVES: f64 = 2.0;

/// How an object moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// In m/s.
    pub speed: f64,
    /// The speed's standard deviation, in m/s.
    pub deviation: f64,
    /// Degrees from the x axis towards the y axis, 0 to 360; none where it may as well stand.
    pub direction: Option<f64>,
}

impl Motion {
    /// Whether the speed is known well enough to act on it: its standard deviation is at most 0.5 m/s, or a tenth of it. It is not where
    /// an object was seen for some frames only, or where it is so far away that a pixel is metres.
    pub fn is_sure(&self) -> bool {
        self.deviation <= SURE.max(SURE_SHARE * self.speed)
    }
}

/// The filter of one object.
#[derive(Clone, Debug)]
pub struct MotionFilter {
    place: [f64; 2],
    velocity: [f64; 2],
    /// Covariances: of the place, of place and velocity, of the velocity.
    places: Covariance,
    both: Covariance,
    velocities: Covariance,
    /// Places that have been measured since it began.
    measured: u32,
}

fn product(a: &Covariance, b: &Covariance) -> Covariance {
    [0, 1].map(|i| [0, 1].map(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
}

fn transposed(a: &Covariance) -> Covariance {
    [0, 1].map(|i| [0, 1].map(|j| a[j][i]))
}

fn applied(a: &Covariance, v: [f64; 2]) -> [f64; 2] {
    a.map(|row| row[0] * v[0] + row[1] * v[1])
}

fn inverse(a: &Covariance) -> Option<Covariance> {
    let determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    let inverse =
        [[a[1][1] / determinant, -a[0][1] / determinant], [-a[1][0] / determinant, a[0][0] / determinant]];
    inverse.as_flattened().iter().all(|v| v.is_finite()).then_some(inverse)
}

/// `a` less `b`, as symmetric as a covariance must be.
fn less(a: &Covariance, b: &Covariance) -> Covariance {
    let [[p, q], [r, s]] = [0, 1].map(|i| [0, 1].map(|j| a[i][j] - b[i][j]));
    let aside = (q + r) / 2.0;
    [[p, aside], [aside, s]]
}

impl MotionFilter {
    /// Of an object that is seen for the first time, at `place` with this covariance.
    pub fn new(place: [f64; 2], noise: Covariance) -> Self {
        let velocity = [0.0; 2];
        let velocities = [[UNKNOWN.powi(2), 0.0], [0.0, UNKNOWN.powi(2)]];
        Self { place, velocity, places: noise, both: [[0.0; 2]; 2], velocities, measured: 1 }
    }

    /// Lets this many seconds pass.
    pub fn pass(&mut self, seconds: f64) {
        let noise =
            [3, 2, 1].map(|power: u8| ACCELERATION * seconds.powi(i32::from(power)) / f64::from(power));
        for i in 0..2 {
            self.place[i] += seconds * self.velocity[i];
            for j in 0..2 {
                // Before the others, which it is made of.
                self.places[i][j] +=
                    seconds * (self.both[i][j] + self.both[j][i]) + seconds * seconds * self.velocities[i][j];
            }
        }
        for i in 0..2 {
            for j in 0..2 {
                self.both[i][j] += seconds * self.velocities[i][j];
            }
            self.places[i][i] += noise[0];
            self.both[i][i] += noise[1];
            self.velocities[i][i] += noise[2];
        }
    }

    /// Takes in that the object is seen at `place`, `seconds` after it was seen last; `None` where that is not known. It begins anew
    /// where that is too long ago or the object cannot have got there.
    pub fn see(&mut self, place: [f64; 2], noise: Covariance, seconds: Option<f64>) {
        let Some(seconds) = seconds.filter(|seconds| (0.0..=LONGEST).contains(seconds)) else {
            *self = Self::new(place, noise);
            return;
        };
        self.pass(seconds);
        let total = [0, 1].map(|i| [0, 1].map(|j| self.places[i][j] + noise[i][j]));
        let residual = [0, 1].map(|i| place[i] - self.place[i]);
        let certainty = inverse(&total);
        let distance = certainty.map(|certainty| {
            let [x, y] = applied(&certainty, residual);
            x * residual[0] + y * residual[1]
        });
        let (Some(certainty), true) = (certainty, distance.is_some_and(|d| d <= OUTLIER * OUTLIER)) else {
            *self = Self::new(place, noise);
            return;
        };
        let back = transposed(&self.both);
        let gains = [&self.places, &back].map(|covariance| product(covariance, &certainty));
        let [moved, turned] = gains.map(|gain| applied(&gain, residual));
        self.place.iter_mut().zip(moved).for_each(|(v, change)| *v += change);
        self.velocity.iter_mut().zip(turned).for_each(|(v, change)| *v += change);
        let both = product(&gains[0], &self.both);
        self.places = less(&self.places, &product(&gains[0], &self.places));
        self.velocities = less(&self.velocities, &product(&gains[1], &self.both));
        self.both = [0, 1].map(|i| [0, 1].map(|j| self.both[i][j] - both[i][j]));
        self.measured = self.measured.saturating_add(1);
    }

    /// How the object moves; none before it was seen twice.
    pub fn motion(&self) -> Option<Motion> {
        let [x, y] = self.velocity;
        let speed = x.hypot(y);
        // Of what stands, any direction.
        let [u, v] = if speed > 0.0 { [x / speed, y / speed] } else { [std::f64::consts::FRAC_1_SQRT_2; 2] };
        let [[a, b], [c, d]] = self.velocities;
        let deviation = (u * u * a + u * v * (b + c) + v * v * d).max(0.0).sqrt();
        let degrees = y.atan2(x).to_degrees().rem_euclid(360.0);
        let direction = (speed > MOVES * deviation).then_some(degrees);
        (self.measured > 1 && speed.is_finite() && deviation.is_finite()).then_some(Motion {
            speed,
            deviation,
            direction,
        })
    }
}
