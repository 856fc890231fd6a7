import inspect
import linecache


def shown(a, *, b=2):
    """Doc."""
    return a + b  # a comment


print(inspect.getsource(shown), end="")
print(inspect.signature(shown), inspect.getsourcefile(shown) == __file__, linecache.getline(__file__, 1), end="")
