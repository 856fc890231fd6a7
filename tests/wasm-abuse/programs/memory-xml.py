# Entities within entities.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
import xml.etree.ElementTree as tree

text = '<!DOCTYPE x [<!ENTITY a0 "%s">' % ("z" * 1000)
for i in range(1, 12):
    text += '<!ENTITY a%d "%s">' % (i, ("&a%d;" % (i - 1)) * 10)
text += "]><x>&a11;</x>"
try:
    tree.fromstring(text)
except tree.ParseError as e:
    assert "limit" in str(e) and "amplification" in str(e), e
bytes(1 << 30)
