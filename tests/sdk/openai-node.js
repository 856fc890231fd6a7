// `openai` for Node: prints a line of JSON for each check, {"check", "problems"}; {"events"} and {"response"} are what came,
// for the strict types. Usage: openai-node.js URL
"use strict";
const { OpenAI, NotFoundError, BadRequestError } = require("openai");
const assert = require("node:assert");

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "k", maxRetries: 0, timeout: 60000 });
const tools = [{ type: "code_interpreter", container: { type: "auto" } }];
const include = ["code_interpreter_call.outputs"];
const PANDAS_OUTPUT = process.env.PANDAS_OUTPUT;

console.log = console.info = console.warn = console.error; // standard output is for the lines below
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

async function check(name, work) {
  try {
    await work();
    say({ check: "openai-node: " + name, problems: [] });
  } catch (e) {
    say({ check: "openai-node: " + name, problems: [`${e.name}: ${e.message}`] });
  }
}

function isPandas(r) {
  assert.deepStrictEqual(r.output.map((i) => i.type), ["reasoning", "code_interpreter_call", "reasoning", "message"]);
  assert.deepStrictEqual(r.output[1].outputs, [{ type: "logs", logs: PANDAS_OUTPUT }]);
  assert.strictEqual(r.output[1].status, "completed");
  assert.strictEqual(r.output_text, "The program printed:\n" + PANDAS_OUTPUT);
}

async function main() {
  let first;
  await check("create", async () => {
    const r = await client.responses.create({ model: "plain", input: "hello" });
    assert.strictEqual(r.output_text, "You said: hello");
  });
  await check("create, pandas in the sandbox", async () => {
    first = await client.responses.create({ model: "pandas", input: "Add up.", tools, include });
    isPandas(first);
    const { output_text, _request_id, ...sent } = first; // both are the client's own
    say({ response: sent });
  });
  await check("create with stream: true", async () => {
    const events = [];
    for await (const event of await client.responses.create({ model: "pandas", input: "Add up.", tools, include, stream: true })) events.push(event);
    assert.strictEqual(events.at(-1).type, "response.completed");
    assert.ok(!events.some((e) => e.type.includes("function_call")));
    say({ events });
  });
  await check("stream(), pandas in the sandbox", async () => {
    const seen = new Set();
    const s = client.responses.stream({ model: "pandas", input: "Add up.", tools, include });
    for await (const event of s) seen.add(event.type);
    isPandas(await s.finalResponse());
    assert.ok(seen.has("response.code_interpreter_call.interpreting"));
  });
  await check("retrieve", async () => {
    const own = { _request_id: undefined };
    assert.deepStrictEqual({ ...(await client.responses.retrieve(first.id)), ...own }, { ...first, ...own });
  });
  let second;
  await check("previous_response_id", async () => {
    second = await client.responses.create({ model: "run", input: "print('again')", previous_response_id: first.id });
    assert.deepStrictEqual(second.output.map((i) => i.type), ["code_interpreter_call", "message"]);
    assert.strictEqual(second.previous_response_id, first.id);
  });
  await check("inputItems.list", async () => {
    const texts = [];
    for await (const item of client.responses.inputItems.list(second.id, { order: "asc", limit: 1 }))
      if (item.type === "message") texts.push(item.content[0].text);
    assert.strictEqual(texts.at(-1), "print('again')");
  });
  await check("delete", async () => {
    await client.responses.delete(first.id);
    await assert.rejects(client.responses.retrieve(first.id), NotFoundError);
    assert.strictEqual((await client.responses.retrieve(second.id)).id, second.id);
  });
  await check("a bad declaration is a BadRequestError", () =>
    assert.rejects(client.responses.create({ model: "run", input: "x", stream: true, tools: [{ type: "code_interpreter", container: "cntr_mine" }] }), BadRequestError));
  await check("an error inside a stream", () =>
    assert.rejects(async () => {
      for await (const _ of await client.responses.create({ model: "nobody", input: "x", stream: true }));
    }, OpenAI.APIError));
  await check("a stream that the client leaves while the program runs", async () => {
    const s = await client.responses.create({ model: "run", input: "import time\ntime.sleep(30)", tools, stream: true });
    let found = false;
    for await (const event of s)
      if (event.type === "response.code_interpreter_call.interpreting") {
        found = true;
        break;
      }
    assert.ok(found);
  });
  await check("models", async () => {
    const names = [];
    for await (const m of client.models.list()) names.push(m.id);
    assert.ok(names.includes("plain"));
  });
}

main();
