"""Writes matplotlib's font cache for the image: the fonts of matplotlib itself and the CJK font, with the paths that a
guest sees. Run by build-runtime.py with the image's Python; arguments: site-packages, root, font inside, target folder."""

import json
import sys
from pathlib import Path

site, root, inside, target = sys.argv[1:5]
sys.path.insert(0, site)

from matplotlib import font_manager  # noqa: E402

find_own = font_manager.findSystemFonts


def find_fonts(fontpaths=None, fontext="ttf"):
    if fontpaths is None:  # the builder's fonts are none of the image's
        return [root + inside] if fontext == "ttf" else []
    return find_own(fontpaths, fontext)


font_manager.findSystemFonts = find_fonts
manager = font_manager.FontManager()
manager.ttflist.sort(key=lambda e: e.fname)
manager.afmlist.sort(key=lambda e: e.fname)
cache = Path(target) / ("fontlist-v%s.json" % font_manager.FontManager.__version__)
font_manager.json_dump(manager, cache)

data = json.loads(cache.read_text(encoding="utf-8"))
found = False
for entry in data["ttflist"]:
    if entry["fname"].startswith(root + "/"):
        entry["fname"] = entry["fname"][len(root):]
        found = found or entry["fname"] == inside
assert found, "the CJK font is not in the cache"
text = json.dumps(data, indent=1, ensure_ascii=True)
assert root not in text, "the cache names the builder's folders"
cache.write_text(text + "\n", encoding="utf-8")
