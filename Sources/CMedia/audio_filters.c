#include "sheaf_audio_filters.h"

#include "filter_library.h"
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/frame.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

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
  int error = sheaf_avfilter_add(s->graph, result, filter, options);
  if (error >= 0 && s->last) error = sheaf_avfilter.avfilter_link(s->last, 0, *result, 0);
  if (error < 0) return error;
  s->last = *result;
  return 0;
}

int sheaf_audio_filters_load(char *message, size_t size) { return sheaf_avfilter_load(message, size); }

int sheaf_audio_filters_open(SheafAudioFilters **result, int sampleRate, int channels, char *message, size_t size) {
  if (sheaf_avfilter_load(message, size) < 0) return AVERROR(ENOSYS);
  SheafAudioFilters *s = av_mallocz(sizeof *s);
  if (!s) return AVERROR(ENOMEM);
  s->sampleRate = sampleRate;
  av_channel_layout_default(&s->layout, channels);
  s->output = av_frame_alloc();
  int error = AVERROR(ENOMEM);
  if ((s->graph = sheaf_avfilter.avfilter_graph_alloc()) && s->output) {
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
    return sheaf_avfilter_failed(error, "abuffer", message, size);
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
  return error < 0 ? sheaf_avfilter_failed(error, filter, message, size) : 0;
}

int sheaf_audio_filters_start(SheafAudioFilters *s, char *message, size_t size) {
  // Filters that compute in another format, such as interleaved doubles, get converters before and after them.
  AVDictionary *none = NULL;
  AVFilterContext *format;
  AVDictionary *options = NULL;
  av_dict_set(&options, "sample_fmts", "fltp", 0);
  int error = add(s, &format, "aformat", &options);
  if (error >= 0) error = add(s, &s->sink, "abuffersink", &none);
  if (error >= 0) error = sheaf_avfilter.avfilter_graph_config(s->graph, NULL);
  return error < 0 ? sheaf_avfilter_failed(error, "abuffersink", message, size) : 0;
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
    error = sheaf_avfilter.av_buffersrc_add_frame(s->source, frame);
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
    int error = sheaf_avfilter.av_buffersink_get_frame(s->sink, s->output);
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
  if (s->graph) sheaf_avfilter.avfilter_graph_free(&s->graph);
  av_channel_layout_uninit(&s->layout);
  av_free(s);
}
