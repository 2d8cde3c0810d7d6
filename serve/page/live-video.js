// A camera's video by WebRTC (WHEP), where the service and the browser have it. The large picture only: on the wall, sixteen small pictures
// as JPEG cost less than as many decoders and connections.

import { Refused, endSession, startSession } from "./api.js";

/** Milliseconds until a picture must have come. */
const PATIENCE = 8000;
/** Milliseconds until it is tried again after a video that has played, and after none. */
const SOON = 5000;
const LATER = 60_000;
/** Milliseconds without a new picture, though the camera has some, after which it is shown by JPEGs again. */
const STALLED = 5000;

/** Those that are started. */
const started = new Set();

document.addEventListener("visibilitychange", () => {
  for (const each of started) each.renew();
});
addEventListener("pagehide", () => {
  for (const each of started) each.pause();
});

export class LiveVideo {
  #video;
  #path;
  #changed;
  #isExpected;
  #connection = null;
  #session = null;
  #abort = null;
  #timer = 0;
  #watch = 0;
  #plays = false;

  /**
   * `path` gives what is asked for now; `changed` is called with whether the video plays; `isExpected` gives whether new pictures come
   * several times within a few seconds.
   */
  constructor(video, path, changed, isExpected) {
    this.#video = video;
    this.#path = path;
    this.#changed = changed;
    this.#isExpected = isExpected;
    video.addEventListener("playing", () => this.#begin());
  }

  start() {
    started.add(this);
    this.renew();
  }

  stop() {
    started.delete(this);
    this.pause();
  }

  /** Ends the session, and begins another one if the page is seen. */
  renew() {
    this.pause();
    if (started.has(this) && !document.hidden && "RTCPeerConnection" in window) this.#connect();
  }

  /** Ends the session. */
  pause() {
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    this.#abort?.abort();
    this.#connection?.close();
    if (this.#session) endSession(this.#session);
    [this.#abort, this.#connection, this.#session] = [null, null, null];
    this.#video.srcObject = null;
    this.#set(false);
  }

  #set(plays) {
    if (this.#plays === plays) return;
    this.#plays = plays;
    this.#changed(plays);
  }

  async #connect() {
    const abort = (this.#abort = new AbortController());
    const connection = (this.#connection = new RTCPeerConnection());
    this.#timer = setTimeout(() => this.#fail(connection), PATIENCE);
    connection.addEventListener("track", ({ track, receiver }) => {
      // What has come is shown: nothing waits for what may come late.
      if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
      this.#video.srcObject = new MediaStream([track]);
      // The next source interrupts it.
      this.#video.play().catch(() => {});
    });
    connection.addEventListener("connectionstatechange", () => {
      if (["disconnected", "failed", "closed"].includes(connection.connectionState)) this.#fail(connection);
    });
    try {
      connection.addTransceiver("video", { direction: "recvonly" });
      await connection.setLocalDescription();
      // The addresses of this browser are not waited for: it finds those of the service, which then knows its own.
      const { answer, session } = await startSession(this.#path(), connection.localDescription.sdp, abort.signal);
      if (abort.signal.aborted) return endSession(session);
      this.#session = session;
      await connection.setRemoteDescription({ type: "answer", sdp: answer });
    } catch (error) {
      if (!(error instanceof Refused || error instanceof DOMException)) throw error;
      this.#fail(connection);
    }
  }

  /** The first picture is there. */
  #begin() {
    if (!this.#connection) return;
    clearTimeout(this.#timer);
    this.#set(true);
    const count = () => this.#video.getVideoPlaybackQuality().totalVideoFrames;
    let last = count();
    clearInterval(this.#watch);
    const connection = this.#connection;
    this.#watch = setInterval(() => {
      const now = count();
      if (now === last && this.#isExpected()) this.#fail(connection);
      last = now;
    }, STALLED);
  }

  #fail(connection) {
    if (this.#connection !== connection) return;
    const wait = this.#plays ? SOON : LATER;
    this.pause();
    this.#timer = setTimeout(() => this.renew(), wait);
  }
}
