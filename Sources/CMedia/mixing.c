#include "sheaf_mixing.h"

#include <math.h>

#pragma STDC FP_CONTRACT OFF

void sheaf_mix_add(float *restrict to, const float *restrict from, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] += from[i];
}

void sheaf_mix_scaled(float *restrict to, const float *restrict from, float gain, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] += from[i] * gain;
}

void sheaf_mix_line(float *restrict to, const float *restrict from, double start, double rise, double first,
                    double step, double whole, size_t count) {
  for (size_t i = 0; i < count; i++) {
    double gain = start + rise * ((first + step * (double)i) / whole);
    to[i] += from[i] * (float)gain;
  }
}

void sheaf_samples_clip(float *restrict to, const float *restrict from, size_t stride, size_t count) {
  for (size_t i = 0; i < count; i++) {
    float low = from[i] > -1.0f ? from[i] : from[i] <= -1.0f ? -1.0f : 0.0f;
    to[i * stride] = low < 1.0f ? low : 1.0f;
  }
}

void sheaf_samples_to_s16(int16_t *restrict to, const float *restrict from, size_t stride, size_t count) {
  for (size_t i = 0; i < count; i++) {
    float scaled = from[i] * 32768.0f;
    // Comparisons with NaN are false, so that it becomes silence and not undefined behaviour.
    scaled = scaled < 32767.0f ? scaled : scaled >= 32767.0f ? 32767.0f : 0.0f;
    scaled = scaled > -32768.0f ? scaled : -32768.0f;
    to[i * stride] = (int16_t)lrintf(scaled);
  }
}

void sheaf_samples_to_s24(int32_t *restrict to, const float *restrict from, size_t stride, size_t count) {
  for (size_t i = 0; i < count; i++) {
    float scaled = from[i] * 8388608.0f;
    scaled = scaled < 8388607.0f ? scaled : scaled >= 8388607.0f ? 8388607.0f : 0.0f;
    scaled = scaled > -8388608.0f ? scaled : -8388608.0f;
    to[i * stride] = (int32_t)((uint32_t)(int32_t)lrintf(scaled) << 8);
  }
}
