open("/usr/lib/new.txt", "w")
