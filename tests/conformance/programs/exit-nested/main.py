import sys

try:
    try:
        sys.exit(4)
    finally:
        print("finally")
        sys.exit(5)
except SystemExit as e:
    print("caught", e.code)
    raise SystemExit(6) from e
