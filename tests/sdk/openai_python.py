"""`openai` for Python: every call of the Responses API that the gateway has, its answers seen by the strict types too."""
import asyncio

import openai
import pydantic
import strict
from scenarios import PANDAS, PANDAS_OUTPUT, WEATHER_TOOL

TOOL = {"type": "code_interpreter", "container": {"type": "auto"}}
INCLUDE = ["code_interpreter_call.outputs"]


class Weather(pydantic.BaseModel):
    city: str
    degrees: int


def shown(thing):
    return thing.to_dict() if hasattr(thing, "to_dict") else thing


def raised(kind, work):
    try:
        return ["no error, but %s" % shown(work())]
    except kind:
        return []
    except openai.OpenAIError as e:
        return ["%s: %s" % (type(e).__name__, e)]


def wire(client, **body):
    """The events as the client's own decoder gives them, before any type is made of them."""
    with client.responses.with_streaming_response.create(stream=True, **body) as raw:
        return [e.to_dict(mode="json") for e in raw.parse()]


def pandas_result(r):
    """What is wrong with a response of the scenario "pandas"."""
    problems = []
    kinds = [i.type for i in r.output]
    if kinds != ["reasoning", "code_interpreter_call", "reasoning", "message"]:
        return ["output: %s" % kinds]
    call = r.output[1]
    if (call.status, call.code, [shown(o) for o in call.outputs or []]) != ("completed", PANDAS, [{"type": "logs", "logs": PANDAS_OUTPUT}]):
        problems.append("the call: %s" % shown(call))
    if r.output_text != "The program printed:\n" + PANDAS_OUTPUT:
        problems.append("the text: %r" % r.output_text)
    if r.status != "completed" or (r.usage.input_tokens, r.usage.output_tokens, r.usage.total_tokens) != (300, 50, 350):
        problems.append("status %s, usage %s" % (r.status, shown(r.usage)))
    return problems


def create(t, client):
    r = client.responses.create(model="plain", input="hello")
    t.check("openai-python: create", strict.response(shown(r)) + ([] if r.output_text == "You said: hello" else [r.output_text]))
    r = client.responses.create(model="pandas", input="Add up.", tools=[TOOL], include=INCLUDE)
    t.check("openai-python: create, pandas in the sandbox", strict.response(shown(r)) + pandas_result(r))
    got = client.responses.parse(model="json", input="weather", text_format=Weather)
    t.ok(got.output_parsed == Weather(city="Oslo", degrees=-3), "openai-python: parse, a model's JSON as an object", shown(got))
    r = client.responses.create(model="plain", input=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": [
        {"type": "input_text", "text": "parts"}]}], metadata={"who": "me"}, instructions="Answer.", temperature=0.5)
    t.check("openai-python: create with roles, parts, metadata", strict.response(shown(r)) + (
        [] if r.metadata == {"who": "me"} and r.temperature == 0.5 and r.instructions == "Answer." and r.output_text == "You said: parts"
        else [str(shown(r))]))


def stream(t, client):
    events = wire(client, model="pandas", input="Add up.", tools=[TOOL], include=INCLUDE)
    t.check("openai-python: create(stream=True), each event strictly of its type", strict.events(events))
    kinds = []
    with client.responses.stream(model="pandas", input="Add up.", tools=[TOOL], include=INCLUDE) as s:
        for event in s:
            kinds.append(event.type)
        final = s.get_final_response()
    problems = pandas_result(final) + ["a %s" % k for k in kinds if "function_call" in k]
    t.check("openai-python: stream(), pandas in the sandbox", problems)
    t.ok([k for k in kinds if "code_interpreter" in k] == ["response.code_interpreter_call.in_progress",
         "response.code_interpreter_call_code.delta", "response.code_interpreter_call_code.done",
         "response.code_interpreter_call.interpreting", "response.code_interpreter_call.completed"],
         "openai-python: stream(), the events of the call", kinds)
    events = wire(client, model="two", input="Both.", tools=[TOOL])
    done = [e["item"] for e in events if e["type"] == "response.output_item.done" and e["item"]["type"] == "code_interpreter_call"]
    t.check("openai-python: two calls at once, one of which fails", strict.events(events) + (
        [] if [d["status"] for d in done] == ["completed", "failed"] else [str(done)]))
    with client.responses.stream(model="json", input="weather", text_format=Weather) as s:
        s.until_done()
        t.ok(s.get_final_response().output_parsed == Weather(city="Oslo", degrees=-3), "openai-python: stream() into an object")

    async def part():
        async with openai.AsyncOpenAI(base_url=str(client.base_url), api_key="k") as c:
            async with await c.responses.create(model="pandas", input="Add up.", tools=[TOOL], stream=True) as s:
                async for event in s:
                    if event.type == "response.code_interpreter_call.interpreting":
                        return event
        return None

    t.ok(asyncio.run(part()), "openai-python: a stream that the client leaves in the middle")


def stored(t, client):
    first = client.responses.create(model="pandas", input="Add up.", tools=[TOOL])
    got = client.responses.retrieve(first.id)
    t.check("openai-python: retrieve", strict.response(shown(got)) + ([] if shown(got) == shown(first) else ["another: %s" % shown(got)]))
    second = client.responses.create(model="run", input="print('again')", previous_response_id=first.id)
    problems = strict.response(shown(second))
    if second.previous_response_id != first.id or [i.type for i in second.output] != ["code_interpreter_call", "message"]:
        problems.append(str(shown(second)))
    t.check("openai-python: previous_response_id, tools inherited", problems)
    with client.responses.stream(model="plain", input="third", previous_response_id=second.id) as s:
        third = s.get_final_response()
    t.ok(third.output_text == "You said: third" and third.previous_response_id == second.id, "openai-python: and a third, streamed",
         shown(third))
    page = client.responses.input_items.list(second.id, order="asc")
    raw = client.responses.with_raw_response.retrieve(second.id)
    problems = [] if raw.status_code == 200 else [str(raw.status_code)]
    problems += strict.items(shown(page))
    texts = [i.content[0].text for i in page.data if i.type == "message"]
    if texts[-1:] != ["print('again')"]:
        problems.append(str(shown(page)))
    t.check("openai-python: input_items", problems)
    few = client.responses.create(model="plain", input=[{"role": "user", "content": "number %d" % i} for i in range(7)])
    texts = [i.content[0].text for i in client.responses.input_items.list(few.id, order="asc", limit=3)]
    t.ok(texts == ["number %d" % i for i in range(7)], "openai-python: input_items, page by page", texts)
    texts = [i.content[0].text for i in client.responses.input_items.list(few.id, limit=2)]
    t.ok(texts == ["number %d" % i for i in range(6, -1, -1)], "openai-python: input_items, newest first", texts)
    client.responses.delete(first.id)
    t.check("openai-python: delete", raised(openai.NotFoundError, lambda: client.responses.retrieve(first.id)))
    t.check("openai-python: deleted again", raised(openai.NotFoundError, lambda: client.responses.delete(first.id)))
    t.check("openai-python: a response whose parent was deleted is there", strict.response(shown(client.responses.retrieve(second.id))))
    t.check("openai-python: continuing one that was deleted", raised(
        openai.NotFoundError, lambda: client.responses.create(model="plain", input="x", previous_response_id=first.id)))
    once = client.responses.create(model="plain", input="x", store=False)
    t.check("openai-python: store=False", raised(openai.NotFoundError, lambda: client.responses.retrieve(once.id)))


def functions(t, client):
    for model, tools in (("weather", [WEATHER_TOOL]), ("mixed", [TOOL, WEATHER_TOOL])):
        events = wire(client, model=model, input="And now?", tools=tools)
        r = client.responses.create(model=model, input="And now?", tools=tools)
        call = r.output[-1]
        problems = strict.events(events) + strict.response(shown(r))
        if call.type != "function_call" or call.name != "get_weather":
            problems.append(str(shown(r)))
        r = client.responses.create(model=model, previous_response_id=r.id, input=[
            {"type": "function_call_output", "call_id": call.call_id, "output": "-3 degrees"}])
        if r.output_text != "It says -3 degrees":
            problems.append(str(shown(r)))
        t.check("openai-python: a function of the client (%s), and its output" % model, problems)
    problems = raised(openai.BadRequestError, lambda: client.responses.create(
        model="weather", input="x", previous_response_id=client.responses.create(model="weather", input="x", tools=[WEATHER_TOOL]).id))
    t.check("openai-python: an output that is missing", problems)


def unhappy(t, client):
    """Ends that are no success are events and responses of the types, too."""
    for model, end in (("cut", "response.failed"), ("failed", "response.failed"), ("again", "response.incomplete")):
        events = wire(client, model=model, input="x", tools=[TOOL])
        problems = strict.events(events)
        if model == "again":  # the reason is in the words of the system that Mayfly can replace; the client takes any
            problems = [p for p in problems if "incomplete_details" not in p]
        with client.responses.stream(model=model, input="x", tools=[TOOL]) as s:
            kinds = [event.type for event in s]
        if events[-1]["type"] != end or kinds[-1] != end:
            problems.append("%s, %s" % (events[-1], kinds[-1]))
        t.check("openai-python: a stream that ends with %s (%s)" % (end, model), problems)
    r = client.responses.create(model="failed", input="x")
    t.check("openai-python: a failed response", strict.response(shown(r)) + (
        [] if r.status == "failed" and r.error.message == "out of memory" else [str(shown(r))]))
    r = client.responses.create(model="again", input="x", tools=[TOOL])
    t.ok(r.status == "incomplete" and "10 rounds" in r.incomplete_details.reason and len(r.output) >= 10,
         "openai-python: an incomplete response", shown(r))
    r = client.responses.create(model="again", input="x", tools=[TOOL], max_tool_calls=2)
    done = [i.status for i in r.output if i.type == "code_interpreter_call"]
    t.ok(done[:2] == ["completed"] * 2 and "completed" not in done[2:], "openai-python: max_tool_calls", done)


def others(t, client):
    names = {m.id for m in client.models.list()}
    t.ok({"run", "plain"} <= names, "openai-python: models", names)
    r = client.chat.completions.create(model="plain", messages=[{"role": "user", "content": "echo this"}])
    t.ok("echo this" in r.choices[0].message.content, "openai-python: chat completions go through", shown(r))
    t.check("openai-python: a bad declaration is a BadRequestError", raised(openai.BadRequestError, lambda: client.responses.create(
        model="run", input="x", tools=[{"type": "code_interpreter", "container": "cntr_mine"}])))
    t.check("openai-python: with stream=True, too", raised(openai.BadRequestError, lambda: client.responses.create(
        model="run", input="x", stream=True, tools=[{"type": "code_interpreter", "container": "cntr_mine"}])))
    t.check("openai-python: an unknown model is upstream's 404", raised(
        openai.NotFoundError, lambda: client.responses.create(model="nobody", input="x")))
    t.check("openai-python: an error inside a stream", raised(openai.APIError, lambda: list(
        client.responses.create(model="nobody", input="x", stream=True))))


def run(t, url):
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0, timeout=60) as client:
        for part in (create, stream, stored, functions, unhappy, others):
            try:
                part(t, client)
            except Exception as e:  # the rest is still to be seen
                t.check("openai-python: " + part.__name__, ["%s: %s" % (type(e).__name__, e)])


def run_with_keys(t, url, key):
    """Against a server that asks its clients for a key."""
    with openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=60) as client:
        r = client.responses.create(model="plain", input="hello")
        with client.responses.stream(model="plain", input="more", previous_response_id=r.id) as s:
            final = s.get_final_response()
        t.ok(client.responses.retrieve(final.id).output_text == "You said: more", "openai-python: with a key")
    with openai.OpenAI(base_url=url, api_key="another", max_retries=0, timeout=60) as client:
        for what, work in (("create", lambda: client.responses.create(model="plain", input="x")), ("models", client.models.list),
                           ("stream", lambda: client.responses.create(model="plain", input="x", stream=True)),
                           ("retrieve", lambda: client.responses.retrieve(r.id)), ("delete", lambda: client.responses.delete(r.id))):
            t.check("openai-python: with another key: " + what, raised(openai.AuthenticationError, work))
