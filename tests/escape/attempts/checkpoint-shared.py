# Changes the pages that it shares with the zygote and with every other guest: they must become its own, or stay.
# times: 2
from esc import *

need_x86_64()
import mmap

PAGE = 4096
MADV_REMOVE, MADV_HWPOISON, MADV_SOFT_OFFLINE = 9, 100, 101
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
maps = []
with open("/proc/self/maps") as f:
    for line in f:
        fields = line.split()
        if len(fields) > 4 and fields[4] != "0" and fields[1].endswith("p"):
            maps.append(tuple(int(x, 16) for x in fields[0].split("-")) + (fields[1],))
shared = [line for line in open("/proc/self/maps") if line.split()[1].endswith("s")]
escaped("a shared mapping", shared) if shared else contained("shared mappings", "none")
tried = {}


def tally(what, error):
    tried.setdefault((what, error), []).append(1)


for start, end, mode in maps:
    name = "/proc/self/map_files/%x-%x" % (start, end)
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            fd = os.open(name, flags)
            escaped("opened " + name)
            os.close(fd)
        except OSError as e:
            tally("open map_files", reason(e))
    for advice in (MADV_REMOVE, MADV_HWPOISON, MADV_SOFT_OFFLINE):
        got, number = raw("madvise", start, PAGE, advice)
        escaped("madvise %d" % advice, hex(start)) if got == 0 else tally("madvise %d" % advice,
                                                                         errno.errorcode.get(number, number))
    got, number = raw("mremap", start, 0, PAGE, 1)  # an old size of 0 duplicates, but only what is shared
    escaped("mremap", hex(start)) if got != -1 else tally("mremap of nothing", errno.errorcode.get(number, number))
for (what, error), times in tried.items():
    contained("%s (%d mappings)" % (what, len(times)), error)

# Written pages are copies: the next guest must find none of it (times: 2).
marker = bytes(reversed(b"tseug a yb nettirw"))
marked = 0
for start, end, mode in maps:
    at = min(end, start + 64 * PAGE) - len(marker)  # mostly unused
    if "w" in mode:
        found = ctypes.string_at(at, len(marker))
        if found == marker:
            escaped("the mark of the guest before", hex(at))
        elif not any(found):
            ctypes.memmove(at, marker, len(marker))
            marked += 1
contained("marks", "%d, left in its own copies" % marked)


def force():
    for start, end, mode in maps:
        if "r" in mode and "w" not in mode and raw("mprotect", start, PAGE, 3)[0] == 0:
            ctypes.memmove(start, marker, len(marker))
    os._exit(0)


for start, end, mode in maps:
    if "r" in mode and "w" not in mode and ctypes.string_at(start, len(marker)) == marker:
        escaped("the mark of the guest before", hex(start))
contained("marks on what is not writable", "ended with %d" % in_child(force))
