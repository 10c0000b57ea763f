// How fast something goes, and when it will have ended.

/** A rate over the last time: an amount a second. */
export class RateMeter {
  constructor(window = 30) {
    this.window = window;
    this.samples = [];
    this.start = null;
  }

  add(time, amount) {
    this.samples.push({ time, amount });
    while (this.samples.length > 0 && this.samples[0].time < time - 2 * this.window) this.samples.shift();
  }

  /** Over the whole window, so that it falls to 0 where nothing comes; at the beginning over the time since then. */
  rate(time) {
    this.start ??= time;
    let sum = 0;
    for (const sample of this.samples) if (sample.time > time - this.window) sum += sample.amount;
    return sum / Math.min(this.window, Math.max(5, time - this.start));
  }
}

/** The part of a job's film that is made, from 0 to 1. */
export function progress(job) {
  if (job.state === "done") return 1;
  if (job.state === "probing") return 0;
  if (job.state === "measuring") return job.measuredTotal > 0 ? job.measuredDone / job.measuredTotal : 0;
  // The film is put together after its last frame.
  return job.framesTotal > 0 ? Math.min(0.995, job.framesDone / job.framesTotal) : 0;
}

/** What a job does, in words. */
export function phase(job) {
  switch (job.state) {
    case "probing": return job.filesDone < job.filesTotal || job.filesTotal === 0 ? "probing media" : "planning";
    case "measuring": return "measuring segments";
    case "rendering":
      if (job.framesTotal > 0 && job.framesDone >= job.framesTotal) return "putting the film together";
      return "rendering";
    default: return job.state;
  }
}

/**
 * When a job will have ended, as the farm expects it: from what its segments took, the slots that may take them, and the
 * jobs that go before it.
 * @returns {{ seconds: number | null, reason: string }}
 */
export function remaining(job, time) {
  if (!["probing", "measuring", "rendering"].includes(job.state)) return { seconds: null, reason: "" };
  if (job.waitsFor && job.running === 0) return { seconds: null, reason: `not known: ${job.waitsFor}` };
  if (job.state !== "rendering") return { seconds: null, reason: "known when the film renders" };
  if (job.secondsLeft == null) return { seconds: null, reason: "not known yet" };
  return { seconds: Math.max(1, job.secondsLeft - (time - job.heardAt)), reason: "" };
}

/** Two digits, as more would not be true: "about 40 s", "about 12 min". */
export function roughly(seconds) {
  if (seconds < 10) return "a few seconds";
  if (seconds < 100) return `about ${Math.round(seconds / 5) * 5} s`;
  if (seconds < 90 * 60) return `about ${Math.round(seconds / 60)} min`;
  return `about ${(seconds / 3600).toFixed(1)} h`;
}
