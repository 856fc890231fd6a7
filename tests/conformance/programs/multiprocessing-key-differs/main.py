import multiprocessing

print(multiprocessing.current_process().authkey.hex())
