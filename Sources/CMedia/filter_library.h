#ifndef FILTER_LIBRARY_H
#define FILTER_LIBRARY_H

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <stddef.h>

// The functions of libavfilter, which is opened and not linked.

#define SHEAF_AVFILTER_FUNCTIONS(F) \
  F(avfilter_get_by_name)           \
  F(avfilter_graph_alloc)           \
  F(avfilter_graph_alloc_filter)    \
  F(avfilter_graph_config)          \
  F(avfilter_graph_free)            \
  F(avfilter_init_dict)             \
  F(avfilter_link)                  \
  F(av_buffersrc_add_frame)         \
  F(av_buffersink_get_frame)

#define SHEAF_AVFILTER_MEMBER(name) __typeof__(&name) name;
struct SheafAVFilter {
  SHEAF_AVFILTER_FUNCTIONS(SHEAF_AVFILTER_MEMBER)
};
#undef SHEAF_AVFILTER_MEMBER

// Complete after sheaf_avfilter_load has returned 0.
extern struct SheafAVFilter sheaf_avfilter;

// Opens libavfilter. Returns 0, or -1 with a message that names what is missing.
int sheaf_avfilter_load(char *message, size_t size);

// Writes why a filter could not be set up, and returns `error`.
int sheaf_avfilter_failed(int error, const char *filter, char *message, size_t size);

// Adds a filter to a graph, and sets its options, which are freed. Returns 0 or a negative AVERROR.
int sheaf_avfilter_add(AVFilterGraph *graph, AVFilterContext **result, const char *filter, AVDictionary **options);

#endif
