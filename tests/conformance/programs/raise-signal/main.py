import signal

signal.raise_signal(signal.SIGUSR1)
