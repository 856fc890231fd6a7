def load(key):
    try:
        return {}[key]
    except KeyError as e:
        raise ValueError(f"no setting {key!r}") from e


load("color")
