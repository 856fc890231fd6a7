/* The slot table: every move, and the diagram in the room's page. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "slots.h"
#include "base/banned.h"

struct move {
  enum mf_slot_state from, to;
};

static const struct move legal[] = {
  { MF_SLOT_FREE, MF_SLOT_FORKING },   { MF_SLOT_FORKING, MF_SLOT_PREPARING },  { MF_SLOT_FORKING, MF_SLOT_DRAINING },
  { MF_SLOT_PREPARING, MF_SLOT_IDLE }, { MF_SLOT_PREPARING, MF_SLOT_DRAINING }, { MF_SLOT_IDLE, MF_SLOT_STARTING },
  { MF_SLOT_IDLE, MF_SLOT_DRAINING },  { MF_SLOT_STARTING, MF_SLOT_BUSY },      { MF_SLOT_STARTING, MF_SLOT_DRAINING },
  { MF_SLOT_BUSY, MF_SLOT_DRAINING },  { MF_SLOT_DRAINING, MF_SLOT_DEAD },      { MF_SLOT_DEAD, MF_SLOT_FREE },
};

static bool is_legal(enum mf_slot_state from, enum mf_slot_state to)
{
  for (size_t i = 0; i < MF_ARRAY_N(legal); i++) {
    if (legal[i].from == from && legal[i].to == to)
      return true;
  }
  return false;
}

static void every_pair_is_decided(void **state)
{
  for (unsigned from = 0; from < MF_SLOT_STATE_N; from++) {
    for (unsigned to = 0; to < MF_SLOT_STATE_N; to++) {
      if (mf_slot_may_move(from, to) != is_legal(from, to))
        fail_msg("%s -> %s", mf_slot_state_name(from), mf_slot_state_name(to));
    }
  }
}

static void a_number_that_is_no_state_moves_nowhere(void **state)
{
  assert_false(mf_slot_may_move(MF_SLOT_STATE_N, MF_SLOT_FREE));
  assert_false(mf_slot_may_move(MF_SLOT_FREE, MF_SLOT_STATE_N));
  assert_false(mf_slot_may_move((enum mf_slot_state)99, (enum mf_slot_state)99));
}

/* A child that has begun to live can only leave through DRAINING and DEAD, so it is always killed and reaped. */
static void no_way_back_but_through_the_reap(void **state)
{
  for (unsigned from = 0; from < MF_SLOT_STATE_N; from++) {
    assert_int_equal(mf_slot_may_move(from, MF_SLOT_FREE), from == MF_SLOT_DEAD);
    assert_int_equal(mf_slot_may_move(from, MF_SLOT_DEAD), from == MF_SLOT_DRAINING);
  }
}

static void the_page_shows_the_table(void **state)
{
  const char *page = getenv("MF_LOCAL_SUPERVISOR_PAGE");
  if (!page) {
    print_message("# MF_LOCAL_SUPERVISOR_PAGE does not name docs/rooms/local-supervisor.md\n");
    skip();
  }
  struct mf_err err;
  mf_auto_free char *text = NULL;
  size_t n;
  assert_ok(mf_read_file(AT_FDCWD, page, 1u << 20, &text, &n, &err), &err);
  mf_auto_buf struct mf_buf diagram;
  mf_buf_init(&diagram, 1u << 16);
  assert_int_equal(mf_slot_write_diagram(&diagram), MF_OK);
  if (!strstr(text, diagram.ptr))
    fail_msg("the diagram in %s is not the table's:\n%s", page, diagram.ptr);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_pair_is_decided),
    cmocka_unit_test(a_number_that_is_no_state_moves_nowhere),
    cmocka_unit_test(no_way_back_but_through_the_reap),
    cmocka_unit_test(the_page_shows_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
