/* Turns that do what the request's body says: "json ok", "stream flood" … (fake-turn.c). */
#ifndef FAKE_TURN_H
#define FAKE_TURN_H

#include "agent/turn.h"

struct fake_turns {
  char bearer[64]; /* of the last turn */
  unsigned started, ended;
  uint64_t events; /* taken by sinks */
  enum mf_code sink_code;
};
extern struct fake_turns fake_turns;

#endif
