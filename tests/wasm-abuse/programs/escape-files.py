# Paths of the machine around it.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"fuel": 100000000000, "wallMs": 120000}, "stdout": {"contains": ["end\n"], "notContains": ["ESCAPED"]}, "stderr": "", "artifactsOther": true, "rejected": {}}
import os
import pathlib

HOST = ["/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/os-release", "/proc/self/mem", "/proc/self/maps", "/proc/self/environ",
        "/proc/1/environ", "/proc/self/exe", "/proc/self/root", "/proc/self/cwd", "/proc/self/fd/4", "/dev/fd/4", "/proc/meminfo",
        "/sys/kernel", "/dev/mem", "/dev/kmem", "/dev/sda", "/dev/tty", "/dev/ptmx", "/dev/shm", "/root", "/home", "/usr/bin/python3",
        "/bin/sh", "/lib", "/run", "/var/log", "/boot", "/mnt/task/main.pyc"]
UPS = ["..", "../..", "../" * 50, "/mnt/data/" + "../" * 100, "/mnt/data/./../data/../../", "//", "///etc", "/./", "\\..\\..",
       "C:\\Windows", "file:///", "~", "~root", "%2e%2e/", "/mnt/data/\u2024\u2024/", "/proc/self/../self/"]


def try_open(path):
    try:
        with open(path, "rb") as f:
            return f.read(100)
    except (OSError, ValueError):
        return None


for path in HOST:
    got = try_open(path)
    if got:
        print("ESCAPED", path, got)
for up in UPS:
    for tail in ("etc/passwd", "proc/self/environ", "sys/kernel/hostname"):
        got = try_open(up + tail)
        if got:
            print("ESCAPED", up, tail, got)
for path in ["/"] + UPS:
    try:
        names = set(os.listdir(path))
    except OSError:
        continue
    if names & {"bin", "boot", "root", "lib", "sbin", "proc", "sys", "run", "srv", "opt", "work"}:
        print("ESCAPED", path, sorted(names))
seen = 0
for folder, folders, files in os.walk("/", followlinks=False):
    seen += len(folders) + len(files)
    for name in files:
        if name in ("passwd", "shadow", "environ", "mem"):
            print("ESCAPED", folder, name)
print(seen < 5000, pathlib.Path("/etc").exists() and sorted(os.listdir("/etc")))
print("end")
