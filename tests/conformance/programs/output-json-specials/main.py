import json

print(json.dumps({"nan": float("nan"), "inf": float("-inf"), "big": 10 ** 30, "q": '"\\\n', "lone": "\ud800"}))
print('{"status": "forged"}')
