/** Server-sent events out of a body, however it is cut (WHATWG HTML, "Server-sent events"). */

export interface RawEvent {
  id: string;
  event: string;
  data: string;
}

/** Takes text in pieces, gives the events that are whole. One that was cut is never given. */
export class SseParser {
  #rest = "";
  #isFirst = true;
  #endsWithCr = false;
  #id = "";
  #event = "";
  #data: string[] = [];

  push(text: string): RawEvent[] {
    const events: RawEvent[] = [];
    if (text === "") return events;
    if (this.#isFirst && text.startsWith("\uFEFF")) text = text.slice(1);
    if (this.#endsWithCr && text.startsWith("\n")) text = text.slice(1); // the rest of a CRLF
    this.#isFirst = false;
    this.#endsWithCr = text.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") this.#dispatch(events);
      else this.#take(line);
    }
    return events;
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #dispatch(events: RawEvent[]): void {
    if (this.#data.length > 0) events.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
    this.#event = "";
    this.#data = [];
  }
}

/** `onBytes` is called for all that comes, comments too. */
export async function* readEvents(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<RawEvent> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const parser = new SseParser();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    yield* parser.push(decoder.decode(value, { stream: true }));
  }
}
