# A file of a petabyte that is not there.
# expect: {"status": ["succeeded", "failed"], "reason": ["exit", "exception", "disk", "signal"], "artifacts": {}, "artifactsOther": true, "rejected": {}, "stderr": {}}
with open("big", "wb") as f:
    f.truncate(1 << 50)
print("made")
