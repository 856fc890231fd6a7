e = OSError("one")
e.add_note("a note")
raise ExceptionGroup("many", [e, ValueError("two")])
