#ifndef SHEAF_SOUND_H
#define SHEAF_SOUND_H

#include <stddef.h>
#include <stdint.h>

// Kernels of the sound mix, on 32-bit float samples. No multiplication is fused with an addition, so the result does
// not depend on the processor.

// to[i] += from[i]
void sheaf_mix_add(float *to, const float *from, size_t count);

// to[i] += from[i] · gain
void sheaf_mix_scaled(float *to, const float *from, float gain, size_t count);

// to[i] += from[i] · float(start + rise · ((first + step · i) / whole)): a straight line in exact steps.
void sheaf_mix_line(float *to, const float *from, double start, double rise, double first, double step, double whole,
                    size_t count);

// to[i] = from[i], clipped to -1...1; what is no number becomes silence.
void sheaf_sound_clip(float *to, const float *from, size_t count);

// The nearest integer of `bits` (16 or 24), ties to even, clipped; 24 bits stand in the upper bits of 32, the lower 8
// zero. Interleaves: sample i goes to to[i · stride].
void sheaf_sound_to_s16(int16_t *to, const float *from, size_t stride, size_t count);
void sheaf_sound_to_s24(int32_t *to, const float *from, size_t stride, size_t count);

#endif
