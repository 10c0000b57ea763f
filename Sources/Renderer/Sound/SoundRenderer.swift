import CompositionModel
package import Media
package import Segmenter

/// Mixes the whole sound of a film and encodes it once (DESIGN 5).
///
/// - Every clip fills the output's samples [round(start · rate), round(end · rate)). Where its rate, its channels and
///   its speed are the output's, its samples are copied, from round(source start · rate) on: at volume 1 an integer
///   codec gives back the source's own samples.
/// - Otherwise rate and channels are converted by libswresample, with the first sample at its right time, and speed is
///   changed with the pitch kept.
/// - Tracks are added in 32-bit float. Nothing is normalised: what exceeds full scale is clipped by the encoder's input,
///   as AVFoundation's mixer does, so a document that sums loud tracks should lower their volumes.
/// - Where nothing plays, or a source has no sound (it starts late, ends early, or has a gap), there is silence.
package enum AudioRenderer {
  /// Samples mixed at a time: little enough to stay in the processor's cache, whatever the film's length.
  private static let blockSize = 8192

  /// Writes the sound's piece to `descriptor`, which stays the caller's.
  /// - Parameters:
  ///   - inputs: The sources' files by digest.
  ///   - progress: Called with the samples done, which only rise, a few times for each second of sound.
  package static func render(
    _ task: AudioTask, inputs: [String: any ByteSource], to descriptor: Int32, progress: (Int64) -> Void
  ) throws(RenderError) {
    guard task.encoder.sampleRate > 0, [1, 2, 6, 8].contains(task.encoder.channels), task.sampleCount >= 0 else {
      throw RenderError(
        soundTask: "sound of \(task.encoder.channels) channels at \(task.encoder.sampleRate) Hz and "
          + "\(task.sampleCount) samples cannot be made; 1, 2, 6 or 8 channels can")
    }
    var tracks: [TrackSound] = []
    for track in task.tracks { tracks.append(try open(track, of: task)) }
    let opener = ClipOpener(task, inputs: inputs)
    let encoder = try SoundEncoder(task.encoder, sampleCount: task.sampleCount, to: descriptor)
    let size = encoder.blockSize(near: blockSize)
    let mix = SampleBlock(channels: task.encoder.channels, capacity: size)
    let scratch = SampleBlock(channels: task.encoder.channels, capacity: size)
    var done: Int64 = 0
    while done < task.sampleCount {
      let samples = done..<min(task.sampleCount, done + Int64(size))
      mix.clear(0, samples.count)
      for index in tracks.indices { try tracks[index].add(samples, to: mix, scratch: scratch, opening: opener) }
      try encoder.encode(mix, count: samples.count)
      done = samples.upperBound
      progress(done)
    }
    try encoder.finish()
  }

  /// Opens what a task will need beside its inputs, for a process that is about to lose the right to open files: the
  /// library that changes speed, where a clip's is changed.
  package static func prepare(_ task: AudioTask) throws(RenderError) {
    let isStretched = task.tracks.contains { track in
      track.clips.contains { $0.sourceRange.duration != $0.targetRange.duration }
    }
    if isStretched { try StretchedSound.load() }
  }

  private static func open(_ track: PlannedAudioTrack, of task: AudioTask) throws(RenderError) -> TrackSound {
    do {
      return try TrackSound(track, rate: task.encoder.sampleRate, sampleCount: task.sampleCount)
    } catch {
      throw RenderError(soundTime: error)
    }
  }
}
