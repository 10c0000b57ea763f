#ifndef SHEAF_TIMESTRETCH_H
#define SHEAF_TIMESTRETCH_H

#include <stddef.h>

// Changes the speed of sound and keeps its pitch, with libavfilter's `rubberband`.
//
// libavfilter is opened with dlopen when the first stretcher is made: linking it would cost every process that never
// stretches anything about 28 ms at its start, for the hundred libraries that it pulls in.

typedef struct SheafStretcher SheafStretcher;

// Opens libavfilter and finds the filter, so that a process that is about to lose the right to open files can do it
// first. 0, or -1 with a message that names what is missing.
int sheaf_stretch_load(char *message, size_t messageSize);

// `tempo` is 0.01...100: 2 is twice as fast. 0, or a negative AVERROR with a message.
int sheaf_stretch_open(SheafStretcher **stretcher, int sampleRate, int channels, double tempo, char *message,
                       size_t messageSize);

// Takes `count` samples of each channel, copying them. 0 or a negative AVERROR.
int sheaf_stretch_send(SheafStretcher *stretcher, const float *const *channels, int count);

// Gives at most `capacity` samples of each channel: how many, 0 when it wants more input first, or a negative AVERROR.
int sheaf_stretch_receive(SheafStretcher *stretcher, float *const *channels, int capacity);

void sheaf_stretch_close(SheafStretcher *stretcher);

#endif
