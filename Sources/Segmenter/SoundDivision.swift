import CompositionModel
import RenderTasks

/// Where the sound of a film is divided into parts, of which each is a task: where its codecs allow it, and no sample of
/// the mix depends on all that was heard before.
///
/// Parts begin at multiples of a length, so that an edit leaves those before it, and those after it if nothing moves,
/// as they were. What a part's mix has to decode first grows with its place in a file that cannot be sought in exactly
/// (one of a lossy codec) or in a clip with filters: there the parts become longer with it.
enum SoundDivision {
  /// The length of a part in seconds, about.
  private static let partSeconds = 120
  /// A length of parts is a multiple of this many samples: of the blocks that are mixed, and of every codec's packets.
  private static let granule: Int64 = 8192
  /// The least part of a part's length that the sound may have which its mix decodes first. Decoding takes about a tenth
  /// of the time of encoding.
  private static let decodedShare = 0.39

  /// The task of the sound as the tasks of its parts, in order; the task itself if the sound is not divided.
  static func parts(of task: AudioTask) throws(PlanError) -> [AudioTask] {
    guard let first = task.mixes.first, task.mixes.allSatisfy(isDivisible) else { return [task] }
    let length = unit(first)
    let count = Int(clamping: (first.sampleCount + length / 2) / length)
    guard count > 1 else { return [task] }
    return try mapErrors(to: PlanError.time("the parts of the audio")) { () throws(TimeError) in
      var (starts, last) = ([0], 0)
      for number in 1..<count {
        let decoded = try decoded(before: Int64(number) * length, of: first)
        if decoded * decodedShare <= Double(Int64(number - last) * length) / Double(first.sampleRate) {
          starts.append(number)
          last = number
        }
      }
      guard starts.count > 1 else { return [task] }
      let ends = starts.dropFirst() + [Int.max]
      return zip(starts, ends).map { start, end in
        AudioTask(
          mixes: task.mixes.map { mix in
            let length = unit(mix)
            return mix.part(Int64(start) * length..<(end == .max ? mix.sampleCount : Int64(end) * length))
          })
      }
    }
  }

  private static func isDivisible(_ mix: AudioMixdown) -> Bool {
    mix.loudness == nil && !mix.hasState && mix.encoders.allSatisfy { $0.codec.definition.joins != nil }
  }

  /// The length of a part in samples.
  private static func unit(_ mix: AudioMixdown) -> Int64 {
    (Int64(partSeconds * mix.sampleRate) + granule / 2) / granule * granule
  }

  /// How much of the sources a mix decodes, and drops, to begin at a sample of the film, in seconds.
  private static func decoded(before sample: Int64, of mix: AudioMixdown) throws(TimeError) -> Double {
    let time = mix.time(ofSample: sample)
    var seconds = 0.0
    for clip in mix.tracks.flatMap({ $0.clips + ($0.lanes ?? []).flatMap(\.clips) }) {
      let target = clip.targetRange
      guard target.start < time, time < target.end else { continue }
      let played = try (time - target.start).approximateSeconds
      let source = mix.sources[clip.source]
      // Of a reversed clip the end is read first.
      let first = clip.isReversed == true ? clip.sourceRange.end : clip.sourceRange.start
      if source.audio.bitDepth == nil || source.nested != nil {
        let speed = clip.sourceRange.duration.approximateSeconds / target.duration.approximateSeconds
        seconds += first.approximateSeconds + (clip.isReversed == true ? 0 : played * speed)
      } else if clip.hasState {
        seconds += played
      }
    }
    return seconds
  }
}

extension AudioMixdown {
  /// The time of the composition of a sample of the film.
  fileprivate func time(ofSample sample: Int64) -> MediaTime {
    MediaTime(value: (firstSample ?? 0) + sample, timescale: Int32(clamping: sampleRate))
  }

  /// A part of the mix, with the clips that are heard in it.
  /// - Parameter samples: Of the film.
  fileprivate func part(_ samples: Range<Int64>) -> AudioMixdown {
    let joins = encoders.compactMap(\.codec.definition.joins)
    let runUp = Int64(joins.map { $0.runUp * $0.frameSize }.max() ?? 0)
    let lookAhead = Int64(joins.map { $0.lookAhead * $0.frameSize }.max() ?? 0)
    let heard = max(0, samples.lowerBound - runUp)..<min(sampleCount, samples.upperBound + lookAhead)
    var part = self
    part.firstSample = (firstSample ?? 0) + heard.lowerBound
    part.sampleCount = Int64(heard.count)
    part.part = AudioPart(origin: heard.lowerBound, samples: samples)
    // With what is rounded to a sample of it.
    let (first, end) = (time(ofSample: heard.lowerBound - 1), time(ofSample: heard.upperBound + 1))
    var numbers: [Int: Int] = [:]
    part.sources = []
    func kept(_ clips: [PlannedAudioClip]) -> [PlannedAudioClip] {
      clips.filter { $0.targetRange.start < end && first < $0.targetRange.end }.map { clip in
        var clip = clip
        let number = numbers[clip.source] ?? part.sources.count
        if number == part.sources.count { part.sources.append(sources[clip.source]) }
        (numbers[clip.source], clip.source) = (number, number)
        return clip
      }
    }
    part.tracks = tracks.compactMap { track in
      var track = track
      track.clips = kept(track.clips)
      track.lanes = track.lanes?.map { PlannedAudioLane(fades: $0.fades, clips: kept($0.clips)) }
      let isSilent = track.clips.isEmpty && (track.lanes ?? []).allSatisfy(\.clips.isEmpty)
      return isSilent ? nil : track
    }
    return part
  }
}
