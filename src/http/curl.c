/* Loading libcurl: what a linker would do, later. Thread: any. */
#include "curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/banned.h"

enum { VERSION_MIN = 0x075000 }; /* 7.80: CURLOPT_PREREQFUNCTION */

static enum mf_code load(struct mf_curl *curl, struct mf_err *err)
{
  /* The second is Debian's other build of the same library. */
  static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
  void *lib = NULL;
  for (size_t i = 0; !lib && i < MF_ARRAY_N(names); i++)
    lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!lib)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the HTTP client needs libcurl: %s", dlerror());

  static const char *const functions[] = {
#define NAME(name) "curl_" #name,
    MF_CURL_FUNCTIONS(NAME)
#undef NAME
  };
  /* A struct of nothing but function pointers, in the order of the names. */
  void **place = (void **)curl;
  for (size_t i = 0; i < MF_ARRAY_N(functions); i++) {
    place[i] = dlsym(lib, functions[i]);
    if (!place[i])
      return mf_fail(err, MF_E_UNAVAILABLE, 0, "the HTTP client needs a libcurl with %s", functions[i]);
  }

  const curl_version_info_data *v = curl->version_info(CURLVERSION_NOW);
  if (v->version_num < VERSION_MIN)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the HTTP client needs libcurl 7.80, this is %s", v->version);
  if (curl->global_init(CURL_GLOBAL_DEFAULT))
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "libcurl does not start");
  return MF_OK;
}

enum mf_code mf_curl_load(const struct mf_curl **ret, struct mf_err *err)
{
  /* Loaded code belongs to the process, as linked code does. */
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct mf_curl curl;
  static bool is_loaded;
  enum mf_code code = MF_OK;
  pthread_mutex_lock(&lock);
  if (!is_loaded)
    code = load(&curl, err);
  is_loaded = code == MF_OK;
  pthread_mutex_unlock(&lock);
  if (code == MF_OK)
    *ret = &curl;
  return code;
}
