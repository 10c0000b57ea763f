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

// Floats, clipped to -1...1. NaN becomes 0. Sample i is written to to[i · stride], which interleaves channels.
void sheaf_samples_clip(float *to, const float *from, size_t stride, size_t count);

// The nearest integer of 16 or 24 bits, ties to even, clipped. 24 bits are in the upper bits of 32, and the lower 8 are
// zero. Sample i is written to to[i · stride].
void sheaf_samples_to_s16(int16_t *to, const float *from, size_t stride, size_t count);
void sheaf_samples_to_s24(int32_t *to, const float *from, size_t stride, size_t count);

#endif
