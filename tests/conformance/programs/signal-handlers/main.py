import os
import signal
import time

got = []
signal.signal(signal.SIGUSR1, lambda s, f: got.append(signal.Signals(s).name))
os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGALRM, lambda s, f: got.append("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.02)
while "alarm" not in got:
    time.sleep(0.01)
print(got, signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
