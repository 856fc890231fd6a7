"""What the scripted model does for the clients."""
import gateway

PANDAS = """import io
import pandas as pd
table = pd.read_csv(io.StringIO('''region,amount
north,1200
south,800
north,1500
east,950
'''))
print(table.groupby("region").amount.sum().to_string())
print("total", table.amount.sum())
"""
PANDAS_OUTPUT = "region\neast      950\nnorth    2700\nsouth     800\ntotal 4450\n"

# The arguments of case 10: cut inside the key, inside its escape, inside the four digits of others.
PIECES = ['{"', 'c\\', 'u0', '06', 'fd', 'e":"pri', 'nt\\u', '00', '28pow(123,45', '6,1000000007)', ')"', '}']
CASE_10_CODE = "print(pow(123,456,1000000007))"
CASE_10_OUTPUT = "%d\n" % pow(123, 456, 1000000007)


def response(status, output, usage=None):
    return {"id": "resp_up", "object": "response", "created_at": 1790000000, "status": status, "model": "case10", "output": output,
            "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
            "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "usage": usage}


def call_in_pieces(name, pieces):
    """A round that is one function call, its arguments in just these deltas."""
    arguments = "".join(pieces)
    item = {"id": "fc_0123456789abcdef", "type": "function_call", "status": "in_progress", "call_id": "call_odd", "name": name,
            "arguments": ""}
    whole = dict(item, status="completed", arguments=arguments)
    usage = {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens": 3,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10}
    at = {"item_id": item["id"], "output_index": 0}
    events = [{"type": "response.created", "response": response("in_progress", [])},
              {"type": "response.in_progress", "response": response("in_progress", [])},
              {"type": "response.output_item.added", "output_index": 0, "item": item}]
    events += [dict(at, type="response.function_call_arguments.delta", delta=p) for p in pieces]
    events += [dict(at, type="response.function_call_arguments.done", arguments=arguments, name=name),
               {"type": "response.output_item.done", "output_index": 0, "item": whole},
               {"type": "response.completed", "response": response("completed", [whole], usage)}]
    for number, event in enumerate(events):
        event["sequence_number"] = number
    return events


def failure():
    r = dict(response("failed", []), error={"code": "server_error", "message": "out of memory"})
    return [{"type": "response.created", "sequence_number": 0, "response": response("in_progress", [])},
            {"type": "response.in_progress", "sequence_number": 1, "response": response("in_progress", [])},
            {"type": "response.failed", "sequence_number": 2, "response": r}]


def case_10(split):
    rounds = [{"events": call_in_pieces("code_interpreter", PIECES)}, {"text": "It printed {{last_tool_output.stdout}}"}]
    if split:
        rounds = [dict(r, split=split) for r in rounds]
    return {"pick": "turn", "loop": True, "rounds": rounds}


WEATHER = {"name": "get_weather", "arguments": {"city": "Oslo"}}
ALL = {
    "run": gateway.RUN,
    "plain": gateway.PLAIN,
    "pandas": {"pick": "turn", "loop": True, "rounds": [
        {"reasoning": "I add them up.", "calls": [{"name": "code_interpreter", "arguments": {"code": PANDAS}}],
         "usage": {"input_tokens": 100, "output_tokens": 20, "reasoning_tokens": 4}},
        {"reasoning": "There it is.", "text": "The program printed:\n{{last_tool_output.stdout}}",
         "usage": {"input_tokens": 200, "output_tokens": 30, "cached_tokens": 50}}]},
    "weather": {"pick": "turn", "loop": True, "rounds": [{"calls": [WEATHER]}, {"text": "It says {{last_tool_output}}"}]},
    # The gateway's output and the client's are one run or two, by where the client puts its call.
    "mixed": {"pick": "turn", "loop": True, "rounds": [
        {"calls": [{"name": "code_interpreter", "arguments": {"code": "print(6 * 7)"}}, WEATHER]},
        {"text": "It says {{last_tool_output}}"}, {"text": "It says {{last_tool_output}}"}]},
    "two": {"pick": "turn", "loop": True, "rounds": [
        {"calls": [{"name": "code_interpreter", "arguments": {"code": "print('first')"}},
                   {"name": "code_interpreter", "arguments": {"code": "raise ValueError('second')"}}]},
        {"text": "{{last_tool_output}}"}]},
    "cut": {"pick": "turn", "loop": True, "rounds": [{"text": "This does not come to its end, whatever it says.", "fault": "cut"}]},
    "failed": {"pick": "turn", "loop": True, "rounds": [{"events": failure()}]},
    "again": {"loop": True, "rounds": [{"calls": [{"name": "code_interpreter", "arguments": {"code": "print(1)"}}]}]},
    "json": {"pick": "turn", "loop": True, "rounds": [{"text": "{\"city\": \"Oslo\", \"degrees\": -3}"}]},
    "case10": case_10(None),
    "case10-bytes": case_10("every 1 bytes"),
    "case10-odd": case_10([5, 6, 300, 301, 1017, 1019, 1500, 1777, 2048]),
}
WEATHER_TOOL = {"type": "function", "name": "get_weather", "description": "The weather of a city.", "strict": True,
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                               "additionalProperties": False}}
