// `ai` with `@ai-sdk/openai`: prints a line of JSON for each check, {"check", "problems"}; {"events"} are the chunks as they
// came, for the strict types. Usage: ai-sdk.js URL
"use strict";
const { createOpenAI } = require("@ai-sdk/openai");
const { generateText, streamText, stepCountIs, tool } = require("ai");
const { z } = require("zod");
const assert = require("node:assert");

const openai = createOpenAI({ baseURL: process.argv[2], apiKey: "k" });
const tools = { code_interpreter: openai.tools.codeInterpreter({}) };
const { PANDAS, PANDAS_OUTPUT, CASE_10_CODE, CASE_10_OUTPUT } = process.env;
const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `-3 degrees in ${city}`,
});

console.log = console.info = console.warn = console.error; // standard output is for the lines below
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

async function check(name, work) {
  try {
    await work();
    say({ check: "ai-sdk: " + name, problems: [] });
  } catch (e) {
    say({ check: "ai-sdk: " + name, problems: [`${e.name}: ${e.message}`, String(e.responseBody ?? ""), String(e.cause ?? "")] });
  }
}

async function streamed(options) {
  const result = streamText({ maxRetries: 0, includeRawChunks: true, onError() {}, ...options });
  const parts = [];
  const raw = [];
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error instanceof Error ? part.error : new Error(JSON.stringify(part.error));
    if (part.type === "raw") raw.push(part.rawValue);
    else parts.push(part);
  }
  return { result, parts, raw };
}

function isCall(parts, code, logs) {
  const call = parts.find((p) => p.type === "tool-call");
  assert.ok(call && call.providerExecuted && !call.invalid, JSON.stringify(call));
  assert.strictEqual(call.toolName, "code_interpreter");
  assert.strictEqual(call.input.code, code);
  assert.ok(call.input.containerId);
  const result = parts.find((p) => p.type === "tool-result");
  assert.strictEqual(result.toolCallId, call.toolCallId);
  assert.deepStrictEqual(result.output, { outputs: [{ type: "logs", logs }] });
}

async function main() {
  await check("generateText", async () => {
    const r = await generateText({ model: openai("plain"), prompt: "hello", maxRetries: 0 });
    assert.strictEqual(r.text, "You said: hello");
  });
  await check("generateText with tools.codeInterpreter, pandas in the sandbox", async () => {
    const r = await generateText({ model: openai("pandas"), prompt: "Add up.", tools, maxRetries: 0 });
    assert.strictEqual(r.text, "The program printed:\n" + PANDAS_OUTPUT);
    isCall(r.content, PANDAS, PANDAS_OUTPUT);
    assert.strictEqual(r.finishReason, "stop");
    assert.strictEqual(r.usage.inputTokens, 300);
  });
  await check("streamText with tools.codeInterpreter, pandas in the sandbox", async () => {
    const { result, parts, raw } = await streamed({ model: openai("pandas"), prompt: "Add up.", tools });
    isCall(parts, PANDAS, PANDAS_OUTPUT);
    assert.strictEqual(await result.text, "The program printed:\n" + PANDAS_OUTPUT);
    assert.strictEqual(await result.finishReason, "stop");
    say({ events: raw });
  });
  for (const model of ["case10", "case10-bytes", "case10-odd"])
    await check("case 10 (" + model + ")", async () => {
      const { result, parts, raw } = await streamed({ model: openai(model), prompt: "What is it?", tools });
      isCall(parts, CASE_10_CODE, CASE_10_OUTPUT);
      assert.strictEqual(await result.text, "It printed " + CASE_10_OUTPUT);
      assert.ok(!raw.some((e) => e.type.includes("function_call")));
      say({ events: raw });
    });
  await check("a second turn by previousResponseId", async () => {
    const first = await generateText({ model: openai("pandas"), prompt: "Add up.", tools, maxRetries: 0 });
    const r = await generateText({
      model: openai("run"), prompt: "print('again')", tools, maxRetries: 0,
      providerOptions: { openai: { previousResponseId: first.providerMetadata.openai.responseId } },
    });
    assert.ok(r.text.includes("again"), r.text);
  });
  // The SDK sends what was before either as references to stored items (its default) or, with store: false, in full.
  for (const store of [true, false])
    await check(`a second turn by the messages of the first, store: ${store}`, async () => {
      const providerOptions = { openai: { store } };
      const messages = [{ role: "user", content: "Add up." }];
      const first = await generateText({ model: openai("pandas"), messages, tools, providerOptions, maxRetries: 0 });
      messages.push(...first.response.messages, { role: "user", content: "print('from the messages')" });
      const { result, raw } = await streamed({ model: openai("run"), messages, tools, providerOptions });
      assert.ok((await result.text).includes("from the messages"), await result.text);
      say({ events: raw });
    });
  for (const store of [true, false])
    await check(`a function of the client between two rounds, store: ${store}`, async () => {
      const { result, raw } = await streamed({
        model: openai("mixed"), prompt: "And now?", tools: { ...tools, get_weather: weather }, stopWhen: stepCountIs(3),
        providerOptions: { openai: { store } },
      });
      assert.strictEqual(await result.text, "It says -3 degrees in Oslo");
      say({ events: raw });
    });
  for (const model of ["cut", "failed"])
    await check(`a stream that fails is an error (${model})`, async () => {
      await assert.rejects(streamed({ model: openai(model), prompt: "x", tools }), (e) => !/validat/i.test(e.name + e.message));
    });
  await check("too many rounds are an end", async () => {
    const { result, raw } = await streamed({ model: openai("again"), prompt: "x", tools });
    assert.notStrictEqual(await result.finishReason, "error");
    assert.strictEqual(raw.at(-1).type, "response.incomplete");
  });
  await check("a bad declaration is an error", () =>
    assert.rejects(generateText({ model: openai("run"), prompt: "x", maxRetries: 0, tools: { code_interpreter: openai.tools.codeInterpreter({ container: "cntr_mine" }) } }),
      (e) => e.statusCode === 400));
  await check("a stream that is aborted while the program runs", async () => {
    const abort = new AbortController();
    const result = streamText({ model: openai("run"), prompt: "import time\ntime.sleep(30)", tools, abortSignal: abort.signal, maxRetries: 0, onError() {} });
    let seen = false;
    for await (const part of result.fullStream)
      if (part.type === "tool-call") {
        seen = true;
        abort.abort();
      }
    assert.ok(seen);
  });
}

main();
