#include "sheaf_palette.h"

#include "filter_library.h"

#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
#include <stdio.h>

struct SheafPalette {
  AVFilterGraph *graph;
  AVFilterContext *source, *sink;
};

static int build(SheafPalette *s, int width, int height, const char *dither) {
  AVFilterContext *split, *generate, *use;
  char size[32];
  snprintf(size, sizeof size, "%dx%d", width, height);
  AVDictionary *options = NULL;
  av_dict_set(&options, "video_size", size, 0);
  av_dict_set(&options, "pix_fmt", "bgra", 0);
  av_dict_set(&options, "time_base", "1/1", 0);
  av_dict_set(&options, "pixel_aspect", "1/1", 0);
  int error = sheaf_avfilter_add(s->graph, &s->source, "buffer", &options);
  if (error < 0) return error;
  av_dict_set(&options, "outputs", "2", 0);
  if ((error = sheaf_avfilter_add(s->graph, &split, "split", &options)) < 0) return error;
  // All options are stated, so that another version's defaults change nothing.
  av_dict_set(&options, "max_colors", "256", 0);
  av_dict_set(&options, "reserve_transparent", "0", 0);
  av_dict_set(&options, "stats_mode", "single", 0);
  if ((error = sheaf_avfilter_add(s->graph, &generate, "palettegen", &options)) < 0) return error;
  av_dict_set(&options, "dither", dither, 0);
  av_dict_set(&options, "bayer_scale", "2", 0);
  av_dict_set(&options, "diff_mode", "0", 0);
  av_dict_set(&options, "new", "1", 0);
  av_dict_set(&options, "alpha_threshold", "128", 0);
  if ((error = sheaf_avfilter_add(s->graph, &use, "paletteuse", &options)) < 0) return error;
  if ((error = sheaf_avfilter_add(s->graph, &s->sink, "buffersink", &options)) < 0) return error;
  if ((error = sheaf_avfilter.avfilter_link(s->source, 0, split, 0)) < 0) return error;
  if ((error = sheaf_avfilter.avfilter_link(split, 0, use, 0)) < 0) return error;
  if ((error = sheaf_avfilter.avfilter_link(split, 1, generate, 0)) < 0) return error;
  if ((error = sheaf_avfilter.avfilter_link(generate, 0, use, 1)) < 0) return error;
  if ((error = sheaf_avfilter.avfilter_link(use, 0, s->sink, 0)) < 0) return error;
  return sheaf_avfilter.avfilter_graph_config(s->graph, NULL);
}

int sheaf_palette_open(SheafPalette **result, int width, int height, const char *dither, char *message, size_t length) {
  if (sheaf_avfilter_load(message, length) < 0) return AVERROR(ENOSYS);
  SheafPalette *s = av_mallocz(sizeof *s);
  if (!s) return AVERROR(ENOMEM);
  int error = AVERROR(ENOMEM);
  if ((s->graph = sheaf_avfilter.avfilter_graph_alloc())) {
    s->graph->nb_threads = 1;
    error = build(s, width, height, dither);
  }
  if (error < 0) {
    sheaf_palette_close(s);
    return sheaf_avfilter_failed(error, "paletteuse", message, length);
  }
  *result = s;
  return 0;
}

int sheaf_palette_send(SheafPalette *s, AVFrame *frame) {
  int error = sheaf_avfilter.av_buffersrc_add_frame(s->source, frame);
  return error < 0 ? error : 0;
}

int sheaf_palette_receive(SheafPalette *s, AVFrame *frame) {
  int error = sheaf_avfilter.av_buffersink_get_frame(s->sink, frame);
  if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return 0;
  return error < 0 ? error : 1;
}

void sheaf_palette_close(SheafPalette *s) {
  if (!s) return;
  if (s->graph) sheaf_avfilter.avfilter_graph_free(&s->graph);
  av_free(s);
}
