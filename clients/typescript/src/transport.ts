/** One HTTP call: addresses, the key, and what can go wrong. */
import { errorOf, MayflyError } from "./error.js";

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

export interface MayflyOptions {
  /** Of the server, with or without `/v1`: `http://127.0.0.1:9000`. */
  baseUrl: string;
  apiKey?: string | undefined;
  /** Another fetch than the global one. */
  fetch?: Fetch;
  /** How often in a row `wait`, `run`, `events` and `download` try again without getting further. Default 8 (half a minute). */
  retries?: number;
}

export interface Call {
  headers?: Record<string, string>;
  body?: string | Blob;
  signal?: AbortSignal | undefined;
}

/** Ends a call that is silent for too long, or when the caller's signal says so. Abort it when it is not needed any more. */
export class Guard {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #silenceMs: number;
  readonly #onOuter = () => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(silenceMs: number, outer?: AbortSignal) {
    this.#silenceMs = silenceMs;
    this.#outer = outer;
    outer?.addEventListener("abort", this.#onOuter);
    if (outer?.aborted) this.#onOuter();
    this.touch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  touch(): void {
    clearTimeout(this.#timer);
    const silent = new MayflyError("the server is silent", 0, "connection_failed");
    this.#timer = setTimeout(() => this.#controller.abort(silent), this.#silenceMs);
  }

  /** Closes the connection when it is still busy. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onOuter);
    this.#controller.abort();
  }
}

/** What a failed fetch, or a failed read of its body, means to the caller. */
export function failure(error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof MayflyError) return error;
  return new MayflyError("no answer from the server", 0, "connection_failed", null, null, { cause: error });
}

export class Transport {
  readonly #base: string;
  readonly #key: string | undefined;
  readonly #fetch: Fetch;

  constructor(options: MayflyOptions) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError("baseUrl: expected http: or https:");
    if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
      throw new TypeError("baseUrl: expected an address without a query and without credentials");
    }
    this.#base = url.origin + url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
    this.#key = options.apiKey;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** Any answer with a status of success; its body is the caller's to read. */
  async open(method: string, path: string, call: Call = {}): Promise<Response> {
    const headers: Record<string, string> = { ...call.headers };
    if (this.#key !== undefined) headers["Authorization"] = `Bearer ${this.#key}`;
    const init: RequestInit = { method, headers, redirect: "error" };
    if (call.body !== undefined) init.body = call.body;
    if (call.signal !== undefined) init.signal = call.signal;
    let response: Response;
    try {
      response = await this.#fetch(this.#base + path, init);
    } catch (e) {
      throw failure(e, call.signal);
    }
    if (response.ok) return response;
    throw errorOf(response, await response.text().catch(() => ""));
  }

  async json<T extends object>(method: string, path: string, call: Call = {}): Promise<T> {
    const response = await this.open(method, path, call);
    let text: string;
    try {
      text = await response.text();
    } catch (e) {
      throw failure(e, call.signal);
    }
    return parse<T>(text, response.status);
  }
}

/** JSON from the server; anything but an object is no answer of Mayfly's. */
export function parse<T extends object>(text: string, status: number): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new MayflyError("the answer is not a JSON object: is this a Mayfly server?", status, "bad_answer");
  }
  return value as T;
}
