/* Which zygote a program goes to. */
#include "unit.h"

#include "route.h"
#include "base/banned.h"

static const char *const data_sources[] = {
  "import numpy",
  "import numpy as np\nprint(np.zeros(3))\n",
  "import os, sys, pandas as pd",
  "import os as o, numpy.linalg as la",
  "import\tmatplotlib.pyplot as plt",
  "from pandas import DataFrame",
  "from matplotlib . pyplot import plot",
  "from mpl_toolkits.mplot3d import Axes3D",
  "from PIL import Image",
  "from openpyxl.styles import (\n  Font,\n  Border)\n",
  "if True: import pylab",
  "try:\n    import dateutil\nexcept ImportError: pass\n",
  "x = 1; import numpy",
  "import os\\\n, \\\nnumpy\n",
  "import \\\r\n numpy\r\n",
  "def f():\n\treturn __import__('numpy').pi\n",
  "__import__( \"pandas\" )",
  "import importlib\nm = importlib.import_module('matplotlib.pyplot')\n",
  "from importlib import import_module\nimport_module(\n  'numpy')\n",
  "s = 'it\\'s'\nimport numpy\n",
  "s = r'\\'\nimport numpy'\nimport numpy\n",
  "\"\"\"doc 'string' \"\"\"\nimport numpy\n",
  "f'{x!r}'; import numpy",
  "s = 'never closed\nimport numpy\n",
  "x = '''a\nb'''; y = '' ; import numpy",
  "from . import helper\nimport numpy\n",
  "# 你好\nprint('最高气温')\nimport pandas\n",
  "\xef\xbb\xbfimport os\nimport numpy\n",
  "async def f():\n  yield x\nfrom numpy import *\n",
};

static const char *const stdlib_sources[] = {
  "",
  "\n",
  "print(1)",
  "import os, sys, json",
  "import numpyx",
  "import xnumpy",
  "import my.numpy",
  "from my import numpy",
  "from my import (\n  numpy, pandas)\n",
  "from . import numpy",
  "from .numpy import zeros",
  "from ..pandas import x",
  "# import numpy",
  "x = 1  # import numpy\n",
  "print('import numpy')",
  "\"\"\"\nimport numpy\nfrom pandas import x\n\"\"\"",
  "'''\nimport numpy\n",
  "s = \"\\\"; import numpy\"",
  "raise ValueError from numpy",
  "def f():\n  yield from pandas\n",
  "numpy = 1; pandas = numpy",
  "importnumpy",
  "reimport = 1",
  "import",
  "import ,",
  "import as",
  "from",
  "from numpy",
  "from import numpyx",
  "__import__",
  "__import__(",
  "__import__(name)",
  "__import__('os')",
  "import_module('json.tool')",
  "obj.import_ = 1",
  "'",
  "\"\"\"",
  "\\",
  "import \\",
  "\xff\xfe\xfd",
};

static void knows_data_programs(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(data_sources); i++)
    if (!mf_route_is_data(mf_str_of(data_sources[i])))
      fail_msg("not seen as data: %s", data_sources[i]);
}

static void knows_stdlib_programs(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(stdlib_sources); i++)
    if (mf_route_is_data(mf_str_of(stdlib_sources[i])))
      fail_msg("seen as data: %s", stdlib_sources[i]);
}

/* Each prefix of a source is a source: the scanner stops at its end (the sanitizers watch). */
static void reads_no_byte_past_the_end(void **state)
{
  for (size_t i = 0; i < MF_ARRAY_N(data_sources); i++) {
    size_t n = strlen(data_sources[i]);
    for (size_t cut = 0; cut <= n; cut++) {
      char *copy = mf_xmalloc(cut + 1); /* cut + 1 only since an empty block may be NULL */
      memcpy(copy, data_sources[i], cut);
      (void)mf_route_is_data((struct mf_str){ copy, cut });
      free(copy);
    }
  }
}

static void the_wish_comes_first(void **state)
{
  struct mf_sandbox_spec spec = { .source = MF_STR("import numpy"), .runtime = MF_RUNTIME_STDLIB };
  assert_int_equal(mf_route_of(&spec), MF_ROUTE_STDLIB);
  spec.runtime = MF_RUNTIME_AUTO;
  assert_int_equal(mf_route_of(&spec), MF_ROUTE_DATA);
  spec.source = MF_STR("print(1)");
  assert_int_equal(mf_route_of(&spec), MF_ROUTE_STDLIB);
  spec.runtime = MF_RUNTIME_DATA;
  assert_int_equal(mf_route_of(&spec), MF_ROUTE_DATA);
}

static void modules_among_the_inputs_count(void **state)
{
  const struct mf_sandbox_file files[] = {
    { MF_STR("notes.txt"), MF_STR("import numpy") },
    { MF_STR("lib/helper.py"), MF_STR("import pandas as pd\n") },
  };
  struct mf_sandbox_spec spec = { .source = MF_STR("import helper"), .files = files, .file_n = 1 };
  assert_int_equal(mf_route_of(&spec), MF_ROUTE_STDLIB);
  spec.file_n = 2;
  assert_int_equal(mf_route_of(&spec), MF_ROUTE_DATA);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(knows_data_programs),
    cmocka_unit_test(knows_stdlib_programs),
    cmocka_unit_test(reads_no_byte_past_the_end),
    cmocka_unit_test(the_wish_comes_first),
    cmocka_unit_test(modules_among_the_inputs_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
