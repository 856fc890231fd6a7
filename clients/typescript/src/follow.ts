/** The events of one task up to its end, over as many connections as it takes. */
import { MayflyError } from "./error.js";
import { Patience } from "./patience.js";
import { readEvents, type RawEvent } from "./sse.js";
import { failure, Guard, parse, type Transport } from "./transport.js";
import { hasEnded, type Artifact, type TaskEvent, type TaskStatusChange } from "./types.js";

const SILENCE_MS = 45_000; // the server sends a comment every 15 s
const NOTHING_MORE = 204;

/** Null: of a kind that a newer server sends. */
function eventOf(raw: RawEvent): TaskEvent | null {
  const { id, event: type } = raw;
  if (type === "stdout" || type === "stderr") return { type, id, text: parse<{ text?: string }>(raw.data, 200).text ?? "" };
  if (type === "artifact") return { type, id, artifact: parse<Artifact>(raw.data, 200) };
  if (type === "status") return { type, id, task: parse<TaskStatusChange>(raw.data, 200) };
  return null;
}

/** Null: there is nothing behind `after`. */
async function connect(transport: Transport, path: string, after: string,
  guard: Guard): Promise<ReadableStream<Uint8Array> | null> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (after !== "") headers["Last-Event-ID"] = after;
  const response = await transport.open("GET", path, { headers, signal: guard.signal });
  if (response.status === NOTHING_MORE) return null;
  if (!response.headers.get("content-type")?.startsWith("text/event-stream") || response.body === null) {
    throw new MayflyError("the answer is not a stream of events", response.status, "bad_answer");
  }
  return response.body;
}

export async function* follow(transport: Transport, path: string, retries: number, after: string,
  signal: AbortSignal | undefined): AsyncGenerator<TaskEvent, void, undefined> {
  const patience = new Patience(retries, signal);
  for (;;) {
    const guard = new Guard(SILENCE_MS, signal);
    let error: unknown = new MayflyError("the stream of events was cut", 0, "connection_failed");
    try {
      const body = await connect(transport, path, after, guard);
      if (body === null) return;
      for await (const raw of readEvents(body, () => guard.touch())) {
        patience.reset();
        const event = eventOf(raw);
        if (event !== null) yield event;
        if (raw.id !== "") after = raw.id;
        if (event?.type === "status" && hasEnded(event.task)) return;
      }
    } catch (e) {
      error = failure(e, guard.signal);
    } finally {
      guard.end();
    }
    await patience.after(error);
  }
}
