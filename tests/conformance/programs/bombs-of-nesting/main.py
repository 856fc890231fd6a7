import ast
import json

deep = 1_000_000
for name, what in (("json", lambda: json.loads("[" * deep)),
                   ("ast", lambda: ast.parse("(" * deep)),
                   ("unary", lambda: compile("-" * deep + "1", "x", "eval")),
                   ("eval", lambda: eval("[" * 300 + "]" * 300))):
    try:
        what()
        print(name, "taken")
    except (RecursionError, MemoryError, SyntaxError) as e:
        print(name, "refused")
print("end")
