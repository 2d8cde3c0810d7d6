// Requests in which nothing comes any more.

/** Ends a request when nothing has come for `limit` milliseconds, or one of these signals is aborted. */
export class Patience {
  #abort = new AbortController();
  #timer = 0;
  #limit;

  constructor(limit, ...signals) {
    this.signal = AbortSignal.any([this.#abort.signal, ...signals.filter(Boolean)]);
    this.#limit = limit;
    this.lives();
  }

  /** Something has come. */
  lives() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(), this.#limit);
  }

  /** The request is over, or ends now. */
  end() {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }
}
