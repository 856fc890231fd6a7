import { bodyOf } from "./body.js";
import { MayflyError } from "./error.js";
import { follow } from "./follow.js";
import { Patience } from "./patience.js";
import { failure, Guard, Transport, type MayflyOptions } from "./transport.js";
import {
  hasEnded, type Artifact, type Task, type TaskEvent, type TaskPage, type TaskRequest, type TaskResult, type TaskStatus,
} from "./types.js";

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** The same key with the same request gives the same task, however often it is sent. Printable ASCII, up to 255 bytes. */
  idempotencyKey?: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** 1 to 100, default 20. */
  limit?: number | undefined;
  /** The id of a task: those that are older. */
  after?: string | undefined;
  status?: TaskStatus | undefined;
}

const LONG_POLL_S = 60;
const LONG_POLL_SILENCE_MS = 90_000;
const CANCEL_MS = 5_000;

/** An id is one segment of a path, whatever it holds. */
function pathOf(taskId: string, rest = ""): string {
  if (typeof taskId !== "string" || taskId === "" || taskId === "." || taskId === "..") {
    throw new TypeError("taskId: expected an id");
  }
  return `/v1/tasks/${encodeURIComponent(taskId)}${rest}`;
}

/** The task API of one server. Every call rejects with a `MayflyError`, or with the reason of its own signal. */
export class Mayfly {
  readonly #transport: Transport;
  readonly #retries: number;

  constructor(options: MayflyOptions) {
    this.#transport = new Transport(options);
    this.#retries = options.retries ?? 8;
  }

  // ---- the three calls ----

  /** Returns once the server has promised that the task will reach an end. It is not sent a second time by itself. */
  async submit(request: TaskRequest, options: SubmitOptions = {}): Promise<Task> {
    const { type, body } = bodyOf(request);
    const headers: Record<string, string> = { "Content-Type": type };
    if (options.idempotencyKey !== undefined) headers["Idempotency-Key"] = options.idempotencyKey;
    return this.#transport.json<Task>("POST", "/v1/tasks", { headers, body, signal: options.signal });
  }

  /** How it stands now; with `wait` (seconds, up to 60) when it has ended, or after so long. */
  async get(taskId: string, options: CallOptions & { wait?: number | undefined } = {}): Promise<TaskResult> {
    const query = options.wait === undefined ? "" : `?wait=${encodeURIComponent(options.wait)}`;
    return this.#transport.json<TaskResult>("GET", pathOf(taskId, query), { signal: options.signal });
  }

  /** Also fine for one that has ended, which stays as it is. */
  async cancel(taskId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.json("POST", pathOf(taskId, "/cancel"), { signal: options.signal });
  }

  // ---- following ----

  /** Waits for the end, however long that takes. */
  async wait(taskId: string, options: CallOptions = {}): Promise<TaskResult> {
    return this.#patiently(options.signal, async (patience) => {
      for (;;) {
        const result = await this.#guarded(options.signal, (signal) => this.get(taskId, { wait: LONG_POLL_S, signal }));
        if (hasEnded(result)) return result;
        patience.reset();
      }
    });
  }

  /** Submits and waits. When `signal` aborts the waiting, the task is cancelled. */
  async run(request: TaskRequest, options: SubmitOptions = {}): Promise<TaskResult> {
    const { taskId } = await this.submit(request, options);
    try {
      return await this.wait(taskId, options);
    } catch (e) {
      if (options.signal?.aborted) await this.cancel(taskId, { signal: AbortSignal.timeout(CANCEL_MS) }).catch(() => undefined);
      throw e;
    }
  }

  /** What happens to a task, from its beginning or behind `after` (the id of an event), up to its end. A connection that
   * breaks is made anew, and nothing is given twice or left out. */
  events(taskId: string, options: CallOptions & { after?: string | undefined } = {}): AsyncGenerator<TaskEvent, void, undefined> {
    const { signal, after = "" } = options;
    return follow(this.#transport, pathOf(taskId, "/events"), this.#retries, after, signal);
  }

  // ---- what there is ----

  /** The bytes, which have the size and (where the platform has Web Crypto) the SHA-256 that the artifact names. */
  async download(artifact: Pick<Artifact, "url" | "sizeBytes" | "sha256">, options: CallOptions = {}): Promise<Uint8Array> {
    if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(artifact.url)) throw new TypeError("artifact.url: expected a path on the server");
    return this.#patiently(options.signal, async () => {
      const bytes = await this.#guarded(options.signal, async (signal) => {
        const response = await this.#transport.open("GET", artifact.url, { signal });
        try {
          return new Uint8Array(await response.arrayBuffer());
        } catch (e) {
          throw failure(e, signal);
        }
      });
      await check(artifact, bytes);
      return bytes;
    });
  }

  async list(options: ListOptions = {}): Promise<TaskPage> {
    const query = new URLSearchParams();
    for (const name of ["limit", "after", "status"] as const) {
      if (options[name] !== undefined) query.set(name, String(options[name]));
    }
    return this.#transport.json<TaskPage>("GET", `/v1/tasks?${query}`, { signal: options.signal });
  }

  /** Removes it with its files; cancels it before where it has not ended. */
  async delete(taskId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.json("DELETE", pathOf(taskId), { signal: options.signal });
  }

  // ---- inside ----

  async #patiently<T>(signal: AbortSignal | undefined, work: (patience: Patience) => Promise<T>): Promise<T> {
    const patience = new Patience(this.#retries, signal);
    for (;;) {
      try {
        return await work(patience);
      } catch (e) {
        await patience.after(e);
      }
    }
  }

  async #guarded<T>(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const guard = new Guard(LONG_POLL_SILENCE_MS, outer);
    try {
      return await work(guard.signal);
    } finally {
      guard.end();
    }
  }
}

async function check(artifact: Pick<Artifact, "sizeBytes" | "sha256">, bytes: Uint8Array): Promise<void> {
  let isRight = bytes.length === artifact.sizeBytes;
  const subtle = globalThis.crypto?.subtle;
  if (isRight && subtle !== undefined) {
    const digest = new Uint8Array(await subtle.digest("SHA-256", bytes as BufferSource));
    isRight = Array.from(digest, (b) => b.toString(16).padStart(2, "0")).join("") === artifact.sha256;
  }
  if (!isRight) throw new MayflyError("what came is not the artifact that was asked for", 200, "corrupt_download");
}
