"""Made videos of animals whose identities are known, as the instances that a pose network would find in them. Used by
evaluate/identities.py.

An animal is a skeleton of five points in a row, 48 pixels long. It walks at random in an arena: it stands, walks or runs, turns
by and by, and turns away from the walls. What a network finds of it is noisy, lacks a point now and then, and may be missing or
wrong: that is what a scene says. Everything comes from the scene's seed, by Python's Mersenne Twister, which is the same
everywhere.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

NAN = (math.nan, math.nan)
POINTS = 5
LENGTH = 48.0
ARENA = (480.0, 360.0)
# Standing, walking and running: pixels a frame, and how likely a state ends in a frame.
GAITS = ((0.0, 1 / 30), (3.0, 1 / 60), (12.0, 1 / 10))


@dataclass(frozen=True)
class Instance:
    """What was found at one place of a frame: points in pixels, NaN where one is missing, a score, and the animal that it is, from 1;
    0 for none, and where that is not known."""

    points: tuple[tuple[float, float], ...]
    score: float
    animal: int = 0


# The instances of each frame.
Frames = list[list[Instance]]


@dataclass(frozen=True)
class Scene:
    """What happens in a made video."""

    name: str
    what: str
    animals: int
    seed: int
    frames: int = 1500
    # How likely an animal is not found in a frame, and how likely it goes out of sight for 30 to 400 frames.
    missing: float = 0.0
    hiding: float = 0.0
    # Whether of two animals that lie on each other often one alone is found.
    occluding: bool = False
    # How likely a frame has an instance where there is no animal, and one that is found twice.
    false: float = 0.0
    double: float = 0.0
    # How strongly animals walk towards each other.
    sociable: float = 0.02
    # How fast they are, against GAITS, and how long each is.
    pace: float = 1.0
    lengths: tuple[float, ...] = ()


SCENES = (
    Scene("crossing", "two animals whose ways cross", 2, 1, sociable=0.08),
    Scene("occluding", "two animals that lie on each other, of which one is found then", 2, 2, occluding=True, sociable=0.08),
    Scene("hiding", "two animals that are out of sight for up to 400 frames", 2, 3, hiding=0.004, missing=0.02),
    Scene("false", "three animals, with instances that are none, or are found twice", 3, 4, missing=0.05, false=0.1, double=0.03),
    Scene("all", "five animals, and all of this", 5, 5, missing=0.05, hiding=0.002, occluding=True, false=0.1, double=0.03),
    # These two took no part when the second pass was made.
    Scene(
        "fast", "four fast animals that cross and lie on each other", 4, 61, occluding=True, missing=0.03, sociable=0.08, pace=1.6
    ),
    Scene(
        "lengths",
        "three animals of different lengths, out of sight for up to 400 frames",
        3,
        62,
        hiding=0.004,
        missing=0.03,
        sociable=0.05,
        pace=0.7,
        lengths=(42.0, 48.0, 54.0),
    ),
)


@dataclass
class Animal:
    """Where an animal is, and what it does."""

    x: float
    y: float
    heading: float
    gait: int = 0
    hidden: int = 0
    pace: float = 1.0
    length: float = LENGTH

    def walk(self, others: list[Animal], sociable: float, chance: random.Random) -> None:
        speed, ends = GAITS[self.gait]
        if chance.random() < ends:
            self.gait = chance.randrange(len(GAITS))
        self.heading += chance.gauss(0.0, 0.12)
        if others:
            other = others[chance.randrange(len(others))]
            self.heading += sociable * difference(math.atan2(other.y - self.y, other.x - self.x), self.heading)
        speed *= self.pace
        x, y = self.x + speed * math.cos(self.heading), self.y + speed * math.sin(self.heading)
        margin = LENGTH / 2
        if not (margin < x < ARENA[0] - margin and margin < y < ARENA[1] - margin):
            self.heading += 0.4 * difference(math.atan2(ARENA[1] / 2 - self.y, ARENA[0] / 2 - self.x), self.heading)
            x, y = min(max(x, margin), ARENA[0] - margin), min(max(y, margin), ARENA[1] - margin)
        self.x, self.y = x, y

    def points(self, chance: random.Random) -> tuple[tuple[float, float], ...]:
        """As a network finds them: within about a pixel, and one in thirty not at all."""
        found = []
        for place in range(POINTS):
            along = self.length * (0.5 - place / (POINTS - 1))
            x, y = self.x + along * math.cos(self.heading), self.y + along * math.sin(self.heading)
            x, y = x + chance.gauss(0.0, 1.2), y + chance.gauss(0.0, 1.2)
            found.append(NAN if chance.random() < 1 / 30 else (x, y))
        return tuple(found) if any(point is not NAN for point in found) else ((self.x, self.y), *found[1:])


def difference(a: float, b: float) -> float:
    """The angle from b to a, -pi to pi."""
    return math.remainder(a - b, math.tau)


def hide(scene: Scene, animals: list[Animal], chance: random.Random) -> list[bool]:
    """Which of the animals are found in a frame."""
    found = []
    for animal in animals:
        if animal.hidden == 0 and chance.random() < scene.hiding:
            animal.hidden = chance.randrange(30, 400)
        animal.hidden = max(0, animal.hidden - 1)
        found.append(animal.hidden == 0 and chance.random() >= scene.missing)
    for upper in range(len(animals) if scene.occluding else 0):
        for lower in range(upper + 1, len(animals)):
            near = math.hypot(animals[upper].x - animals[lower].x, animals[upper].y - animals[lower].y) < LENGTH / 3
            if near and chance.random() < 0.8:
                found[lower] = False
    return found


def make(scene: Scene) -> Frames:
    """The instances of a scene, in no order."""
    chance = random.Random(scene.seed)
    wide, high = ARENA
    animals = [
        Animal(wide * (n + 1) / (scene.animals + 1), high * chance.uniform(0.2, 0.8), chance.uniform(0, math.tau))
        for n in range(scene.animals)
    ]
    for animal, length in zip(animals, scene.lengths or [LENGTH] * scene.animals, strict=True):
        animal.pace, animal.length = scene.pace, length
    frames: Frames = []
    for _ in range(scene.frames):
        for animal in animals:
            animal.walk([other for other in animals if other is not animal], scene.sociable, chance)
        here = []
        for number, (animal, found) in enumerate(zip(animals, hide(scene, animals, chance), strict=True), 1):
            if found:
                here.append(Instance(animal.points(chance), min(chance.gauss(0.85, 0.07), 0.99), number))
                if chance.random() < scene.double:
                    here.append(Instance(animal.points(chance), chance.uniform(0.3, 0.8)))
        if chance.random() < scene.false:
            nobody = Animal(chance.uniform(0, wide), chance.uniform(0, high), chance.uniform(0, math.tau))
            here.append(Instance(nobody.points(chance), chance.uniform(0.2, 0.75)))
        chance.shuffle(here)
        frames.append(here)
    return frames
