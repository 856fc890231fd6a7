/* A CSV goes in, pandas groups it in a fresh sandbox, text and a new CSV come out.
 *
 *     cc groupby.c $(pkg-config --cflags --libs mayfly) -o groupby && ./groupby */
#include <mayfly.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char sales[] = "region,units\nnorth,3\nsouth,4\nnorth,5\n";

static const char code[] = "import pandas as pd\n"
                           "totals = pd.read_csv('sales.csv').groupby('region').units.sum()\n"
                           "totals.to_csv('totals.csv')\n"
                           "print(totals.to_dict())\n";

static int fail(const struct mayfly_error *e)
{
  fprintf(stderr, "%s%s%s\n", e->param, e->param[0] ? ": " : "", e->message);
  return 1;
}

static int show(struct mayfly *m, const char *id, const struct mayfly_result *r, struct mayfly_error *e)
{
  fputs(r->stdout_text, stdout);
  fputs(r->stderr_text, stderr);
  for (size_t i = 0; i < r->artifact_n; i++) {
    void *data = NULL;
    size_t size = 0;
    if (mayfly_artifact(m, id, r->artifacts[i].artifact_id, &data, &size, e) != MAYFLY_OK)
      return fail(e);
    printf("%s, %" PRIu64 " bytes:\n%s", r->artifacts[i].path, r->artifacts[i].size_bytes, (char *)data);
    free(data);
  }
  return r->status == MAYFLY_SUCCEEDED ? 0 : 1;
}

int main(void)
{
  const struct mayfly_file files[] = { { "sales.csv", sales, strlen(sales) } };
  const struct mayfly_request request = { .code = code, .files = files, .file_n = 1, .timeout_ms = 30000 };
  struct mayfly *m = NULL;
  struct mayfly_result *r = NULL;
  struct mayfly_error e = { 0 };
  char id[MAYFLY_ID_N];
  int status = 1;

  if (mayfly_open(NULL, &m, &e) != MAYFLY_OK)
    return fail(&e);
  if (mayfly_submit(m, &request, id, &e) != MAYFLY_OK || mayfly_get(m, id, 60000, &r, &e) != MAYFLY_OK)
    status = fail(&e);
  else
    status = show(m, id, r, &e);
  mayfly_result_free(r);
  mayfly_close(m);
  return status;
}
