#ifndef SHEAF_VARISPEED_H
#define SHEAF_VARISPEED_H

#include <stddef.h>
#include <stdint.h>

// Samples between samples, at positions that are passed at a speed that changes: a sinc with 32 zeros on each side in a
// Kaiser window, widened by as much as the speed is above 1. No multiplication is fused with an addition, so the result
// does not depend on the processor.
typedef struct SheafVarispeed SheafVarispeed;

// `fastest` is the greatest speed, in samples of the source from one sample of the output to the next. NULL if there is
// no memory.
SheafVarispeed *sheaf_varispeed_open(double fastest);

// How many samples of the source are needed on each side of a position.
int64_t sheaf_varispeed_reach(const SheafVarispeed *resampler);

// Where a sample of the output is in the source.
typedef struct {
  // The sample of the source, counted from the first of the rows, and what is added to it.
  int64_t whole;
  double fraction;
  // How many samples of the output are between the place where the speed is `step` and the first: a whole number, and
  // what is added to it.
  int64_t count;
  double elapsed;
  // The speed there, and how much it rises from one sample of the output to the next.
  double step, bend;
} SheafPath;

// Writes samples 0..<count of each row of `to`. Sample i is at whole + fraction + v · (step + bend / 2 · v), where v is
// path.count + i + elapsed. The rows of `from` have all samples that are needed.
void sheaf_varispeed_run(SheafVarispeed *resampler, SheafPath path, float *const *to, const float *const *from,
                         int channels, size_t count);

void sheaf_varispeed_close(SheafVarispeed *resampler);

#endif
