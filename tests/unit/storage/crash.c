/* See crash.h. */
#include "unit.h"

#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

enum { KNOWN_MAX = 60000, WORD_N = 10 };

unsigned crash_mix(unsigned n)
{
  n = (n ^ (n >> 16)) * 0x45d9f3bu;
  n = (n ^ (n >> 16)) * 0x45d9f3bu;
  return n ^ (n >> 16);
}

void crash_say(int out, char letter, unsigned number)
{
  char word[16];
  int n = snprintf(word, sizeof(word), "%c%08x\n", letter, number);
  if (write(out, word, (size_t)n) != n)
    _exit(3);
}

void crash_ledger_done(struct crash_ledger *l)
{
  free(l->rows);
  *l = (struct crash_ledger){ 0 };
}

static void note(struct crash_ledger *l, char letter, unsigned number)
{
  const char *at = strchr(l->letters, letter);
  assert_non_null(at);
  unsigned bit = 1u << (at - l->letters);
  for (unsigned i = l->n; bit != 1 && i > 0; i--)
    if (l->rows[i - 1].number == number) {
      l->rows[i - 1].said |= bit;
      return;
    }
  assert_int_equal(bit, 1);
  if (!l->rows)
    l->rows = mf_xcalloc(KNOWN_MAX, sizeof(*l->rows));
  assert_true(l->n < KNOWN_MAX);
  l->rows[l->n++] = (struct crash_row){ number, bit };
}

static void kill_after(pid_t child, unsigned us)
{
  nanosleep(&(struct timespec){ .tv_nsec = us * 1000l }, NULL);
  assert_int_equal(kill(child, SIGKILL), 0);
}

static void read_and_kill(struct crash_ledger *l, int in, pid_t child, unsigned us, bool is_early)
{
  char word[WORD_N + 1] = "";
  size_t have = 0;
  bool is_killed = is_early;
  if (is_early)
    kill_after(child, us);
  for (;;) {
    ssize_t n = read(in, word + have, WORD_N - have);
    if (n < 0 && errno == EINTR)
      continue;
    assert_true(n >= 0);
    if (n == 0)
      break;
    have += (size_t)n;
    if (have < WORD_N)
      continue;
    note(l, word[0], (unsigned)strtoul(word + 1, NULL, 16));
    have = 0;
    if (!is_killed) {
      kill_after(child, us);
      is_killed = true;
    }
  }
  assert_int_equal(have, 0);
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(is_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void crash_round(struct crash_ledger *l, unsigned round, unsigned seed,
                 void (*be_child)(void *user, unsigned round, int out), void *user)
{
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  fflush(stdout);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[0]);
    be_child(user, round, ends[1]);
    _exit(4);
  }
  close(ends[1]);
  bool is_early = round % 5 == 0;
  read_and_kill(l, ends[0], child, seed % (is_early ? 30000 : 60000), is_early);
  close(ends[0]);
}
