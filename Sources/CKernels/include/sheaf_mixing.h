#ifndef SHEAF_MIXING_H
#define SHEAF_MIXING_H

#include <stddef.h>
#include <stdint.h>

// Kernels of the audio mix, on 32-bit float samples. No multiplication is fused with an addition, so the result does
// not depend on the processor.

// to[i] += from[i]
void sheaf_mix_add(float *to, const float *from, size_t count);

// to[i] += from[i] · gain
void sheaf_mix_scaled(float *to, const float *from, float gain, size_t count);

// to[i] += from[i] · float(start + rise · ((first + step · i) / whole)). If first, step and whole are whole numbers
// below 2^53, the quotient is rounded once, by the division.
void sheaf_mix_line(float *to, const float *from, double start, double rise, double first, double step, double whole,
                    size_t count);

// row[i] *= 1 - max(0, side · p), where p is start + rise · ((first + step · i) / whole). `side` is 1 for a left
// speaker, which a positive pan p makes quieter, and -1 for a right one.
void sheaf_pan_line(float *row, double side, double start, double rise, double first, double step, double whole,
                    size_t count);

// How far a track is lowered: 0 not at all, 1 wholly; and for how many samples it stays so.
typedef struct {
  double position;
  int64_t held;
} SheafDucking;

// row[i] of each channel *= 1 + (gain - 1) · position. At each sample at which one of `keys` is at `threshold` or over
// it, and for `hold` samples after, the position rises by `attack` up to 1; at others it falls by `release` down to 0.
void sheaf_duck(SheafDucking *state, float *const *rows, int channels, const float *const *keys, size_t count,
                float threshold, int64_t hold, double attack, double release, double gain);

// A limiter of true peaks, as EBU R 128 means them: of the signal at four times the sample rate. Its gain is the mean
// over 5 ms of the lowest gain that is needed in the next 5 ms, and rises again in about 150 ms.
typedef struct SheafLimiter SheafLimiter;

// `ceiling` is an amplitude above 0. NULL if there is no memory.
SheafLimiter *sheaf_limiter_open(int channels, int sampleRate, double ceiling);

// How many samples the output is later than the input.
int sheaf_limiter_latency(const SheafLimiter *limiter);

// Multiplies the samples by `gain`, and replaces them by limited ones, `sheaf_limiter_latency` samples later.
void sheaf_limiter_run(SheafLimiter *limiter, float *const *rows, double gain, size_t count);

void sheaf_limiter_close(SheafLimiter *limiter);

// Floats, clipped to -1...1. NaN becomes 0. Sample i is written to to[i · stride], which interleaves channels.
void sheaf_samples_clip(float *to, const float *from, size_t stride, size_t count);

// The nearest integer of 16 or 24 bits, ties to even, clipped. 24 bits are in the upper bits of 32, and the lower 8 are
// zero. Sample i is written to to[i · stride].
void sheaf_samples_to_s16(int16_t *to, const float *from, size_t stride, size_t count);
void sheaf_samples_to_s24(int32_t *to, const float *from, size_t stride, size_t count);

#endif
