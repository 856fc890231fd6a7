"""What the attempts share; given to each as an input file. Every attempt prints one line for each way it tries:
"contained <what>: <errno or reason>" when it failed, "ESCAPED <what>" when it worked."""
import ctypes
import errno
import hashlib
import json
import os
import platform
import re
import sys

PLANTED = json.load(open("planted.json"))
OTHERS = {1, os.getppid()} - {0}  # processes of its own namespace that are not its own
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

# x86_64 numbers: the attempts with raw system calls are for this machine only.
NR = dict(read=0, write=1, open=2, mmap=9, mprotect=10, ioctl=16, mremap=25, madvise=28, getpid=39, socket=41,
          socketpair=53, clone=56, execve=59, kill=62,
          shmget=29, shmat=30, shmctl=31, semget=64, msgget=68, ptrace=101, syslog=103, setuid=105, setgid=106,
          setgroups=116, setresuid=117, setfsuid=122, capset=126, rt_sigqueueinfo=129, mknod=133, uselib=134,
          personality=135, ustat=136, sysfs=139, setpriority=141, sched_setparam=142, sched_setscheduler=144, mlock=149,
          mlockall=151, vhangup=153, modify_ldt=154, pivot_root=155, _sysctl=156, prctl=157, adjtimex=159,
          setrlimit=160, chroot=161, acct=163, settimeofday=164, mount=165, umount2=166, swapon=167, swapoff=168,
          reboot=169, sethostname=170, setdomainname=171, iopl=172, ioperm=173, create_module=174, init_module=175,
          delete_module=176, quotactl=179, nfsservctl=180, tkill=200, io_setup=206, lookup_dcookie=212,
          remap_file_pages=216, clock_settime=227, tgkill=234, mbind=237, set_mempolicy=238, mq_open=240,
          mq_unlink=241, kexec_load=246, add_key=248, request_key=249, keyctl=250, ioprio_set=251,
          inotify_init=253, migrate_pages=256, unshare=272, vmsplice=278, move_pages=279, signalfd=282,
          inotify_init1=294, perf_event_open=298, fanotify_init=300, prlimit64=302, name_to_handle_at=303,
          open_by_handle_at=304, clock_adjtime=305, setns=308, process_vm_readv=310, process_vm_writev=311, kcmp=312,
          finit_module=313, sched_setattr=314, seccomp=317, memfd_create=319, kexec_file_load=320, bpf=321,
          execveat=322, userfaultfd=323, pkey_alloc=330, pidfd_send_signal=424, io_uring_setup=425,
          io_uring_enter=426, io_uring_register=427, open_tree=428, move_mount=429, fsopen=430, fsconfig=431,
          fsmount=432, fspick=433, pidfd_open=434, clone3=435, pidfd_getfd=438, process_madvise=440,
          mount_setattr=442, quotactl_fd=443, landlock_create_ruleset=444, memfd_secret=447, process_mrelease=448,
          set_mempolicy_home_node=450, statmount=457, listmount=458, lsm_get_self_attr=459, lsm_set_self_attr=460)


def contained(what, why):
    print("contained %s: %s" % (what, why), flush=True)


def escaped(what, detail=""):
    print("ESCAPED %s %s" % (what, detail), flush=True)


def reason(e):
    """The errno's name, or the exception's."""
    number = getattr(e, "errno", None)
    return errno.errorcode.get(number, type(e).__name__) if number else type(e).__name__


def attempt(what, function, *arguments, **named):
    """An exception means contained; anything else is an escape."""
    try:
        got = function(*arguments, **named)
    except Exception as e:
        contained(what, reason(e))
        return False
    escaped(what, repr(got)[:200])
    return True


def raw(name, *arguments):
    """(result, errno) of a system call."""
    ctypes.set_errno(0)
    arguments = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) if isinstance(a, int) else a
                 for a in arguments]
    got = libc.syscall(ctypes.c_long(NR[name] if isinstance(name, str) else name), *arguments)
    return got, ctypes.get_errno()


def call(name, *arguments, what=None):
    """A system call that must fail, whatever its arguments."""
    what = what or name
    got, number = raw(name, *arguments)
    if got == -1:
        contained(what, errno.errorcode.get(number, number))
        return False
    escaped(what, got)
    return True


def need_x86_64():
    if platform.machine() != "x86_64":
        contained("raw system calls", "not tried: this machine is %s" % platform.machine())
        sys.exit(0)


SECRET = re.compile(rb"mf-secret-[0-9a-f]{32}")


def is_planted(data):
    """True when the bytes hold the secret that only the outside knows: a pattern and a digest, so that the search
    itself never puts the secret into memory."""
    return any(hashlib.sha256(found).hexdigest() == PLANTED["secretSha256"] for found in SECRET.findall(data))


def search_memory(pid="self"):
    """Looks for the secret in a process's memory; returns the number of bytes that were read."""
    total, hits = 0, 0
    with open("/proc/%s/maps" % pid) as f:
        maps = [line.split() for line in f]
    with open("/proc/%s/mem" % pid, "rb", buffering=0) as mem:
        for fields in maps:
            if "r" not in fields[1] or (len(fields) > 5 and fields[5] in ("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            begin, end = (int(x, 16) for x in fields[0].split("-"))
            at = begin
            while at < end:
                try:
                    mem.seek(at)
                    data = mem.read(min(1 << 22, end - at))
                except (OSError, ValueError, OverflowError):
                    break
                if not data:
                    break
                total += len(data)
                hits += is_planted(data)
                del data
                at += 1 << 22
    return total, hits


def in_child(function):
    """Runs function in a forked process; returns (exit code or -signal)."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = function() or 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
