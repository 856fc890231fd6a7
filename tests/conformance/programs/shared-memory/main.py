import subprocess
import sys
from multiprocessing import shared_memory

shm = shared_memory.SharedMemory(create=True, size=4096)
shm.buf[:5] = b"hello"
code = ("from multiprocessing import shared_memory as s, resource_tracker as r; import sys; "
        "m = s.SharedMemory(sys.argv[1]); print(bytes(m.buf[:5])); m.buf[0] = 72; m.close(); "
        "r.unregister(m._name, 'shared_memory')")
print(subprocess.run([sys.executable, "-c", code, shm.name], capture_output=True, text=True).stdout, end="")
print(bytes(shm.buf[:5]))
shm.close()
shm.unlink()
