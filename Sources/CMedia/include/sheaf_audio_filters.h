#ifndef SHEAF_AUDIO_FILTERS_H
#define SHEAF_AUDIO_FILTERS_H

#include <stddef.h>

// A chain of libavfilter's audio filters, each with one input and one output, on 32-bit float samples.
//
// libavfilter is opened with dlopen, by the first chain or before. Linking it would add about 28 ms to the start of
// every process, for the hundred libraries that it depends on.

typedef struct SheafAudioFilters SheafAudioFilters;

// Opens libavfilter. Returns 0, or -1 with a message that names what is missing.
int sheaf_audio_filters_load(char *message, size_t messageSize);

// A chain without filters. Returns 0, or a negative AVERROR with a message that names what is missing.
int sheaf_audio_filters_open(SheafAudioFilters **chain, int sampleRate, int channels, char *message, size_t messageSize);

// Adds a filter with `count` options, whose names and values alternate. Returns 0, or a negative AVERROR with a
// message.
int sheaf_audio_filters_add(SheafAudioFilters *chain, const char *filter, const char *const *options, int count,
                            char *message, size_t messageSize);

// Ends the set-up, after the last filter. Returns 0, or a negative AVERROR with a message.
int sheaf_audio_filters_start(SheafAudioFilters *chain, char *message, size_t messageSize);

// Copies `count` samples of each channel to the chain. Returns 0 or a negative AVERROR.
int sheaf_audio_filters_send(SheafAudioFilters *chain, const float *const *channels, int count);

// Writes at most `capacity` samples of each channel. Returns how many, 0 if more input is needed first, or a
// negative AVERROR.
int sheaf_audio_filters_receive(SheafAudioFilters *chain, float *const *channels, int capacity);

void sheaf_audio_filters_close(SheafAudioFilters *chain);

#endif
