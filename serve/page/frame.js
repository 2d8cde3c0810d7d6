// What caps say about frames, and points in pixels as fractions of them.

import { Refused } from "./api.js";

/** Width and height in caps. */
export function frameSize(caps) {
  const size = ["width", "height"].map((key) => Number(caps?.match(`\\b${key}=\\(int\\)(\\d+)`)?.[1]));
  return size.every((length) => length > 0) ? size : null;
}

/** How many times as wide as high a pixel is. */
function pixelAspect(caps) {
  const [, width, height] = caps.match(/\bpixel-aspect-ratio=\(fraction\)(\d+)\/(\d+)/) ?? [null, 1, 1];
  return width / height || 1;
}

/** How many times as wide as high a frame is; "" if that is not known. */
export function frameAspect(caps) {
  const size = frameSize(caps);
  return size ? (size[0] / size[1]) * pixelAspect(caps) : "";
}

/** Zones and ground with points as fractions of the frame: they are saved as such. */
export function inFractions(read, size) {
  if (read.units !== "pixels") return read;
  if ((read.zones.length || read.ground) && !size)
    throw new Refused(0, "The zones are in pixels, and no frame has come yet that tells its size.");
  const scaled = (points) => points.map(([x, y]) => [x / size[0], y / size[1]]);
  return {
    zones: read.zones.map((zone) => {
      const holes = zone.holes ? { holes: zone.holes.map(scaled) } : {};
      return { ...zone, points: scaled(zone.points), ...holes };
    }),
    ground: read.ground && { ...read.ground, points: scaled(read.ground.points) },
  };
}
