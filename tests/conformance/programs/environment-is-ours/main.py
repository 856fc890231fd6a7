import os

allowed = {"HOME", "LANG", "LC_ALL", "PATH", "TZ", "TMPDIR", "USER", "LOGNAME", "TERM", "SHELL", "LC_CTYPE", "SSL_CERT_FILE",
           "PYTHONPATH", "PYTHONHOME"}
prefixes = ("PYTHON", "MPL", "OPENBLAS_", "OMP_", "MKL_", "NUMEXPR_", "VECLIB_", "FONTCONFIG_", "MALLOC_", "XDG_", "MAYFLY_")
print([k for k in os.environ if k not in allowed and not k.startswith(prefixes)])
print(os.environ["LANG"], os.environ["MPLBACKEND"].lower(), os.environ["OPENBLAS_NUM_THREADS"])
print(sorted(k for k in os.environ if "KEY" in k or "TOKEN" in k or "SECRET" in k))
