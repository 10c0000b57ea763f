#include "sheaf_audio_filters.h"

#include <dlfcn.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/frame.h>
#include <libavutil/macros.h>
#include <libavutil/mem.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define LIBRARY "libavfilter.so." AV_STRINGIFY(LIBAVFILTER_VERSION_MAJOR)

#define FUNCTIONS(F)            \
  F(avfilter_get_by_name)       \
  F(avfilter_graph_alloc)       \
  F(avfilter_graph_alloc_filter)\
  F(avfilter_graph_config)      \
  F(avfilter_graph_free)        \
  F(avfilter_init_dict)         \
  F(avfilter_link)              \
  F(av_buffersrc_add_frame)     \
  F(av_buffersink_get_frame)

static struct {
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
#undef MEMBER
} lib;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static int loaded;

int sheaf_audio_filters_load(char *message, size_t size) {
  pthread_mutex_lock(&loading);
  if (!loaded) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;
    if (!handle) {
      snprintf(message, size, "%s could not be opened: %s", LIBRARY, dlerror());
    } else {
#define LOAD(name) \
  if (!(lib.name = (__typeof__(&name))dlsym(handle, #name))) missing = #name;
      FUNCTIONS(LOAD)
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

struct SheafAudioFilters {
  AVFilterGraph *graph;
  // The filter that the next one is linked to.
  AVFilterContext *source, *last, *sink;
  // The latest output of the chain, of which the samples before `taken` have been received.
  AVFrame *output;
  int taken;
  int sampleRate;
  AVChannelLayout layout;
  int64_t sent;
};

// The recursive filters' states decay to denormal numbers in silence, with which a processor computes a hundred times
// as slowly. They are zero while a chain computes.
#if defined(__SSE2__)
static unsigned flush_denormals(void) {
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);
  return mode;
}
static void restore_mode(unsigned mode) { _mm_setcsr(mode); }
#else
static unsigned flush_denormals(void) { return 0; }
static void restore_mode(unsigned mode) { (void)mode; }
#endif

static int add(SheafAudioFilters *s, AVFilterContext **result, const char *filter, AVDictionary **options) {
  const AVFilter *found = lib.avfilter_get_by_name(filter);
  AVFilterContext *context = found ? lib.avfilter_graph_alloc_filter(s->graph, found, NULL) : NULL;
  int error = !found ? AVERROR_FILTER_NOT_FOUND : !context ? AVERROR(ENOMEM) : 0;
  if (!error) error = lib.avfilter_init_dict(context, options);
  if (error >= 0 && av_dict_count(*options)) error = AVERROR_OPTION_NOT_FOUND;
  av_dict_free(options);
  if (error >= 0 && s->last) error = lib.avfilter_link(s->last, 0, context, 0);
  if (error < 0) return error;
  s->last = *result = context;
  return 0;
}

static int failed(int error, const char *what, char *message, size_t size) {
  char reason[AV_ERROR_MAX_STRING_SIZE];
  av_strerror(error, reason, sizeof reason);
  snprintf(message, size, "libavfilter refused to set up '%s': %s", what, reason);
  return error;
}

int sheaf_audio_filters_open(SheafAudioFilters **result, int sampleRate, int channels, char *message, size_t size) {
  if (sheaf_audio_filters_load(message, size) < 0) return AVERROR(ENOSYS);
  SheafAudioFilters *s = av_mallocz(sizeof *s);
  if (!s) return AVERROR(ENOMEM);
  s->sampleRate = sampleRate;
  av_channel_layout_default(&s->layout, channels);
  s->output = av_frame_alloc();
  int error = AVERROR(ENOMEM);
  if ((s->graph = lib.avfilter_graph_alloc()) && s->output) {
    s->graph->nb_threads = 1;
    char rate[16], timebase[24], layout[64];
    snprintf(rate, sizeof rate, "%d", sampleRate);
    snprintf(timebase, sizeof timebase, "1/%d", sampleRate);
    av_channel_layout_describe(&s->layout, layout, sizeof layout);
    AVDictionary *options = NULL;
    av_dict_set(&options, "sample_fmt", "fltp", 0);
    av_dict_set(&options, "sample_rate", rate, 0);
    av_dict_set(&options, "time_base", timebase, 0);
    av_dict_set(&options, "channel_layout", layout, 0);
    error = add(s, &s->source, "abuffer", &options);
  }
  if (error < 0) {
    sheaf_audio_filters_close(s);
    return failed(error, "abuffer", message, size);
  }
  *result = s;
  return 0;
}

int sheaf_audio_filters_add(SheafAudioFilters *s, const char *filter, const char *const *options, int count,
                            char *message, size_t size) {
  AVDictionary *dictionary = NULL;
  AVFilterContext *context;
  for (int i = 0; i + 1 < count; i += 2) av_dict_set(&dictionary, options[i], options[i + 1], 0);
  int error = add(s, &context, filter, &dictionary);
  return error < 0 ? failed(error, filter, message, size) : 0;
}

int sheaf_audio_filters_start(SheafAudioFilters *s, char *message, size_t size) {
  // Filters that compute in another format, such as interleaved doubles, get converters before and after them.
  AVDictionary *none = NULL;
  AVFilterContext *format;
  AVDictionary *options = NULL;
  av_dict_set(&options, "sample_fmts", "fltp", 0);
  int error = add(s, &format, "aformat", &options);
  if (error >= 0) error = add(s, &s->sink, "abuffersink", &none);
  if (error >= 0) error = lib.avfilter_graph_config(s->graph, NULL);
  return error < 0 ? failed(error, "abuffersink", message, size) : 0;
}

int sheaf_audio_filters_send(SheafAudioFilters *s, const float *const *channels, int count) {
  AVFrame *frame = av_frame_alloc();
  if (!frame) return AVERROR(ENOMEM);
  frame->format = AV_SAMPLE_FMT_FLTP;
  frame->nb_samples = count;
  frame->sample_rate = s->sampleRate;
  frame->pts = s->sent;
  int error = av_channel_layout_copy(&frame->ch_layout, &s->layout);
  if (error >= 0) error = av_frame_get_buffer(frame, 0);
  if (error >= 0) {
    for (int i = 0; i < s->layout.nb_channels; i++)
      memcpy(frame->extended_data[i], channels[i], (size_t)count * sizeof(float));
    unsigned mode = flush_denormals();
    error = lib.av_buffersrc_add_frame(s->source, frame);
    restore_mode(mode);
    if (error >= 0) s->sent += count;
  }
  av_frame_free(&frame);
  return error < 0 ? error : 0;
}

int sheaf_audio_filters_receive(SheafAudioFilters *s, float *const *channels, int capacity) {
  while (s->taken >= s->output->nb_samples) {
    av_frame_unref(s->output);
    s->taken = 0;
    unsigned mode = flush_denormals();
    int error = lib.av_buffersink_get_frame(s->sink, s->output);
    restore_mode(mode);
    if (error == AVERROR(EAGAIN)) return 0;
    if (error < 0) return error;
  }
  int left = s->output->nb_samples - s->taken;
  int count = capacity < left ? capacity : left;
  for (int i = 0; i < s->layout.nb_channels; i++)
    memcpy(channels[i], (const float *)s->output->extended_data[i] + s->taken, (size_t)count * sizeof(float));
  s->taken += count;
  return count;
}

void sheaf_audio_filters_close(SheafAudioFilters *s) {
  if (!s) return;
  av_frame_free(&s->output);
  if (s->graph) lib.avfilter_graph_free(&s->graph);
  av_channel_layout_uninit(&s->layout);
  av_free(s);
}
