#ifndef SHEAF_RESAMPLE_H
#define SHEAF_RESAMPLE_H

#include <stddef.h>

// Converts 32-bit float sound between sample rates and channel layouts with libswresample, always with the same filter.
// Its first output lies exactly on its first input.

typedef struct SwrContext SheafResampler;

// `inputLayout` and `outputLayout` are libavutil's names. With `matrix` (outputChannels rows of inputChannels gains)
// the names do not matter; without, it is libswresample's own, scaled so that nothing that fitted clips.
// 0, or a negative AVERROR.
int sheaf_resample_open(SheafResampler **resampler, int inputRate, int inputChannels, const char *inputLayout,
                        int outputRate, int outputChannels, const char *outputLayout, const double *matrix);

// Takes `count` samples of each channel and gives at most `capacity`: how many, or a negative AVERROR.
int sheaf_resample(SheafResampler *resampler, float *const *output, int capacity, const float *const *input, int count);

void sheaf_resample_close(SheafResampler *resampler);

#endif
