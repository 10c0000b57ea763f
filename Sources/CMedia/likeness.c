#include "sheaf_likeness.h"

#include "filter_library.h"

#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>

struct SheafLikeness {
  AVFilterGraph *graph;
  AVFilterContext *frames, *references, *sink;
  AVFrame *compared;
  char key[64];
};

static int add_source(SheafLikeness *s, AVFilterContext **source, int width, int height, int pixelFormat) {
  char text[32];
  AVDictionary *options = NULL;
  snprintf(text, sizeof text, "%dx%d", width, height);
  av_dict_set(&options, "video_size", text, 0);
  av_dict_set_int(&options, "pix_fmt", pixelFormat, 0);
  av_dict_set(&options, "time_base", "1/1", 0);
  av_dict_set(&options, "pixel_aspect", "1/1", 0);
  return sheaf_avfilter_add(s->graph, source, "buffer", &options);
}

static int build(SheafLikeness *s, const char *filter, int width, int height, int pixelFormat) {
  AVFilterContext *compare;
  AVDictionary *options = NULL;
  int error = add_source(s, &s->frames, width, height, pixelFormat);
  if (error >= 0) error = add_source(s, &s->references, width, height, pixelFormat);
  if (error >= 0) error = sheaf_avfilter_add(s->graph, &compare, filter, &options);
  if (error >= 0) error = sheaf_avfilter_add(s->graph, &s->sink, "buffersink", &options);
  if (error >= 0) error = sheaf_avfilter.avfilter_link(s->frames, 0, compare, 0);
  if (error >= 0) error = sheaf_avfilter.avfilter_link(s->references, 0, compare, 1);
  if (error >= 0) error = sheaf_avfilter.avfilter_link(compare, 0, s->sink, 0);
  return error < 0 ? error : sheaf_avfilter.avfilter_graph_config(s->graph, NULL);
}

int sheaf_likeness_open(SheafLikeness **result, const char *filter, const char *value, int width, int height,
                        int pixelFormat, char *message, size_t length) {
  if (sheaf_avfilter_load(message, length) < 0) return AVERROR(ENOSYS);
  SheafLikeness *s = av_mallocz(sizeof *s);
  if (!s) return AVERROR(ENOMEM);
  snprintf(s->key, sizeof s->key, "%s", value);
  int error = AVERROR(ENOMEM);
  if ((s->compared = av_frame_alloc()) && (s->graph = sheaf_avfilter.avfilter_graph_alloc())) {
    s->graph->nb_threads = 1;
    error = build(s, filter, width, height, pixelFormat);
  }
  if (error < 0) {
    sheaf_likeness_close(s);
    return sheaf_avfilter_failed(error, filter, message, length);
  }
  *result = s;
  return 0;
}

int sheaf_likeness_measure(SheafLikeness *s, AVFrame *frame, AVFrame *reference, double *value) {
  int error = sheaf_avfilter.av_buffersrc_add_frame(s->references, reference);
  if (error >= 0) error = sheaf_avfilter.av_buffersrc_add_frame(s->frames, frame);
  if (error >= 0) error = sheaf_avfilter.av_buffersink_get_frame(s->sink, s->compared);
  if (error < 0) return error;
  const AVDictionaryEntry *entry = av_dict_get(s->compared->metadata, s->key, NULL, 0);
  if (entry) *value = strtod(entry->value, NULL);
  error = entry ? 0 : AVERROR_INVALIDDATA;
  av_frame_unref(s->compared);
  return error;
}

void sheaf_likeness_close(SheafLikeness *s) {
  if (!s) return;
  if (s->graph) sheaf_avfilter.avfilter_graph_free(&s->graph);
  av_frame_free(&s->compared);
  av_free(s);
}
