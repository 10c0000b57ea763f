#include "filter_library.h"

#include <dlfcn.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/macros.h>
#include <pthread.h>
#include <stdio.h>

#define LIBRARY "libavfilter.so." AV_STRINGIFY(LIBAVFILTER_VERSION_MAJOR)

struct SheafAVFilter sheaf_avfilter;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static int loaded;

int sheaf_avfilter_load(char *message, size_t size) {
  pthread_mutex_lock(&loading);
  if (!loaded) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;
    if (!handle) {
      snprintf(message, size, "%s could not be opened: %s", LIBRARY, dlerror());
    } else {
#define LOAD(name) \
  if (!(sheaf_avfilter.name = (__typeof__(&name))dlsym(handle, #name))) missing = #name;
      SHEAF_AVFILTER_FUNCTIONS(LOAD)
#undef LOAD
      if (missing) {
        snprintf(message, size, "%s has no function %s", LIBRARY, missing);
      } else {
        loaded = 1;
      }
    }
  }
  int result = loaded ? 0 : -1;
  pthread_mutex_unlock(&loading);
  return result;
}

int sheaf_avfilter_failed(int error, const char *filter, char *message, size_t size) {
  char reason[AV_ERROR_MAX_STRING_SIZE];
  av_strerror(error, reason, sizeof reason);
  snprintf(message, size, "libavfilter refused to set up '%s': %s", filter, reason);
  return error;
}

int sheaf_avfilter_add(AVFilterGraph *graph, AVFilterContext **result, const char *filter, AVDictionary **options) {
  const AVFilter *found = sheaf_avfilter.avfilter_get_by_name(filter);
  AVFilterContext *context = found ? sheaf_avfilter.avfilter_graph_alloc_filter(graph, found, NULL) : NULL;
  int error = !found ? AVERROR_FILTER_NOT_FOUND : !context ? AVERROR(ENOMEM) : 0;
  if (!error) error = sheaf_avfilter.avfilter_init_dict(context, options);
  if (error >= 0 && av_dict_count(*options)) error = AVERROR_OPTION_NOT_FOUND;
  av_dict_free(options);
  if (error < 0) return error;
  *result = context;
  return 0;
}
