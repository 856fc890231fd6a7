"""About."""
from __future__ import annotations

import __future__

__doc__, bool((lambda: 0).__code__.co_flags & __future__.annotations.compiler_flag)
