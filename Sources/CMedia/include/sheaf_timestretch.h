#ifndef SHEAF_TIMESTRETCH_H
#define SHEAF_TIMESTRETCH_H

#include <stddef.h>

// Changes the speed of audio and keeps its pitch, with libavfilter's `rubberband`.
//
// libavfilter is opened with dlopen, by the first stretcher or before. Linking it would add about 28 ms to the start of
// every process, for the hundred libraries that it depends on.

typedef struct SheafStretcher SheafStretcher;

// Opens libavfilter. Returns 0, or -1 with a message that names what is missing.
int sheaf_stretch_load(char *message, size_t messageSize);

// `tempo` is 0.01...100; 2 is twice as fast. Returns 0, or a negative AVERROR with a message that names what is
// missing.
int sheaf_stretch_open(SheafStretcher **stretcher, int sampleRate, int channels, double tempo, char *message,
                       size_t messageSize);

// Copies `count` samples of each channel to the stretcher. Returns 0 or a negative AVERROR.
int sheaf_stretch_send(SheafStretcher *stretcher, const float *const *channels, int count);

// Writes at most `capacity` samples of each channel. Returns how many, 0 if more input is needed first, or a
// negative AVERROR.
int sheaf_stretch_receive(SheafStretcher *stretcher, float *const *channels, int capacity);

void sheaf_stretch_close(SheafStretcher *stretcher);

#endif
