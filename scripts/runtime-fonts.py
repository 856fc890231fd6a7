"""Writes matplotlib's settings and font cache for the image: matplotlib's own fonts and the image's, with the paths that
a guest sees. Run by build-runtime.py with the image's Python; arguments: site-packages, root, the matplotlibrc to start
from, the target folder, the fonts inside the image (the first is the best)."""

import dataclasses
import json
import sys
from pathlib import Path

site, root, matplotlibrc, target = sys.argv[1:5]
fonts = sys.argv[5:]
sys.path.insert(0, site)

from matplotlib import font_manager  # noqa: E402

# Programs name the fonts of their author's computer. These names lead to a font that has the glyphs, so that a chart
# with Chinese text has no boxes because it asked for SimHei.
CJK_NAMES = [
    "SimHei", "SimSun", "NSimSun", "KaiTi", "FangSong", "Microsoft YaHei", "Microsoft JhengHei", "DengXian",
    "PingFang SC", "PingFang TC", "PingFang HK", "Heiti SC", "Heiti TC", "STHeiti", "STSong", "STKaiti", "Songti SC",
    "Hiragino Sans GB", "Hiragino Sans", "Arial Unicode MS", "Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK JP",
    "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans TC", "Noto Sans JP", "Noto Sans KR", "Source Han Sans SC",
    "Source Han Sans CN", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "MS Gothic", "Yu Gothic",
    "Meiryo", "IPAexGothic", "Malgun Gothic", "NanumGothic", "AppleGothic",
]
# What matplotlib's seaborn styles ask for first. Their bold and slanted faces stay DejaVu's.
LATIN_NAMES = ["Arial", "Helvetica"]

find_own = font_manager.findSystemFonts


def find_fonts(fontpaths=None, fontext="ttf"):
    if fontpaths is None:  # the builder's fonts are none of the image's
        return [root + f for f in fonts] if fontext == "ttf" else []
    return find_own(fontpaths, fontext)


def by_file(name):
    return next(e for e in manager.ttflist if Path(e.fname).name == name)


def add_alias(name, entry):
    manager.ttflist.append(dataclasses.replace(entry, name=name))


font_manager.findSystemFonts = find_fonts
manager = font_manager.FontManager()
manager.ttflist.sort(key=lambda e: (e.fname, e.name))
manager.afmlist.sort(key=lambda e: (e.fname, e.name))

best = by_file(Path(fonts[0]).name)
families = list(dict.fromkeys(by_file(Path(f).name).name for f in fonts))
for family in CJK_NAMES:
    if family not in families:
        add_alias(family, best)
for family in LATIN_NAMES:
    add_alias(family, best)
    for face in ("DejaVuSans-Bold.ttf", "DejaVuSans-Oblique.ttf", "DejaVuSans-BoldOblique.ttf"):
        add_alias(family, by_file(face))

cache = Path(target) / ("fontlist-v%s.json" % font_manager.FontManager.__version__)
font_manager.json_dump(manager, cache)
data = json.loads(cache.read_text(encoding="utf-8"))
for entry in data["ttflist"]:
    if entry["fname"].startswith(root + "/"):
        entry["fname"] = entry["fname"][len(root):]
text = json.dumps(data, indent=1)
if root in text or not all(f in text for f in fonts):
    sys.exit("the font cache does not have the image's fonts at the image's paths")
cache.write_text(text + "\n", encoding="utf-8")

settings = Path(matplotlibrc).read_text(encoding="utf-8")
Path(target, "matplotlibrc").write_text(settings.replace("@CJK@", ", ".join(families)), encoding="utf-8")
