import sys


class Endless:
    def find_spec(self, name, path=None, target=None):
        while True:
            pass


sys.meta_path.insert(0, Endless())
print("up", flush=True)
import nothing_of_the_kind
