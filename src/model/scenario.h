/* A scenario: scripts of rounds, checked when it is read. Thread: any; unchanged after mf_scenario_parse. */
#ifndef MF_MODEL_SCENARIO_H
#define MF_MODEL_SCENARIO_H

#include "json/json.h"

enum {
  MF_SCENARIO_ROUNDS_MAX = 1000, /* of one script */
  MF_SCENARIO_CALLS_MAX = 64,    /* of one round */
};

enum mf_model_fault {
  MF_FAULT_NONE,
  MF_FAULT_REFUSE,
  MF_FAULT_RESET_MID_EVENT,
  MF_FAULT_HANG,
  MF_FAULT_CUT,
  MF_FAULT_HTML,
  MF_FAULT_HUGE_LINE,
  MF_FAULT_WRONG_TYPE,
  MF_FAULT_NO_DONE,
  MF_FAULT_CRLF,
  MF_FAULT_N
};

struct mf_model_round {
  struct mf_str match_model, match_contains; /* {NULL,0}: anything */
  int status;
  const struct mf_json_val *headers, *body, *events, *calls, *usage; /* NULL: absent */
  const struct mf_json_val *text, *reasoning;                        /* strings */
  uint64_t split_every;                                              /* 0: see split_at */
  const struct mf_json_val *split_at;                                /* ascending offsets */
  uint64_t delay_ms;
  enum mf_model_fault fault;
};

struct mf_model_script {
  struct mf_str name; /* {NULL,0} in a file of one script without a name */
  struct mf_model_round *rounds;
  size_t round_n;
  bool loops;
  bool is_by_turn; /* the round follows from the request alone */
};

/* What any request for a path gets, whatever its method. */
struct mf_model_path {
  struct mf_str path;
  struct mf_model_round round;
};

struct mf_scenario {
  struct mf_json *doc; /* owns what the rounds point to */
  struct mf_model_path *paths;
  size_t path_n;
  struct mf_model_script *scripts;
  size_t script_n;
  bool is_named; /* the request's model names the script */
};

MF_MUST_USE enum mf_code mf_scenario_parse(struct mf_str text, struct mf_scenario **ret, struct mf_err *err);
void mf_scenario_free(struct mf_scenario *s); /* NULL is fine */
/* NULL when the file has several scripts and none of that name. */
const struct mf_model_script *mf_scenario_find(const struct mf_scenario *s, struct mf_str model);
/* NULL when the scenario says nothing of that path. */
const struct mf_model_round *mf_scenario_path(const struct mf_scenario *s, struct mf_str path);

#endif
