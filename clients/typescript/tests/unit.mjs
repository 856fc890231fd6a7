// Odd answers, without a server: fetch is ours. Prints lines of JSON (check.mjs).
import assert from "node:assert/strict";
import { inputFile, Mayfly, MayflyError } from "mayfly-client";
import { all, check, rejection } from "./check.mjs";

const RESULT = { taskId: "task_1", status: "succeeded", stdout: "", stderr: "", artifacts: [] };
const SSE = { "Content-Type": "text/event-stream; charset=utf-8" };

/** A client whose calls get these answers, one after the other: a Response, or an error that fetch rejects with. */
function client(answers, options = {}) {
  const calls = [];
  const fetch = async (url, init) => {
    calls.push({ url, ...init });
    const answer = answers.shift();
    assert.ok(answer !== undefined, `one call too many: ${init.method} ${url}`);
    const value = typeof answer === "function" ? await answer(init) : answer;
    if (value instanceof Error) throw value;
    return value;
  };
  return { mayfly: new Mayfly({ baseUrl: "http://server/base/v1/", apiKey: "secret", fetch, ...options }), calls };
}
const json = (value, status = 200, headers = {}) => new Response(JSON.stringify(value), { status, headers });
const stream = (...chunks) => new Response(new ReadableStream({
  start(c) {
    for (const chunk of chunks) c.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
    c.close();
  },
}), { headers: SSE });
/** A stream that breaks after what came. */
const broken = (...chunks) => new Response(new ReadableStream({
  pull(c) {
    const chunk = chunks.shift();
    if (chunk === undefined) c.error(new TypeError("terminated"));
    else c.enqueue(new TextEncoder().encode(chunk));
  },
}), { headers: SSE });
const event = (id, type, data) => `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const END = event("9", "status", { taskId: "task_1", status: "succeeded" });

await check("where calls go, and with what", async () => {
  const { mayfly, calls } = client([json(RESULT), json(RESULT, 202), json(RESULT), json({ data: [] }), json({ deleted: true })]);
  await mayfly.get("a/../b?c#d", { wait: 5 });
  await mayfly.submit({ language: "python", code: "1" }, { idempotencyKey: "k1" });
  assert.equal(await mayfly.cancel("task_1"), undefined);
  await mayfly.list({ limit: 3, after: "task_0", status: "failed" });
  assert.equal(await mayfly.delete("task_1"), undefined);
  assert.deepEqual(calls.map((c) => `${c.method} ${c.url}`), [
    "GET http://server/base/v1/tasks/a%2F..%2Fb%3Fc%23d?wait=5", "POST http://server/base/v1/tasks",
    "POST http://server/base/v1/tasks/task_1/cancel", "GET http://server/base/v1/tasks?limit=3&after=task_0&status=failed",
    "DELETE http://server/base/v1/tasks/task_1"]);
  assert.ok(calls.every((c) => c.headers.Authorization === "Bearer secret" && c.redirect === "error"));
  assert.equal(calls[1].headers["Idempotency-Key"], "k1");
  assert.ok(!JSON.stringify(mayfly).includes("secret"));
});

await check("ids and addresses that make no sense", async () => {
  const { mayfly, calls } = client([]);
  for (const id of ["", ".", ".."]) assert.equal((await rejection(mayfly.get(id))).name, "TypeError");
  for (const url of ["http://other/v1/x", "//other/x", "/\\other/x", "v1", "/a b", "/a\n"]) {
    assert.equal((await rejection(mayfly.download({ url, sizeBytes: 1, sha256: "" }))).name, "TypeError", url);
  }
  for (const baseUrl of ["", "server", "ftp://server", "http://u:p@server", "http://server/?q"]) {
    assert.throws(() => new Mayfly({ baseUrl }), TypeError, baseUrl);
  }
  assert.equal(calls.length, 0);
});

await check("bytes of every value and length as base64", async () => {
  for (const n of [0, 1, 2, 3, 0x6000 - 1, 0x6000, 0x6001, 100_000]) {
    const bytes = Uint8Array.from({ length: n }, (_, i) => (i * 7) & 255);
    assert.deepEqual(inputFile("a", bytes), { name: "a", content: Buffer.from(bytes).toString("base64") });
  }
  assert.equal(inputFile("é", "né 中 🙂").content, Buffer.from("né 中 🙂").toString("base64"));
});

await check("files as bytes go as form data, whatever their names", async () => {
  const { mayfly, calls } = client([json(RESULT, 202)]);
  const names = ['a"b.csv', "c\r\nX: y", "d%22.csv", "é 中/🙂.txt", "'()*~!"];
  const files = names.map((name) => ({ name, content: new Uint8Array([0, 13, 10, 255]) }));
  await mayfly.submit({ language: "python", code: "1", files: [...files, inputFile("text", "as base64")] });
  const text = Buffer.from(await calls[0].body.arrayBuffer()).toString("latin1");
  const mark = /boundary=(\S+)$/.exec(calls[0].headers["Content-Type"])[1];
  const parts = text.split(`--${mark}`).slice(1, -1);
  assert.equal(parts.length, names.length + 2);
  assert.deepEqual(JSON.parse(parts[0].split("\r\n\r\n")[1]), { language: "python", code: "1" });
  for (const [i, name] of names.entries()) {
    const [head, body] = parts[i + 1].split("\r\n\r\n");
    assert.equal(head.split("\r\n").length, 3, head);
    assert.equal(decodeURIComponent(/filename\*=UTF-8''([\w%.-]+)\r/.exec(head)[1]), name);
    assert.equal(body, "\0\r\n\xff\r\n");
  }
  assert.ok(parts.at(-1).endsWith("\r\n\r\nas base64\r\n"));
  for (const bad of [{ name: "\ud800", content: new Uint8Array() }, { name: "a", content: "not base64!" }]) {
    const request = { language: "python", code: "1", files: [bad, ...files] };
    assert.equal((await rejection(mayfly.submit(request))).name, "TypeError");
  }
});

await check("what an error tells", async () => {
  const full = { error: { message: "m", type: "t", param: "limits.timeoutMs", code: "c" } };
  const cases = [
    [json(full, 400), ["m", 400, "c", "limits.timeoutMs", null]],
    [json({ error: { message: "full", code: "queue_full", param: null } }, 429, { "Retry-After": "7" }), ["full", 429, "queue_full", null, 7]],
    [json({ error: { message: "x", type: "server_error", code: null } }, 500), ["x", 500, "server_error", null, null]],
    [new Response("<html>502</html>", { status: 502, headers: { "Retry-After": "soon" } }), ["HTTP status 502", 502, "http_502", null, null]],
    [json({ error: "text" }, 404), ["HTTP status 404", 404, "http_404", null, null]],
    [json(null, 410), ["HTTP status 410", 410, "http_410", null, null]],
    [json({ error: { message: 5, code: {}, param: [] } }, 409), ["HTTP status 409", 409, "http_409", null, null]],
  ];
  for (const [response, want] of cases) {
    const e = await rejection(client([response]).mayfly.get("task_1"));
    assert.ok(e instanceof MayflyError && e instanceof Error);
    assert.deepEqual([e.message, e.status, e.code, e.param, e.retryAfter], want);
  }
  const later = await rejection(client([json({}, 503, { "Retry-After": new Date(Date.now() + 1e6).toUTCString() })]).mayfly.get("t"));
  assert.ok(later.retryAfter > 100 && later.isTransient);
});

await check("answers that are none", async () => {
  for (const body of ["", "null", "[]", "5", "{", "<html>"]) {
    assert.equal((await rejection(client([new Response(body)]).mayfly.get("task_1"))).code, "bad_answer", body);
  }
  const e = await rejection(client([new TypeError("fetch failed")]).mayfly.get("task_1"));
  assert.deepEqual([e.status, e.code, e.cause.message], [0, "connection_failed", "fetch failed"]);
  const { mayfly } = client([new Response("{}"), stream("id: 1\nevent: status\ndata: nothing\n\n")]);
  assert.equal((await rejection(all(mayfly.events("task_1")))).code, "bad_answer");
  assert.equal((await rejection(all(mayfly.events("task_1")))).code, "bad_answer");
});

await check("events, cut at every byte and with every line end", async () => {
  const said = "né 中 🙂 \u2028 \\ \"";
  const plain = ": hello\n\n" + event("1", "stdout", { text: said }) + event("2", "news", { of: "a newer server" }) +
    "event: stderr\nid: 3\ndata: {\"text\":\ndata: \"two lines\"}\nretry: 5\nodd\n\n" + END;
  for (const text of [plain, plain.replaceAll("\n", "\r\n"), plain.replaceAll("\n", "\r"), "\uFEFF" + plain]) {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at <= bytes.length; at++) {
      const events = await all(client([stream(bytes.slice(0, at), bytes.slice(at))]).mayfly.events("task_1"));
      assert.deepEqual(events.map((e) => [e.id, e.type, e.text ?? e.task.status]),
        [["1", "stdout", said], ["3", "stderr", "two lines"], ["9", "status", "succeeded"]], `cut at ${at}`);
    }
  }
});

await check("events go on where the connection broke", async () => {
  const { mayfly, calls } = client([
    broken(event("1", "stdout", { text: "a" }) + event("2", "stdout", { text: "b" }) + "id: 3\nevent: stdout\ndata: {\"te"),
    new TypeError("fetch failed"), json({ error: {} }, 503, { "Retry-After": "0" }),
    stream(event("3", "stdout", { text: "c" })), stream(event("8", "artifact", { artifactId: "x" }) + END)]);
  const events = await all(mayfly.events("task_1"));
  assert.deepEqual(events.map((e) => e.id), ["1", "2", "3", "8", "9"]);
  assert.deepEqual(calls.map((c) => c.headers["Last-Event-ID"]), [undefined, "2", "2", "2", "3"]);
});

await check("events from a place on; behind the end there are none", async () => {
  const { mayfly, calls } = client([new Response(null, { status: 204 })]);
  assert.deepEqual(await all(mayfly.events("task_1", { after: "9" })), []);
  assert.equal(calls[0].headers["Last-Event-ID"], "9");
});

await check("what does not help is not tried again, and what does not get further is given up", async () => {
  for (const call of [(m) => all(m.events("t")), (m) => m.wait("t"), (m) => m.download({ url: "/v1/x", sizeBytes: 0, sha256: "" })]) {
    const gone = client([json({ error: { code: "task_expired" } }, 410)]);
    assert.equal((await rejection(call(gone.mayfly))).code, "task_expired");
    const down = client([1, 2, 3].map(() => new TypeError("fetch failed")), { retries: 2 });
    assert.equal((await rejection(call(down.mayfly))).code, "connection_failed");
    assert.equal(down.calls.length, 3);
  }
  const once = client([json({ error: { code: "queue_full" } }, 429, { "Retry-After": "1" })]);
  assert.equal((await rejection(once.mayfly.submit({ language: "python", code: "" }))).status, 429);
  assert.equal(once.calls.length, 1);
});

await check("wait and run go on until the end", async () => {
  const { mayfly, calls } = client([json(RESULT, 202), json({ ...RESULT, status: "queued" }), new TypeError("cut"),
    json({ ...RESULT, status: "running" }), json({ ...RESULT, status: "timed_out" })]);
  assert.equal((await mayfly.run({ language: "python", code: "1" })).status, "timed_out");
  assert.ok(calls.slice(1).every((c) => c.url.endsWith("?wait=60")));
});

await check("an aborted run cancels its task, and rejects with the reason", async () => {
  const stop = new AbortController();
  const reason = new Error("enough");
  const never = (init) => new Promise((_, reject) => {
    init.signal.addEventListener("abort", () => reject(init.signal.reason));
    stop.abort(reason);
  });
  const { mayfly, calls } = client([json(RESULT, 202), never, json(RESULT)]);
  assert.equal(await rejection(mayfly.run({ language: "python", code: "1" }, { signal: stop.signal })), reason);
  assert.ok(calls[2].url.endsWith("/task_1/cancel"));
  const late = client([(init) => init.signal.reason]);
  assert.equal(await rejection(late.mayfly.get("task_1", { signal: AbortSignal.abort(reason) })), reason);
});

await check("aborting while it waits to try again, and leaving events early", async () => {
  const stop = new AbortController();
  const reason = new Error("enough");
  const down = client([() => {
    setTimeout(() => stop.abort(reason), 5);
    return json({}, 503, { "Retry-After": "3600" });
  }]);
  assert.equal(await rejection(down.mayfly.wait("t", { signal: stop.signal })), reason);
  let signal;
  const left = client([(init) => {
    signal = init.signal;
    return stream(event("1", "stdout", { text: "a" }), END);
  }]);
  for await (const _ of left.mayfly.events("t")) break;
  assert.ok(signal.aborted, "the connection is closed");
});

await check("a download that is something else", async () => {
  const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const artifact = { url: "/v1/tasks/t/artifacts/a", sizeBytes: 3, sha256 };
  const { mayfly, calls } = client([new TypeError("cut"), new Response("abc"), new Response("ab"), new Response("abd")]);
  assert.equal(Buffer.from(await mayfly.download(artifact)).toString(), "abc");
  assert.equal(calls[1].url, "http://server/base/v1/tasks/t/artifacts/a");
  assert.equal((await rejection(mayfly.download(artifact))).code, "corrupt_download");
  if (globalThis.crypto?.subtle) assert.equal((await rejection(mayfly.download(artifact))).code, "corrupt_download");
});
