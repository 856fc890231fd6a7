# A module of the program that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}, "artifactsOther": true}
open("endless.py", "w").write("while True: pass\n")
import endless
