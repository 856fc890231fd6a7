# Dies with a core dump, which a helper of the host might handle: the host's core_pattern may name a program.
from esc import *

need_x86_64()
import resource
import struct

CORE = resource.RLIMIT_CORE
before = resource.getrlimit(CORE)


def unchanged(what, how):
    try:
        how()
    except (OSError, ValueError) as e:
        contained(what, reason(e))
    now = resource.getrlimit(CORE)
    contained(what, "still %d" % now[0]) if now == before else escaped(what, now)


values = struct.pack("QQ", 0, 0)
old = ctypes.create_string_buffer(16)
unchanged("RLIMIT_CORE raised", lambda: resource.setrlimit(CORE, (resource.RLIM_INFINITY,) * 2))
unchanged("RLIMIT_CORE lowered", lambda: resource.setrlimit(CORE, (0, 0)))
unchanged("RLIMIT_CORE lowered, softly", lambda: resource.setrlimit(CORE, (0, before[1])))
unchanged("prlimit", lambda: resource.prlimit(0, CORE, (0, 0)))
unchanged("prlimit64", lambda: raw("prlimit64", 0, CORE, values, 0))
unchanged("prlimit64 with the old value", lambda: raw("prlimit64", 0, CORE, values, old))
unchanged("prlimit64 with high bits", lambda: raw("prlimit64", 0, 0x7700000000 | CORE, values, 0))
unchanged("setrlimit", lambda: raw("setrlimit", CORE, values))
unchanged("setrlimit with high bits", lambda: raw("setrlimit", 0x7700000000 | CORE, values))
code = in_child(os.abort)
dumped = [n for n in os.listdir(".") if "core" in n]
contained("core dump", "ended by %d, no file" % code) if not dumped else escaped("core dump", dumped)
