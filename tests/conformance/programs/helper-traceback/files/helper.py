def fail():
    raise ValueError("from the helper")
