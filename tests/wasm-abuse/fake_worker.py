"""A worker that lies. forged.py gives this program's path, behind a name, to the provider as the one that becomes its
workers: descriptor 3 holds the configuration, 4 is the socket, 5 the guest's code, 6 and 7 control groups to join.

What it does with a call stands in the call's program ("# fake: name"); what it does at its start comes with the name. The
frames are those of src/providers/wasm/frames.h."""
import os
import re
import struct
import sys

import worker_acts
from worker_frames import Worker


def serve(w):
    w.join()
    w.hello()
    if w.take() is None:
        return
    w.ready()
    while True:
        frame = w.take()
        if frame is None:
            return
        data, fds = frame
        w.serial = struct.unpack_from("=IIQ", data)[2]
        job = os.pread(fds[0], 4096, 0)
        asked = re.search(rb"# fake: (\w+)", job)
        if asked:
            getattr(worker_acts, asked[1].decode())(w, fds[0])
        else:
            w.began()
            if b"print(1)" in job:
                w.output(b"1\n")
            w.done()
        for fd in fds:
            os.close(fd)


def main(start):
    os.closerange(8, 64)
    w = Worker()
    if start:
        getattr(worker_acts, start)(w)
    try:
        serve(w)
    except OSError:
        pass


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
