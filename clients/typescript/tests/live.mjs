// The client against `mayfly serve`: MF_URL with the keys first-key and second-key, MF_SMALL_URL with one place, a queue of
// one and a second of retention. Prints lines of JSON (check.mjs).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { inputFile, Mayfly, MayflyError } from "mayfly-client";
import { all, check, rejection } from "./check.mjs";
import { cutter } from "./cutter.mjs";

const url = process.env.MF_URL;
const mayfly = new Mayfly({ baseUrl: url, apiKey: "first-key" });
const small = new Mayfly({ baseUrl: process.env.MF_SMALL_URL });
const program = (code, more = {}) => ({ language: "python", code, ...more });
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const SLEEP = program("import time\nprint('there', flush=True)\ntime.sleep(50)");
const names = ["plain.csv", "数据/é 🙂.csv", "a\"b%22.csv", " sp ace", "-rf", "'();*~!&=+$,#.txt"];
const COUNT = program(`import time
for i in range(150):
    print('né', i, '🙂', flush=True)
    time.sleep(0.01)
open('a', 'w').write('b')`);
const MAKE = program(`import os
for n in ${JSON.stringify(names)}:
    os.makedirs(os.path.dirname(n) or '.', exist_ok=True)
    open(n, 'w').write('out ' + n)`);
const LIST = program(`import json, os
places = [os.path.join(d, f) for d, _, files in os.walk('.') for f in files]
print(json.dumps({os.path.relpath(p): open(p).read() for p in places}))`);

await check("a group-by: CSV in, CSV and PNG out, the bytes are those", async () => {
  const rows = Array.from({ length: 1000 }, (_, i) => `${["Łódź", "München", "北京"][i % 3]},${i}`);
  const code = `
import os, pandas as pd
os.mkdir("out")
df = pd.read_csv("data/sales.csv")
sums = df.groupby("city", as_index=False)["amount"].sum()
sums.to_csv("out/sums.csv", index=False)
sums.plot.bar(x="city", y="amount").figure.savefig("out/plot.png")
print(len(df), "rows")`;
  const files = [inputFile("data/sales.csv", ["city,amount", ...rows].join("\n"))];
  const result = await mayfly.run(program(code, { files }));
  assert.deepEqual([result.status, result.stdout, result.exitCode], ["succeeded", "1000 rows\n", 0], JSON.stringify(result));
  assert.deepEqual(result.artifacts.map((a) => [a.path, a.mimeType]), [["out/plot.png", "image/png"], ["out/sums.csv", "text/csv"]]);
  const [png, csv] = await Promise.all(result.artifacts.map((a) => mayfly.download(a)));
  assert.equal(Buffer.from(csv).toString(), "city,amount\nMünchen,166167\nŁódź,166833\n北京,166500\n");
  assert.equal(Buffer.from(png.subarray(1, 4)).toString(), "PNG");
  for (const [i, bytes] of [png, csv].entries()) {
    assert.deepEqual([bytes.length, sha256(bytes)], [result.artifacts[i].sizeBytes, result.artifacts[i].sha256]);
  }
  assert.equal(result.inputs[0].delimiter, ",");
  assert.ok(result.usage.durationMs > 0 && result.receipt !== null && Date.parse(result.finishedAt) > 0);
});

await check("submit, get, cancel", async () => {
  const task = await mayfly.submit(SLEEP);
  assert.match(task.taskId, /^task_/);
  for await (const event of mayfly.events(task.taskId)) if (event.type === "stdout") break;
  const result = await mayfly.get(task.taskId);
  assert.deepEqual([result.taskId, result.status, result.stdout], [task.taskId, "running", "there\n"]);
  assert.equal(await mayfly.cancel(task.taskId), undefined);
  assert.equal((await mayfly.get(task.taskId, { wait: 60 })).status, "cancelled");
  await mayfly.cancel(task.taskId);
  await mayfly.delete(task.taskId);
  assert.equal((await rejection(mayfly.get(task.taskId))).status, 404);
});

await check("out of time; a program that fails", async () => {
  const [late, failed] = await Promise.all([
    mayfly.run(program("while True: pass", { limits: { timeoutMs: 300 } })),
    mayfly.run(program("print('né', end='')\nraise ValueError('中 🙂')"))]);
  assert.equal(late.status, "timed_out");
  assert.deepEqual([failed.status, failed.reason, failed.exitCode, failed.stdout], ["failed", "exception", 1, "né"]);
  assert.match(failed.stderr, /ValueError: 中 🙂/);
});

await check("events over connections that break in the middle", async () => {
  const proxy = await cutter(url, { down: [900, 700, 1500, 333] });
  const through = new Mayfly({ baseUrl: proxy.url, apiKey: "first-key" });
  const { taskId } = await mayfly.submit(COUNT);
  const events = await all(through.events(taskId));
  proxy.close();
  const text = events.filter((e) => e.type === "stdout").map((e) => e.text).join("");
  assert.equal(text, Array.from({ length: 150 }, (_, i) => `né ${i} 🙂\n`).join(""));
  assert.equal(proxy.cuts, 4);
  assert.equal(new Set(events.map((e) => e.id)).size, events.length);
  assert.deepEqual(events.filter((e) => e.type === "artifact").map((e) => e.artifact.path), ["a"]);
  assert.deepEqual([events.at(-1).type, events.at(-1).task.status], ["status", "succeeded"]);
  const half = events[events.length >> 1].id;
  const rest = await all(mayfly.events(taskId, { after: half }));
  const joined = (list) => list.filter((e) => e.type === "stdout").map((e) => e.text).join("");
  assert.equal(joined(events.slice(0, (events.length >> 1) + 1)) + joined(rest), text);
  assert.deepEqual(await all(mayfly.events(taskId, { after: events.at(-1).id })), []);
});

await check("wait and download over connections that break", async () => {
  const { taskId } = await mayfly.submit(program("import os\nopen('a', 'wb').write(os.urandom(3000000))"));
  await mayfly.wait(taskId);
  const [first, second] = [await cutter(url, { down: [50, 0] }), await cutter(url, { down: [0, 2000, 1_000_000] })];
  const result = await new Mayfly({ baseUrl: first.url, apiKey: "first-key" }).wait(taskId);
  const [artifact] = result.artifacts;
  assert.equal(sha256(await new Mayfly({ baseUrl: second.url, apiKey: "first-key" }).download(artifact)), artifact.sha256);
  assert.deepEqual([first.cuts, second.cuts], [2, 3]);
  first.close();
  second.close();
});

await check("names of every kind, as base64 and uploaded", async () => {
  for (const make of [(n) => inputFile(n, `in ${n}`), (n) => ({ name: n, content: new Blob([`in ${n}`]) })]) {
    const result = await mayfly.run({ ...LIST, files: names.map(make) });
    assert.equal(result.status, "succeeded", result.stderr);
    assert.deepEqual(JSON.parse(result.stdout), Object.fromEntries([...names].map((n) => [n, `in ${n}`])));
    assert.deepEqual(result.inputs.map((i) => i.name).sort(), [...names].sort());
    for (const name of ["../x", "/etc/passwd", "a\0b", "a\nb", "", "a/../../b", "x".repeat(300)]) {
      const e = await rejection(mayfly.submit({ ...LIST, files: [make("first"), make(name)] }));
      assert.ok(e instanceof MayflyError && e.status === 400, `${JSON.stringify(name)}: ${e}`);
    }
    const twice = await rejection(mayfly.submit({ ...LIST, files: [make("a"), make("a")] }));
    assert.equal(twice.status, 400);
  }
});

await check("an artifact with a name of every kind", async () => {
  const result = await mayfly.run(MAKE);
  assert.deepEqual(result.artifacts.map((a) => a.path).sort(), [...names].sort());
  for (const a of result.artifacts) assert.equal(Buffer.from(await mayfly.download(a)).toString(), `out ${a.path}`);
});

await check("20 MiB, as base64 and uploaded; a byte more is refused", async () => {
  const bytes = Buffer.alloc(20 << 20, "0123456789\r\n--mayfly-\0\xff", "latin1");
  const code = "import hashlib\nprint(hashlib.sha256(open('big', 'rb').read()).hexdigest())";
  for (const files of [[inputFile("big", bytes)], [{ name: "big", content: bytes }]]) {
    assert.equal((await mayfly.run(program(code, { files }))).stdout, sha256(bytes) + "\n");
    const e = await rejection(mayfly.submit(program(code, { files: [...files, inputFile("more", "1")] })));
    assert.ok([400, 413].includes(e.status), `${e.status} ${e}`);
  }
});

await check("what is wrong is named", async () => {
  const wrong = [
    [{ limits: { timeoutMs: 0 } }, "limits.timeoutMs"], [{ limits: { timeoutMs: 60001 } }, "limits.timeoutMs"],
    [{ limits: { memoryMb: "5" } }, "limits.memoryMb"], [{ language: "ruby" }, "language"],
    [{ policy: { network: "enabled" } }, "policy.network"], [{ files: [{ name: "a", content: "***" }] }, "files[0].content"],
  ];
  for (const [more, param] of wrong) {
    const e = await rejection(mayfly.submit(program("1", more)));
    assert.deepEqual([e.status, e.param], [400, param], `${e}`);
  }
  const unknown = await rejection(mayfly.submit(program("1", { colour: "red" })));
  assert.ok(unknown.status === 400 && unknown.message.includes("colour"), `${unknown}`);
});

await check("another's task, an unknown one, a wrong key", async () => {
  const { taskId } = await mayfly.run(program("open('a', 'w').write('b')"));
  const { artifacts: [artifact] } = await mayfly.get(taskId);
  const other = new Mayfly({ baseUrl: url, apiKey: "second-key" });
  for (const call of [other.get(taskId), other.cancel(taskId), other.delete(taskId), other.download(artifact),
    all(other.events(taskId)), other.wait(taskId), mayfly.get("task_unknown"), mayfly.get("../../healthz"), mayfly.cancel("a b/ü")]) {
    assert.equal((await rejection(call)).status, 404);
  }
  assert.deepEqual((await other.list()).data, []);
  assert.equal((await rejection(new Mayfly({ baseUrl: url, apiKey: "no key" }).list())).status, 401);
  assert.equal((await mayfly.get(taskId)).status, "succeeded");
});

await check("idempotency", async () => {
  const files = [inputFile("a", "b")];
  const first = await mayfly.submit(program("print(1)", { files }), { idempotencyKey: "ts-1" });
  const again = await mayfly.submit(program("print(1)", { files }), { idempotencyKey: "ts-1" });
  assert.equal(again.taskId, first.taskId);
  assert.equal((await mayfly.run(program("print(1)", { files }), { idempotencyKey: "ts-1" })).stdout, "1\n");
  const e = await rejection(mayfly.submit(program("print(2)", { files }), { idempotencyKey: "ts-1" }));
  assert.deepEqual([e.status, e.code], [409, "idempotency_key_reused"]);
});

await check("list, page by page", async () => {
  const made = [];
  for (let i = 0; i < 3; i++) made.unshift((await mayfly.submit(program("print(1)"))).taskId);
  const first = await mayfly.list({ limit: 2 });
  const second = await mayfly.list({ limit: 1, after: first.last_id });
  assert.deepEqual([...first.data, ...second.data].map((t) => t.taskId), made);
  assert.equal(first.has_more, true);
  assert.ok((await mayfly.list({ limit: 100, status: "cancelled" })).data.every((t) => t.status === "cancelled"));
});

await check("a row of the list has sizes and times, and nothing else", async () => {
  const code = "open('a', 'w').write('four')\nopen('b', 'w').write('seven..')";
  const result = await mayfly.run(program(code, { files: [inputFile("c", "abc")] }));
  const { taskId, createdAt, startedAt, finishedAt, expiresAt } = result;
  const times = { createdAt, startedAt, finishedAt, expiresAt };
  const [row] = (await mayfly.list({ limit: 1 })).data;
  assert.deepEqual(row, { taskId, status: "succeeded", inputBytes: 3, artifactBytes: 11, ...times });
});

await check("a name for the code", async () => {
  const { stderr } = await mayfly.run(program("1 / 0", { source_name: "sums of 2.py" }));
  assert.match(stderr, /\/sums of 2\.py", line 1/);
});

await check("what a result calls optional is null until the end", async () => {
  const { taskId } = await mayfly.submit(SLEEP);
  for await (const event of mayfly.events(taskId)) if (event.type === "stdout") break;
  const now = await mayfly.get(taskId);
  await mayfly.cancel(taskId);
  for (const name of ["reason", "exitCode", "signal", "usage", "receipt"]) assert.equal(now[name], null, name);
});

await check("what is aborted leaves nothing", async () => {
  const before = (await mayfly.list({ limit: 1 })).first_id;
  const proxy = await cutter(url, { up: 1 << 20 });
  const stop = new AbortController();
  const through = new Mayfly({ baseUrl: proxy.url, apiKey: "first-key" });
  const files = [{ name: "a", content: new Uint8Array(16 << 20) }];
  const failing = rejection(through.submit(program("1", { files }), { signal: stop.signal }));
  while (proxy.taken <= 1 << 20) await new Promise((r) => setTimeout(r, 10));
  stop.abort(new Error("enough"));
  assert.equal((await failing).message, "enough");
  proxy.close();
  assert.equal((await mayfly.list({ limit: 1 })).first_id, before);

  const waiting = new AbortController();
  const run = rejection(mayfly.run(SLEEP, { signal: waiting.signal }));
  let newest;
  do newest = (await mayfly.list({ limit: 1 })).data[0]; while (newest.taskId === before || newest.status !== "running");
  waiting.abort(new Error("enough"));
  assert.equal((await run).message, "enough");
  assert.equal((await mayfly.wait(newest.taskId)).status, "cancelled");
});

await check("a full queue", async () => {
  const running = await small.submit(SLEEP);
  for await (const event of small.events(running.taskId)) if (event.type === "stdout") break;
  const queued = await small.submit(program("1"));
  assert.deepEqual([queued.status, queued.queuePosition], ["queued", 1]);
  const e = await rejection(small.submit(program("1", { files: [{ name: "a", content: new Uint8Array(1 << 20) }] })));
  assert.deepEqual([e.status, e.code, e.isTransient], [429, "queue_full", true]);
  assert.ok(e.retryAfter >= 1);
  await small.cancel(running.taskId);
  assert.equal((await small.wait(queued.taskId)).status, "succeeded");
});

await check("after its time it is gone", async () => {
  const { taskId, artifacts: [artifact] } = await small.run(program("open('a', 'w').write('b')"));
  let e = null;
  while (e === null) {
    await new Promise((r) => setTimeout(r, 100));
    e = await small.get(taskId).then(() => null, (error) => error);
  }
  assert.deepEqual([e.status, e.code], [410, "task_expired"]);
  for (const call of [small.download(artifact), all(small.events(taskId)), small.wait(taskId)]) {
    assert.equal((await rejection(call)).status, 410);
  }
});
