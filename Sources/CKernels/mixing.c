#include "sheaf_mixing.h"

#include <math.h>
#include <stdlib.h>

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

void sheaf_pan_line(float *restrict row, double side, double start, double rise, double first, double step,
                    double whole, size_t count) {
  for (size_t i = 0; i < count; i++) {
    double pan = side * (start + rise * ((first + step * (double)i) / whole));
    row[i] *= (float)(1 - (pan > 0 ? pan : 0));
  }
}

void sheaf_duck(SheafDucking *state, float *const *rows, int channels, const float *const *keys, size_t count,
                float threshold, int64_t hold, double attack, double release, double gain) {
  double position = state->position;
  int64_t held = state->held;
  for (size_t i = 0; i < count; i++) {
    int isOver = 0;
    for (int channel = 0; channel < channels; channel++) isOver |= fabsf(keys[channel][i]) >= threshold;
    if (isOver) held = hold + 1;
    if (held > 0) {
      held--;
      position = position + attack < 1 ? position + attack : 1;
    } else {
      position = position > release ? position - release : 0;
    }
    if (position == 0) continue;
    float factor = (float)(1 + (gain - 1) * position);
    for (int channel = 0; channel < channels; channel++) rows[channel][i] *= factor;
  }
  state->position = position;
  state->held = held;
}

// Half the length of the interpolation of the samples between two.
#define REACH 12

struct SheafLimiter {
  int channels;
  // Samples that the gain looks ahead at; its mean is over one more.
  int ahead;
  double ceiling, recovery;
  // The coefficients of the three samples between two.
  double between[3][2 * REACH];
  // Of each channel the last samples, as a ring of `size`.
  float *samples;
  // Rings of `ahead` + 1: the gains that are needed, of which the lowest is in front of the queue, and those to be
  // averaged.
  double *queue, *recovered;
  int64_t *places;
  int size, head, tail;
  int64_t position;
  double needed, last, sum;
};

SheafLimiter *sheaf_limiter_open(int channels, int sampleRate, double ceiling) {
  SheafLimiter *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->channels = channels;
  s->ahead = sampleRate / 200;
  s->ceiling = ceiling;
  s->recovery = 1 - exp(-1 / (0.15 * sampleRate));
  s->size = s->ahead + 2 * REACH + 1;
  s->samples = calloc((size_t)channels * s->size, sizeof *s->samples);
  s->queue = calloc((size_t)s->ahead + 2, sizeof *s->queue);
  s->places = calloc((size_t)s->ahead + 2, sizeof *s->places);
  s->recovered = calloc((size_t)s->ahead + 1, sizeof *s->recovered);
  if (!s->samples || !s->queue || !s->places || !s->recovered) {
    sheaf_limiter_close(s);
    return NULL;
  }
  for (int i = 0; i <= s->ahead; i++) s->recovered[i] = 1;
  s->sum = s->ahead + 1;
  s->last = s->needed = 1;
  for (int part = 0; part < 3; part++) {
    double sum = 0;
    for (int tap = 0; tap < 2 * REACH; tap++) {
      double x = tap - (REACH - 1) - (part + 1) / 4.0;
      double window = 0.5 + 0.5 * cos(M_PI * x / (REACH + 1));
      s->between[part][tap] = sin(M_PI * x) / (M_PI * x) * window;
      sum += s->between[part][tap];
    }
    for (int tap = 0; tap < 2 * REACH; tap++) s->between[part][tap] /= sum;
  }
  return s;
}

int sheaf_limiter_latency(const SheafLimiter *s) { return s->ahead + REACH; }

// The highest of the three values between the samples at `first` + REACH - 1 and the next, of all channels.
static double peak_between(const SheafLimiter *s, int first) {
  double peak = 0;
  for (int channel = 0; channel < s->channels; channel++) {
    const float *ring = s->samples + (size_t)channel * s->size;
    double window[2 * REACH], highest = 0;
    for (int tap = 0, index = first; tap < 2 * REACH; tap++) {
      window[tap] = ring[index];
      if (fabs(window[tap]) > highest) highest = fabs(window[tap]);
      if (++index == s->size) index = 0;
    }
    // The sums of the coefficients' magnitudes are below 2.2.
    if (highest * 2.2 <= s->ceiling) continue;
    for (int part = 0; part < 3; part++) {
      double value = 0;
      for (int tap = 0; tap < 2 * REACH; tap++) value += window[tap] * s->between[part][tap];
      if (fabs(value) > peak) peak = fabs(value);
    }
  }
  return peak;
}

void sheaf_limiter_run(SheafLimiter *s, float *const *rows, double gain, size_t count) {
  int span = s->ahead + 1;
  for (size_t i = 0; i < count; i++, s->position++) {
    int slot = (int)(s->position % s->size);
    for (int channel = 0; channel < s->channels; channel++)
      s->samples[(size_t)channel * s->size + slot] = (float)(rows[channel][i] * gain);
    // The gain that is needed at the sample REACH before this one, for itself and for what is beside it.
    int64_t place = s->position - REACH;
    double peak = peak_between(s, (int)((s->position + 1 + s->size - 2 * REACH) % s->size));
    int middle = (int)((place + s->size) % s->size);
    double between = peak > s->ceiling ? s->ceiling / peak : 1;
    for (int channel = 0; channel < s->channels; channel++) {
      double sample = fabs((double)s->samples[(size_t)channel * s->size + middle]);
      if (sample > peak) peak = sample;
    }
    double needed = peak > s->ceiling ? s->ceiling / peak : 1;
    if (s->needed < needed) needed = s->needed;
    s->needed = between;
    // The lowest of the last `ahead` + 1, by a queue of which each is higher than the one before it.
    while (s->tail != s->head && s->queue[(s->tail + span) % (span + 1)] >= needed) s->tail = (s->tail + span) % (span + 1);
    s->queue[s->tail] = needed;
    s->places[s->tail] = place;
    s->tail = (s->tail + 1) % (span + 1);
    while (s->places[s->head] <= place - span) s->head = (s->head + 1) % (span + 1);
    double risen = s->last + (1 - s->last) * s->recovery;
    if (risen > 1 - 1e-9) risen = 1;
    s->last = s->queue[s->head] < risen ? s->queue[s->head] : risen;
    int oldest = (int)(s->position % span);
    s->sum += s->last - s->recovered[oldest];
    s->recovered[oldest] = s->last;
    float factor = (float)(s->sum / span);
    int due = (int)((s->position - s->ahead - REACH + 2 * (int64_t)s->size) % s->size);
    for (int channel = 0; channel < s->channels; channel++)
      rows[channel][i] = s->samples[(size_t)channel * s->size + due] * factor;
  }
}

void sheaf_limiter_close(SheafLimiter *s) {
  if (!s) return;
  free(s->samples);
  free(s->queue);
  free(s->places);
  free(s->recovered);
  free(s);
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
