exec(compile("def f():\n    raise RuntimeError('inside')\n", "<made>", "exec"))
f()
