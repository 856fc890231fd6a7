# Things within things, freed at once.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"fuel": 200000000000, "memoryBytes": 536870912}, "stdout": "freed\n", "stderr": ""}
class Node:
    __slots__ = ("next",)


for make in (lambda x: [x], lambda x: (x,), lambda x: {"x": x}):
    nested = None
    for _ in range(5 * 10 ** 5):
        nested = make(nested)
    del nested
head = None
for _ in range(5 * 10 ** 5):
    node = Node()
    node.next = head
    head = node
del node, head
print("freed")
