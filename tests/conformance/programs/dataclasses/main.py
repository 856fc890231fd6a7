from __future__ import annotations

import dataclasses
import enum
import typing


class Kind(enum.Enum):
    A = "a"


@dataclasses.dataclass(order=True, slots=True)
class Item:
    name: str
    kind: Kind = Kind.A
    tags: list[str] = dataclasses.field(default_factory=list)


class Pair(typing.NamedTuple):
    left: Item
    right: Item | None = None


print(Item("x"), dataclasses.asdict(Item("y", tags=["t"])))
print(Pair(Item("l")), typing.get_type_hints(Item)["kind"] is Kind, Item("a") < Item("b"))
