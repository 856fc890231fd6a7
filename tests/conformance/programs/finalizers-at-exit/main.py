import weakref


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, print, "finalised")
print("main")
