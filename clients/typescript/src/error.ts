/** The only error of this package. A call that was aborted rejects with the reason of its signal instead. */
export class MayflyError extends Error {
  override readonly name = "MayflyError";

  constructor(
    message: string,
    /** Of the answer; 0 when none came. */
    readonly status: number,
    /** In the server's words (`queue_full`, `task_expired`, …), or `connection_failed`, `bad_answer`, `corrupt_download`. */
    readonly code: string,
    /** What was wrong in the request, such as `limits.timeoutMs`. */
    readonly param: string | null = null,
    /** Seconds after which to try again, when the server said so. */
    readonly retryAfter: number | null = null,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  /** Trying again later may help. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || (this.status >= 502 && this.status <= 504);
  }
}

function secondsOf(retryAfter: string | null): number | null {
  if (retryAfter === null) return null;
  const seconds = /^\d+$/.test(retryAfter.trim()) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** From an answer that is not the one that was asked for; its body need not be JSON. */
export function errorOf(response: Response, body: string): MayflyError {
  let said: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(body);
    const error = (parsed as { error?: unknown } | null)?.error;
    if (typeof error === "object" && error !== null) said = error as Record<string, unknown>;
  } catch {
    // A proxy answered, not Mayfly.
  }
  return new MayflyError(textOf(said["message"]) ?? `HTTP status ${response.status}`, response.status,
    textOf(said["code"]) ?? textOf(said["type"]) ?? `http_${response.status}`, textOf(said["param"]),
    secondsOf(response.headers.get("retry-after")));
}
