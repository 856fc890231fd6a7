/* The table of event types: those of agentic-api (Rust), and a few more that OpenAI's published types have. */
#include "events.h"

#include "base/compiler.h"
#include "base/banned.h"

#define TERMINAL(event, to, status_text)                                                                               \
  {                                                                                                                    \
    .name = event, .class = EVENT_TERMINAL, .state = to, .status = status_text                                         \
  }
#define PROGRESS(event)                                                                                                \
  {                                                                                                                    \
    .name = event, .class = EVENT_PROGRESS                                                                             \
  }
/* A text that has a delta and a done event. */
#define TEXT(event, type, where, part, name_of_text, key)                                                              \
  { event ".delta", EVENT_DELTA, where, type, part, name_of_text, key },                                               \
  {                                                                                                                    \
    event ".done", EVENT_TEXT_DONE, where, type, part, name_of_text, key                                               \
  }

static const struct event_row rows[] = {
  { .name = "response.created", .class = EVENT_LIFECYCLE, .status = "in_progress" },
  { .name = "response.queued", .class = EVENT_LIFECYCLE, .status = "queued" },
  { .name = "response.in_progress", .class = EVENT_LIFECYCLE, .status = "in_progress" },
  TERMINAL("response.completed", MF_UPSTREAM_COMPLETED, "completed"),
  TERMINAL("response.incomplete", MF_UPSTREAM_INCOMPLETE, "incomplete"),
  TERMINAL("response.failed", MF_UPSTREAM_FAILED, "failed"),
  TERMINAL("response.cancelled", MF_UPSTREAM_FAILED, "cancelled"),
  /* Some servers end so, whatever became of the response: its status says it. */
  TERMINAL("response.done", MF_UPSTREAM_COMPLETED, NULL),
  { .name = "error", .class = EVENT_ERROR },
  { .name = "keepalive", .class = EVENT_KEEPALIVE },

  { .name = "response.output_item.added", .class = EVENT_ITEM_ADDED },
  { .name = "response.output_item.done", .class = EVENT_ITEM_DONE },
  { "response.content_part.added", EVENT_PART_ADDED, PART_CONTENT, NULL, NULL, NULL, "content_index" },
  { "response.content_part.done", EVENT_PART_DONE, PART_CONTENT, NULL, NULL, NULL, "content_index" },
  { "response.reasoning_part.added", EVENT_PART_ADDED, PART_CONTENT, "reasoning", NULL, NULL, "content_index" },
  { "response.reasoning_part.done", EVENT_PART_DONE, PART_CONTENT, "reasoning", NULL, NULL, "content_index" },
  { "response.reasoning_summary_part.added", EVENT_PART_ADDED, PART_SUMMARY, "reasoning", NULL, NULL, "summary_index" },
  { "response.reasoning_summary_part.done", EVENT_PART_DONE, PART_SUMMARY, "reasoning", NULL, NULL, "summary_index" },

  TEXT("response.output_text", "message", PART_CONTENT, "output_text", "text", "content_index"),
  TEXT("response.refusal", "message", PART_CONTENT, "refusal", "refusal", "content_index"),
  TEXT("response.reasoning_text", "reasoning", PART_CONTENT, "reasoning_text", "text", "content_index"),
  TEXT("response.reasoning_summary_text", "reasoning", PART_SUMMARY, "summary_text", "text", "summary_index"),
  TEXT("response.function_call_arguments", "function_call", PART_FIELD, NULL, "arguments", NULL),
  TEXT("response.custom_tool_call_input", "custom_tool_call", PART_FIELD, NULL, "input", NULL),
  /* vLLM's items of this kind are mcp_tool_call, OpenAI's mcp_call. */
  TEXT("response.mcp_call_arguments", "mcp_", PART_FIELD, NULL, "arguments", NULL),
  TEXT("response.code_interpreter_call_code", "code_interpreter_call", PART_FIELD, NULL, "code", NULL),
  { "response.shell_call_command.added", EVENT_TEXT_ADDED, PART_COMMAND, "shell_call", NULL, "command",
    "command_index" },
  TEXT("response.shell_call_command", "shell_call", PART_COMMAND, NULL, "command", "command_index"),

  PROGRESS("response.output_text.annotation.added"),
  PROGRESS("response.file_search_call.in_progress"),
  PROGRESS("response.file_search_call.searching"),
  PROGRESS("response.file_search_call.completed"),
  PROGRESS("response.web_search_call.in_progress"),
  PROGRESS("response.web_search_call.searching"),
  PROGRESS("response.web_search_call.completed"),
  PROGRESS("response.code_interpreter_call.in_progress"),
  PROGRESS("response.code_interpreter_call.interpreting"),
  PROGRESS("response.code_interpreter_call.completed"),
  PROGRESS("response.image_generation_call.in_progress"),
  PROGRESS("response.image_generation_call.generating"),
  PROGRESS("response.image_generation_call.partial_image"),
  PROGRESS("response.image_generation_call.completed"),
  PROGRESS("response.mcp_call.in_progress"),
  PROGRESS("response.mcp_call.completed"),
  PROGRESS("response.mcp_call.failed"),
  PROGRESS("response.mcp_list_tools.in_progress"),
  PROGRESS("response.mcp_list_tools.completed"),
  PROGRESS("response.mcp_list_tools.failed"),
};
static const struct event_row unknown_row = { .name = "", .class = EVENT_UNKNOWN };

const struct event_row *event_find(struct mf_str type)
{
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (mf_str_is(type, rows[i].name))
      return &rows[i];
  return &unknown_row;
}

bool event_fits_item(const struct event_row *row, struct mf_str item_type)
{
  if (!row->item_type)
    return true;
  size_t n = strlen(row->item_type);
  return row->item_type[n - 1] == '_' ? mf_str_starts(item_type, row->item_type) : mf_str_is(item_type, row->item_type);
}
