/** Trying again: how long to wait, and when to give up. */
import { MayflyError } from "./error.js";

const FIRST_MS = 250;
const LONGEST_MS = 5000;
const LONGEST_ASKED_FOR_MS = 60_000;

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
  });
}

export class Patience {
  readonly #retries: number;
  readonly #signal: AbortSignal | undefined;
  #failures = 0;

  constructor(retries: number, signal: AbortSignal | undefined) {
    this.#retries = retries;
    this.#signal = signal;
  }

  /** It went on: the count begins anew. */
  reset(): void {
    this.#failures = 0;
  }

  /** Returns when it is time to try again. Throws what cannot be helped by trying again, or was tried often enough. */
  async after(error: unknown): Promise<void> {
    if (this.#signal?.aborted) throw this.#signal.reason;
    if (!(error instanceof MayflyError) || !error.isTransient || this.#failures >= this.#retries) throw error;
    const own = Math.min(FIRST_MS * 2 ** this.#failures++, LONGEST_MS);
    const asked = error.retryAfter === null ? 0 : Math.min(error.retryAfter * 1000, LONGEST_ASKED_FOR_MS);
    await sleep(Math.max(own, asked), this.#signal);
  }
}
