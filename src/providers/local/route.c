/* A scanner for the imports of a Python source: just enough of the lexical rules (comments, strings with prefixes,
 * line joining) to find the `import` and `from` keywords, which Python allows nowhere else. */
#include "route.h"

#include "local/local.h"

#include "base/banned.h"

struct scan {
  const char *p, *end;
};

/* Top-level packages that the data zygote has imported, directly or through another. */
static const char *const data_modules[] = {
  "numpy", "pandas", "matplotlib", "openpyxl", "mpl_toolkits", "pylab",      "dateutil",
  "PIL",   "pytz",   "contourpy",  "cycler",   "fontTools",    "kiwisolver", "et_xmlfile",
};

static bool is_data_module(struct mf_str dotted)
{
  const char *dot = dotted.len > 0 ? memchr(dotted.ptr, '.', dotted.len) : NULL;
  if (dot)
    dotted.len = (size_t)(dot - dotted.ptr);
  for (size_t i = 0; i < MF_ARRAY_N(data_modules); i++)
    if (mf_str_is(dotted, data_modules[i]))
      return true;
  return false;
}

static bool is_name_start(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name_char(char c)
{
  return is_name_start(c) || (c >= '0' && c <= '9');
}

/* Blanks and joined lines; not a plain line end, which ends a statement. */
static void skip_blank(struct scan *s)
{
  while (s->p < s->end) {
    if (*s->p == ' ' || *s->p == '\t' || *s->p == '\f') {
      s->p++;
    } else if (*s->p == '\\' && s->end - s->p >= 2 && s->p[1] == '\n') {
      s->p += 2;
    } else if (*s->p == '\\' && s->end - s->p >= 3 && s->p[1] == '\r' && s->p[2] == '\n') {
      s->p += 3;
    } else {
      return;
    }
  }
}

static struct mf_str take_name(struct scan *s)
{
  const char *start = s->p;
  while (s->p < s->end && is_name_char(*s->p))
    s->p++;
  return (struct mf_str){ start, (size_t)(s->p - start) };
}

/* The first part of a dotted name, the rest skipped; empty when there is none (a relative import starts with '.'). */
static struct mf_str take_dotted(struct scan *s)
{
  skip_blank(s);
  struct mf_str first = { s->p, 0 };
  if (s->p < s->end && is_name_start(*s->p))
    first = take_name(s);
  for (;;) {
    skip_blank(s);
    if (s->p >= s->end || *s->p != '.')
      return first;
    s->p++;
    skip_blank(s);
    (void)take_name(s);
  }
}

/* `s` stands on the opening quote. Returns what is between the quotes. A string that is not closed ends with its line
 * (or the text, for three quotes): the program is wrong anyway. Raw strings need no case of their own, since there
 * too a backslash keeps the next quote from closing. */
static struct mf_str take_string(struct scan *s)
{
  char quote = *s->p;
  bool triple = s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote;
  s->p += triple ? 3 : 1;
  const char *start = s->p;
  while (s->p < s->end) {
    if (*s->p == '\\' && s->end - s->p >= 2) {
      s->p += 2;
    } else if (triple && *s->p == quote && s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote) {
      struct mf_str body = { start, (size_t)(s->p - start) };
      s->p += 3;
      return body;
    } else if (!triple && (*s->p == quote || *s->p == '\n')) {
      struct mf_str body = { start, (size_t)(s->p - start) };
      s->p++;
      return body;
    } else {
      s->p++;
    }
  }
  return (struct mf_str){ start, (size_t)(s->end - start) };
}

/* After the word `import`: a, b.c as d, … */
static bool imports_data(struct scan *s)
{
  for (;;) {
    if (is_data_module(take_dotted(s)))
      return true;
    struct scan ahead = *s;
    if (ahead.p < ahead.end && is_name_start(*ahead.p) && mf_str_is(take_name(&ahead), "as")) {
      skip_blank(&ahead);
      (void)take_name(&ahead);
      skip_blank(&ahead);
      *s = ahead;
    }
    if (s->p >= s->end || *s->p != ',')
      return false;
    s->p++;
  }
}

/* After the word `from`: a.b import …; `raise x from y` and `yield from x` lack the second word. The second word is
 * taken, so that the names after it are not looked at as modules. */
static bool from_imports_data(struct scan *s)
{
  struct mf_str module = take_dotted(s);
  struct scan ahead = *s;
  if (ahead.p >= ahead.end || !is_name_start(*ahead.p) || !mf_str_is(take_name(&ahead), "import"))
    return false;
  *s = ahead;
  return is_data_module(module);
}

/* After __import__ or import_module: ( "a.b" … */
static bool call_imports_data(struct scan *s)
{
  skip_blank(s);
  if (s->p >= s->end || *s->p != '(')
    return false;
  s->p++;
  while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
    s->p++;
  if (s->p >= s->end || (*s->p != '"' && *s->p != '\''))
    return false;
  return is_data_module(take_string(s));
}

bool mf_route_is_data(struct mf_str source)
{
  if (source.len == 0)
    return false;
  struct scan s = { source.ptr, source.ptr + source.len };
  bool after_dot = false; /* `x.from` cannot be, but `importlib.import_module` is */
  while (s.p < s.end) {
    char c = *s.p;
    if (c == '#') {
      while (s.p < s.end && *s.p != '\n')
        s.p++;
    } else if (c == '"' || c == '\'') {
      (void)take_string(&s);
    } else if (is_name_start(c)) {
      struct mf_str name = take_name(&s);
      if (mf_str_is(name, "import") && !after_dot && imports_data(&s))
        return true;
      if (mf_str_is(name, "from") && !after_dot && from_imports_data(&s))
        return true;
      if ((mf_str_is(name, "__import__") || mf_str_is(name, "import_module")) && call_imports_data(&s))
        return true;
      after_dot = false;
      continue;
    } else {
      after_dot = c == '.';
      s.p++;
    }
  }
  return false;
}

static bool ends_with_py(struct mf_str name)
{
  return name.len > 3 && memcmp(name.ptr + name.len - 3, ".py", 3) == 0;
}

enum mf_route mf_route_of(const struct mf_sandbox_spec *spec)
{
  switch (spec->runtime) {
  case MF_RUNTIME_STDLIB:
    return MF_ROUTE_STDLIB;
  case MF_RUNTIME_DATA:
    return MF_ROUTE_DATA;
  case MF_RUNTIME_AUTO:
    break;
  }
  if (mf_route_is_data(spec->source))
    return MF_ROUTE_DATA;
  /* A module of the task may be what needs pandas; beyond a source's size it is not code that someone wrote. */
  for (unsigned i = 0; i < spec->file_n; i++)
    if (ends_with_py(spec->files[i].name) && spec->files[i].data.len <= MF_SOURCE_BYTES_MAX &&
        mf_route_is_data(spec->files[i].data))
      return MF_ROUTE_DATA;
  return MF_ROUTE_STDLIB;
}

enum mf_runtime_hint mf_local_route(const struct mf_sandbox_spec *spec)
{
  return mf_route_of(spec) == MF_ROUTE_DATA ? MF_RUNTIME_DATA : MF_RUNTIME_STDLIB;
}
