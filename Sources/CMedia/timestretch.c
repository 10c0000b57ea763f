#include "sheaf_timestretch.h"

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

int sheaf_stretch_load(char *message, size_t size) {
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
      } else if (!lib.avfilter_get_by_name("rubberband")) {
        snprintf(message, size, "%s was built without the filter 'rubberband'", LIBRARY);
      } else {
        loaded = 1;
      }
    }
  }
  int result = loaded ? 0 : -1;
  pthread_mutex_unlock(&loading);
  return result;
}

struct SheafStretcher {
  AVFilterGraph *graph;
  AVFilterContext *source, *sink;
  // The latest output of the filter, of which the samples before `taken` have been received.
  AVFrame *output;
  int taken;
  int sampleRate, channels;
  int64_t sent;
};

static AVFilterContext *make(AVFilterGraph *graph, const char *filter, const char *const (*options)[2]) {
  AVFilterContext *context = lib.avfilter_graph_alloc_filter(graph, lib.avfilter_get_by_name(filter), filter);
  AVDictionary *dictionary = NULL;
  if (!context) return NULL;
  for (; options && (*options)[0]; options++) av_dict_set(&dictionary, (*options)[0], (*options)[1], 0);
  int error = lib.avfilter_init_dict(context, &dictionary);
  int unknown = av_dict_count(dictionary);
  av_dict_free(&dictionary);
  return error < 0 || unknown ? NULL : context;
}

int sheaf_stretch_open(SheafStretcher **result, int sampleRate, int channels, double tempo, char *message,
                       size_t size) {
  if (sheaf_stretch_load(message, size) < 0) return AVERROR(ENOSYS);
  SheafStretcher *s = av_mallocz(sizeof *s);
  if (!s) return AVERROR(ENOMEM);
  char rate[16], timebase[24], layout[16], factor[40];
  snprintf(rate, sizeof rate, "%d", sampleRate);
  snprintf(timebase, sizeof timebase, "1/%d", sampleRate);
  snprintf(layout, sizeof layout, "%dc", channels);
  snprintf(factor, sizeof factor, "%.17g", tempo);
  const char *const input[][2] = {
      {"sample_fmt", "fltp"}, {"sample_rate", rate}, {"time_base", timebase}, {"channel_layout", layout}, {NULL, NULL}};
  // `together` keeps the phase between channels, and with it the direction of each sound.
  const char *const stretch[][2] = {{"tempo", factor}, {"channels", "together"}, {NULL, NULL}};
  AVFilterContext *filter = NULL;
  int error = AVERROR(ENOMEM);
  s->sampleRate = sampleRate;
  s->channels = channels;
  s->output = av_frame_alloc();
  if ((s->graph = lib.avfilter_graph_alloc()) && s->output) {
    s->graph->nb_threads = 1;
    s->source = make(s->graph, "abuffer", input);
    filter = make(s->graph, "rubberband", stretch);
    s->sink = make(s->graph, "abuffersink", NULL);
    error = AVERROR(EINVAL);
    if (s->source && filter && s->sink && (error = lib.avfilter_link(s->source, 0, filter, 0)) >= 0 &&
        (error = lib.avfilter_link(filter, 0, s->sink, 0)) >= 0)
      error = lib.avfilter_graph_config(s->graph, NULL);
  }
  if (error < 0) {
    snprintf(message, size, "libavfilter refused to set up 'rubberband' at tempo %s", factor);
    sheaf_stretch_close(s);
    return error;
  }
  *result = s;
  return 0;
}

int sheaf_stretch_send(SheafStretcher *s, const float *const *channels, int count) {
  AVFrame *frame = av_frame_alloc();
  if (!frame) return AVERROR(ENOMEM);
  frame->format = AV_SAMPLE_FMT_FLTP;
  frame->nb_samples = count;
  frame->sample_rate = s->sampleRate;
  frame->pts = s->sent;
  frame->ch_layout = (AVChannelLayout){.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = s->channels};
  int error = av_frame_get_buffer(frame, 0);
  if (error >= 0) {
    for (int i = 0; i < s->channels; i++) memcpy(frame->extended_data[i], channels[i], (size_t)count * sizeof(float));
    error = lib.av_buffersrc_add_frame(s->source, frame);
    if (error >= 0) s->sent += count;
  }
  av_frame_free(&frame);
  return error < 0 ? error : 0;
}

int sheaf_stretch_receive(SheafStretcher *s, float *const *channels, int capacity) {
  while (s->taken >= s->output->nb_samples) {
    av_frame_unref(s->output);
    s->taken = 0;
    int error = lib.av_buffersink_get_frame(s->sink, s->output);
    if (error == AVERROR(EAGAIN)) return 0;
    if (error < 0) return error;
  }
  int left = s->output->nb_samples - s->taken;
  int count = capacity < left ? capacity : left;
  for (int i = 0; i < s->channels; i++)
    memcpy(channels[i], (const float *)s->output->extended_data[i] + s->taken, (size_t)count * sizeof(float));
  s->taken += count;
  return count;
}

void sheaf_stretch_close(SheafStretcher *s) {
  if (!s) return;
  av_frame_free(&s->output);
  if (s->graph) lib.avfilter_graph_free(&s->graph);
  av_free(s);
}
