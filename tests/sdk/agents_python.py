"""`openai-agents`: its own loop over the gateway, with its code-interpreter tool, streamed."""
import asyncio

import agents
import openai
import strict
from scenarios import PANDAS_OUTPUT

CONFIG = {"type": "code_interpreter", "container": {"type": "auto"}}


@agents.function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return "-3 degrees in " + city


def agent(client, model, tools):
    return agents.Agent(name="Counter", instructions="Use Python for every sum.", tools=tools,
                        model=agents.OpenAIResponsesModel(model=model, openai_client=client))


async def streamed(starting, given, **more):
    result = agents.Runner.run_streamed(starting, given, **more)
    raw, items = [], []
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            raw.append(event.data.to_dict(mode="json"))
        elif event.type == "run_item_stream_event":
            items.append((event.name, event.item))
    return result, raw, items


async def parts(t, url):
    async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, timeout=60) as client:
        tool = agents.CodeInterpreterTool(tool_config=CONFIG)
        result, raw, items = await streamed(agent(client, "pandas", [tool]), "Add up.")
        t.check("openai-agents: run_streamed with CodeInterpreterTool, each event strictly of its type", strict.events(raw))
        names = [name for name, _ in items]
        calls = [i.raw_item for _, i in items if getattr(i.raw_item, "type", None) == "code_interpreter_call"]
        t.ok(result.final_output == "The program printed:\n" + PANDAS_OUTPUT, "openai-agents: the final output", result.final_output)
        t.ok("tool_called" in names and calls and calls[-1].outputs[0].logs == PANDAS_OUTPUT,
             "openai-agents: the call is an item of the run, with its output", names, calls)

        again, raw, _ = await streamed(agent(client, "run", [tool]), "print('second turn')",
                                       previous_response_id=result.last_response_id)
        t.check("openai-agents: a second turn by previous_response_id", strict.events(raw) + (
            [] if "second turn" in again.final_output else [again.final_output]))

        again, raw, _ = await streamed(agent(client, "run", [tool]),
                                       result.to_input_list() + [{"role": "user", "content": "print('from the list')"}])
        t.check("openai-agents: a second turn by the list of what was", strict.events(raw) + (
            [] if "from the list" in again.final_output else [again.final_output]))

        result, raw, items = await streamed(agent(client, "mixed", [tool, get_weather]), "And now?")
        t.check("openai-agents: the gateway's tool and a function in one round", strict.events(raw) + (
            [] if result.final_output == "It says -3 degrees in Oslo" else [result.final_output]))

        result = await agents.Runner.run(agent(client, "pandas", [tool]), "Add up.")
        t.ok(result.final_output == "The program printed:\n" + PANDAS_OUTPUT, "openai-agents: run", result.final_output)
        left = agents.Runner.run_streamed(agent(client, "run", [tool]), "import time\ntime.sleep(30)")
        async for event in left.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.code_interpreter_call.interpreting":
                left.cancel()
        t.ok(left.is_complete, "openai-agents: a run that is cancelled while the program runs")


def run(t, url):
    agents.set_tracing_disabled(True)
    try:
        asyncio.run(parts(t, url))
    except Exception as e:
        t.check("openai-agents", ["%s: %s" % (type(e).__name__, e)])
