"""A last statement that is an expression, shown as a notebook shows it: taken off the program and compiled as the prompt of
an interpreter compiles it, so that its value goes to sys.displayhook.

Called by the zygote's module in a guest (script.c), and only where that was asked for.
"""
import __future__

import ast
from functools import reduce
from importlib.util import decode_source
from operator import or_

FUTURE = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))


def split(source, path):
    """The program (bytes) as two code objects, run one after the other in __main__; the second is None when there is
    nothing to show. Raises what compile() raises."""
    tree = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body[-1] if tree.body else None
    shows = isinstance(last, ast.Expr) and not _ends_in_semicolon(source, last)
    if shows and not (len(tree.body) == 1 and ast.get_docstring(tree, clean=False) is not None):
        tree.body.pop()  # but a docstring that is shown is the module's all the same
    code = compile(tree, path, "exec", dont_inherit=True)
    if not shows:
        return code, None
    # a statement `from __future__` reaches this half only as a flag
    flags = code.co_flags & FUTURE
    return code, compile(ast.Interactive([last]), path, "single", flags, dont_inherit=True)


def _ends_in_semicolon(source, last):
    """Positions in a tree count lines, and bytes of UTF-8 within a line."""
    lines = decode_source(source).split("\n")[last.end_lineno - 1:]
    rest = "\n".join(lines).encode()[last.end_col_offset:]
    return rest.lstrip(b" \t\f\\\n").startswith(b";")
