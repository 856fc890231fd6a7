import logging
import warnings

logging.warning("low on %s", "fuel")
warnings.warn("old", DeprecationWarning)
print("done")
