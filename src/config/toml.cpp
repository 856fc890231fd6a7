// toml++ behind one C function: the only C++ of the program. No exceptions, no run-time types, no library to link.
// Debian's package would have us link its shared library.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <cstdio>
#include <string>
#include <vector>

#include "toml.h"

namespace
{
bool is_bare(std::string_view key)
{
  for (char c : key)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
      return false;
  return !key.empty();
}

std::string joined(const std::string &path, std::string_view key)
{
  std::string all = path.empty() ? "" : path + ".";
  all += is_bare(key) ? std::string(key) : "\"" + std::string(key) + "\"";
  return all;
}

void fill_array(const toml::array &array, std::vector<const char *> &items, mf_toml_node &node)
{
  node.kind = MF_TOML_ARRAY;
  node.kind_name = "an array";
  for (const auto &element : array) {
    const auto *text = element.as_string();
    if (!text || text->get().find('\0') != std::string::npos)
      return;
    items.push_back(text->get().c_str());
  }
  items.push_back(nullptr); // so that data() is never null
  node.items = items.data();
  node.item_n = items.size() - 1;
}

void fill(const toml::node &value, std::vector<const char *> &items, mf_toml_node &node)
{
  node.kind = MF_TOML_OTHER;
  node.kind_name = "a date or a time";
  if (const auto *boolean = value.as_boolean()) {
    node.kind = MF_TOML_BOOL;
    node.kind_name = "a boolean";
    node.boolean = boolean->get();
  } else if (const auto *integer = value.as_integer()) {
    node.kind = MF_TOML_INTEGER;
    node.kind_name = "a number";
    node.integer = integer->get();
  } else if (value.is_floating_point()) {
    node.kind_name = "a fraction";
  } else if (const auto *text = value.as_string()) {
    node.kind = MF_TOML_STRING;
    node.kind_name = "a string";
    node.text = text->get().find('\0') == std::string::npos ? text->get().c_str() : nullptr;
  } else if (const auto *array = value.as_array()) {
    fill_array(*array, items, node);
  } else if (value.is_table()) {
    node.kind = MF_TOML_TABLE;
    node.kind_name = "a table";
  }
}

void walk(const toml::table &table, const std::string &path, mf_toml_visit *visit, void *user)
{
  for (const auto &[key, value] : table) {
    std::string here = joined(path, key.str());
    std::vector<const char *> items;
    mf_toml_node node = {};
    node.path = here.c_str();
    // A table made by a dotted header has no place of its own; its key has.
    node.line = key.source().begin.line;
    fill(value, items, node);
    if (visit(user, &node) && value.is_table())
      walk(*value.as_table(), here, visit, user);
  }
}
} // namespace

extern "C" bool mf_toml_read(const char *text, size_t n, mf_toml_visit *visit, void *user, unsigned *line, char *why,
                             size_t why_n)
{
  toml::parse_result result = toml::parse(std::string_view(text, n));
  if (!result) {
    const auto &error = result.error();
    *line = error.source().begin.line;
    std::snprintf(why, why_n, "%.*s", static_cast<int>(error.description().size()), error.description().data());
    return false;
  }
  walk(result.table(), "", visit, user);
  return true;
}
