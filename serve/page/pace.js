// How often pictures are asked for.

/** Pictures a second of all that are in view, and the limits for one. */
const TOTAL = 16;
const SLOWEST = 1.1;
const FASTEST = 5;

/**
 * Milliseconds until the next picture is asked for, after one that took `took`, while this many are in view. One of a few comes five
 * times a second, one of many a little more than once, so that it is never more than a second old. Where the service or the browser is slow, they
 * get twice the time that a picture takes to do something else.
 */
export function pause(inView, took) {
  const rate = Math.min(FASTEST, Math.max(SLOWEST, TOTAL / Math.max(1, inView)));
  return Math.max(1000 / rate - took, Math.min(2 * took, 5000));
}
