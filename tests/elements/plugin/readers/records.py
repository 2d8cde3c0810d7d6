"""records.py LINE FILE: what cudainfer's functions read of the line's frames is what inferpublish writes to the file.

Prints which fields of objects and frames there were.
"""

import json
import sys

import cudainfer
import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

LINE, FILE = sys.argv[1:]
frames, keys = [], set()


def box(sides):
    return dict(zip("xywh", sides))


def of_object(found, parents):
    """As docs/schema.md has it."""
    record = {"id": found.id, "label": found.label}
    if found.parent is not None:
        parent = parents[found.parent]
        record["parent"] = {"id": parent.id, "label": parent.label} | ({"track": parent.track.id} if parent.track else {})
    if found.confidence is not None:
        record |= {"label_id": found.label_id, "confidence": found.confidence, "box": box(found.box)}
        if found.angle:
            record["box"]["angle"] = found.angle
            keys.add("angle")
    if track := found.track:
        record["track"] = {
            "id": track.id,
            "age": track.age,
            "hits": track.hits,
            "state": "lost" if track.lost else "carried" if track.carried else "tracked",
            "box": box(track.box),
            "velocity": dict(zip("xy", track.velocity)),
        }
        if track.name is not None:
            record["track"]["name"] = track.name
    if points := found.keypoints:
        named = zip(points.names, points.points, points.scores, strict=True)
        record["keypoints"] = [{"name": name, "x": x, "y": y, "score": score} for name, (x, y), score in named]
        if len(points.edges):
            record["edges"] = points.edges.tolist()
        if points.pose_score is not None:
            record["pose_score"] = points.pose_score
    classifications = [
        {
            "model": each.model,
            "output": each.output,
            "classes": [
                {"label": label, "label_id": number, "confidence": confidence}
                for label, number, confidence in zip(each.labels, each.label_ids, each.confidences, strict=True)
            ],
        }
        for each in found.classifications
    ]
    if classifications:
        record["classification"] = classifications[0]["classes"]
    if len(classifications) > 1:
        record["classifications"] = classifications
    if found.values:
        record["values"] = [
            {"name": name, "value": value, "model": each.model, "output": each.output}
            for each in found.values
            for name, value in zip(each.names, each.values, strict=True)
        ]
    if found.embeddings:
        record["embeddings"] = [
            {"model": each.model, "output": each.output, "normalized": each.normalized, "values": each.numpy().tolist()}
            for each in found.embeddings
        ]
    if identity := found.identity:
        record["identity"] = {"name": identity.name, "score": identity.score}
        if identity.unknown is not None:
            record["identity"]["unknown"] = identity.unknown
        if identity.held:
            record["identity"]["held"] = True
    if found.zones:
        record["zones"] = [
            {"name": name} | ({} if dwell is None else {"dwell": dwell}) for name, dwell in found.zones.items()
        ]
    if world := found.world:
        record["world"] = [world.x, world.y]
        if world.speed:
            record["speed"] = of_speed(world.speed)
        if world.nearest is not None:
            nearest = parents[world.nearest]
            record["nearest"] = {"id": nearest.id, "label": nearest.label, "distance": world.nearest_distance} | (
                {"track": nearest.track.id} if nearest.track else {}
            )
    return record


def of_speed(speed):
    direction = {} if speed.direction is None else {"direction": speed.direction}
    return {"value": speed.value, "deviation": speed.deviation} | direction


def of_map(found):
    record = {"name": found.name, "non_finite": found.non_finite}
    names = ("min", "mean", "max", "sum", "counts", "score")
    optional = {name: getattr(found, name) for name in names}
    record |= {name: value for name, value in optional.items() if value is not None}
    return record | ({"range": list(found.range)} if found.range else {})


def underscored(counts):
    return {name.replace("-", "_"): count for name, count in counts.items()}


def of_zone(zone):
    dwells = {"longest_dwell": zone.longest_dwell, "mean_dwell": zone.mean_dwell}
    return {
        "name": zone.name,
        "kind": zone.kind,
        "points": zone.points.tolist(),
        **({"holes": [hole.tolist() for hole in zone.holes]} if zone.holes else {}),
        **underscored(zone.counts),
        **{name: ns for name, ns in dwells.items() if ns is not None},
        "classes": [{"label": label} | underscored(counts) for label, counts in zone.classes.items()],
    }


def of_event(event):
    fields = ("object", "track", "label", "cause", "direction", "dwell", "occupancy")
    known = {name: value for name in fields if (value := getattr(event, name)) is not None}
    if event.speed:
        known["speed"] = of_speed(event.speed)
    assert event.kind in ("polygon", "line")
    return {"zone": event.zone, "event": event.event} | known


def on_frame(pad, info):
    buffer = info.get_buffer()
    objects = cudainfer.objects(buffer)
    parents = {found.id: found for found in objects}
    frame = {"objects": [of_object(found, parents) for found in objects]}
    for name, read, form in (
        ("maps", cudainfer.maps, of_map),
        ("zones", cudainfer.zones, of_zone),
        ("events", cudainfer.zone_events, of_event),
    ):
        if found := read(buffer):
            frame[name] = [form(each) for each in found]
    frames.append(frame)
    return Gst.PadProbeReturn.OK


def compare(where, read, written):
    """Numbers are written with some decimals only."""
    if isinstance(written, dict):
        assert read.keys() == written.keys(), f"{where}: {read} is not {written}"
        for key in written:
            compare(f"{where}.{key}", read[key], written[key])
    elif isinstance(written, list):
        assert len(read) == len(written), f"{where}: {read} is not {written}"
        for i, (one, other) in enumerate(zip(read, written)):
            compare(f"{where}[{i}]", one, other)
    elif isinstance(written, float) and where.endswith(".direction") and "speed" in where:
        # Written to a tenth, and 360 as 0.
        assert abs((read - written + 180) % 360 - 180) <= 0.0501, f"{where}: {read} is not {written}"
    elif isinstance(written, float):
        assert abs(read - written) <= 0.00501 + 1e-6 * abs(written), f"{where}: {read} is not {written}"
    else:
        assert read == written, f"{where}: {read} is not {written}"


cudainfer.init()
pipeline = Gst.parse_launch(f"{LINE} ! inferpublish location={FILE} embeddings=true ! fakesink name=out")
pipeline.get_by_name("out").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, on_frame)
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
assert message.type == Gst.MessageType.EOS, message.parse_error()
with open(FILE) as file:
    records = [json.loads(line) for line in file]
assert len(frames) == len(records) >= 3
HEAD = ("schema", "id", "source", "frame", "pts", "stream_time", "time", "clock", "width", "height")
for i, (frame, record) in enumerate(zip(frames, records)):
    body = {key: value for key, value in record.items() if key not in HEAD and value != []}
    for found in record["objects"]:
        keys |= found.keys() - {"id", "label"}
    compare(f"frame {i}", {key: value for key, value in frame.items() if value}, body)
    keys |= body.keys() - {"objects"}
print(",".join(sorted(keys)))
