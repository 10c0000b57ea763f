#include "sheaf_varispeed.h"

#include <math.h>
#include <stdlib.h>

#pragma STDC FP_CONTRACT OFF

#define ZEROS 32
// Entries from one zero of the sinc to the next; between them it is linear, which is 126 dB below the sound.
#define STEPS 1024

struct SheafVarispeed {
  int64_t reach;
  double *weights;
  double sinc[ZEROS * STEPS + 2];
  // The weights of the samples around a position at a speed of 1 or less, for each step of its place between two
  // samples.
  double rows[STEPS + 1][2 * ZEROS];
};

static double bessel(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > sum * 1e-17; k++) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

SheafVarispeed *sheaf_varispeed_open(double fastest) {
  SheafVarispeed *s = malloc(sizeof *s);
  if (!s) return NULL;
  s->reach = (int64_t)ceil(ZEROS * (fastest > 1 ? fastest : 1)) + 1;
  s->weights = malloc(sizeof *s->weights * (size_t)(2 * s->reach + 1));
  if (!s->weights) {
    free(s);
    return NULL;
  }
  const double beta = 10;
  for (int i = 0; i < ZEROS * STEPS; i++) {
    double x = (double)i / STEPS, edge = x / ZEROS;
    double window = bessel(beta * sqrt(1 - edge * edge)) / bessel(beta);
    // At the zeros it is exactly 0, so that a position on a sample gives the sample.
    s->sinc[i] = i == 0 ? 1 : i % STEPS == 0 ? 0 : sin(M_PI * x) / (M_PI * x) * window;
  }
  s->sinc[ZEROS * STEPS] = s->sinc[ZEROS * STEPS + 1] = 0;
  for (int step = 0; step <= STEPS; step++)
    for (int tap = 0; tap < 2 * ZEROS; tap++) s->rows[step][tap] = s->sinc[abs((tap - ZEROS + 1) * STEPS - step)];
  return s;
}

int64_t sheaf_varispeed_reach(const SheafVarispeed *s) { return s->reach; }

void sheaf_varispeed_run(SheafVarispeed *s, SheafPath path, float *const *to, const float *const *from, int channels,
                         size_t count) {
  for (size_t i = 0; i < count; i++) {
    double v = (double)(path.count + (int64_t)i) + path.elapsed;
    double position = path.fraction + v * (path.step + path.bend / 2 * v);
    double below = floor(position), place = position - below;
    double speed = path.step + path.bend * v;
    // The samples from `first` on, counted from the one below the position.
    int64_t first = 1 - ZEROS;
    size_t taps = 2 * ZEROS;
    double sum = 0;
    if (speed <= 1) {
      double x = place * STEPS;
      size_t step = (size_t)x;
      const double *low = s->rows[step], *high = s->rows[step < STEPS ? step + 1 : STEPS];
      double part = x - (double)step;
      for (size_t tap = 0; tap < 2 * ZEROS; tap++) s->weights[tap] = low[tap] + part * (high[tap] - low[tap]);
      double a = 0, b = 0;
      for (size_t tap = 0; tap < 2 * ZEROS; tap += 2) {
        a += s->weights[tap];
        b += s->weights[tap + 1];
      }
      sum = a + b;
    } else {
      first = (int64_t)ceil(place - ZEROS * speed);
      int64_t last = (int64_t)floor(place + ZEROS * speed);
      if (first < -s->reach + 1) first = -s->reach + 1;
      if (last > s->reach) last = s->reach;
      taps = (size_t)(last - first + 1);
      double scale = STEPS / speed;
      for (size_t tap = 0; tap < taps; tap++) {
        double x = fabs((double)(first + (int64_t)tap) - place) * scale;
        size_t entry = (size_t)x;
        if (entry > ZEROS * STEPS) entry = ZEROS * STEPS;
        double low = s->sinc[entry];
        double weight = low + (x - (double)entry) * (s->sinc[entry + 1] - low);
        s->weights[tap] = weight;
        sum += weight;
      }
    }
    int64_t start = path.whole + (int64_t)below + first;
    for (int channel = 0; channel < channels; channel++) {
      const float *row = from[channel] + start;
      double a = 0, b = 0, c = 0, d = 0;
      size_t tap = 0;
      for (; tap + 4 <= taps; tap += 4) {
        a += s->weights[tap] * row[tap];
        b += s->weights[tap + 1] * row[tap + 1];
        c += s->weights[tap + 2] * row[tap + 2];
        d += s->weights[tap + 3] * row[tap + 3];
      }
      for (; tap < taps; tap++) a += s->weights[tap] * row[tap];
      to[channel][i] = (float)(((a + b) + (c + d)) / sum);
    }
  }
}

void sheaf_varispeed_close(SheafVarispeed *s) {
  if (!s) return;
  free(s->weights);
  free(s);
}
