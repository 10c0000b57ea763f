import CompositionModel
import RenderTasks

/// The tasks of a film's sound. A mix is divided into parts, of which each is a task, where its codecs allow it and no
/// sample of it depends on all that was heard before; what is not divided is one task.
///
/// Parts begin at multiples of a length, so that an edit leaves those before it, and those after it if nothing moves,
/// as they were. What a part's mix has to make first, and drops, grows with its place in a file that cannot be sought
/// in exactly (one of a lossy codec): there the parts become longer with it. No part begins far inside a clip that is
/// made from its own start. Each mix is divided by itself, so that an output has the same sound beside others and
/// alone.
struct SoundDivision {
  /// Where the pieces of an encoding are.
  struct Place {
    /// Which of the tasks make them.
    var tasks: Range<Int>
    /// The number of the piece in each task's package.
    var piece: Int
  }

  /// First those of parts.
  private(set) var tasks: [AudioTask] = []
  private var places: [AudioSettings: Place] = [:]

  /// - Parameter sound: The mixes of the whole film.
  init(_ sound: AudioTask) throws(PlanError) {
    var whole: [AudioMixdown] = []
    for mix in sound.mixes {
      let joined = mix.encoders.filter { $0.codec.definition.joins != nil }
      let parts = try mapErrors(to: PlanError.time("the parts of the audio")) { () throws(TimeError) in
        joined.isEmpty ? [] : try Self.parts(of: mix.encoded(as: joined))
      }
      guard parts.count > 1 else {
        whole.append(mix)
        continue
      }
      for (piece, encoder) in joined.enumerated() {
        places[encoder] = Place(tasks: tasks.count..<(tasks.count + parts.count), piece: piece)
      }
      tasks += parts.map { AudioTask(mixes: [$0]) }
      let others = mix.encoders.filter { !joined.contains($0) }
      if !others.isEmpty { whole.append(mix.encoded(as: others)) }
    }
    guard !whole.isEmpty else { return }
    let task = AudioTask(mixes: whole)
    for (piece, encoder) in task.encoders.enumerated() {
      places[encoder] = Place(tasks: tasks.count..<(tasks.count + 1), piece: piece)
    }
    tasks.append(task)
  }

  /// Nil: no output has such an encoding.
  func place(of encoder: AudioSettings) -> Place? { places[encoder] }

  // MARK: Parts

  /// The length of a part in seconds, about.
  private static let partSeconds = 120
  /// In a longer film parts are longer.
  private static let greatestPartCount: Int64 = 500
  /// A length of parts is a multiple of this many samples: of the blocks that are mixed, and of every codec's packets.
  private static let granule: Int64 = 8192
  /// The least length of a part, as a share of the sound that its mix decodes and drops before it. Decoding takes about
  /// a tenth of the time of encoding.
  private static let shareOfDecoded = 0.39
  /// How many times as long as decoding the filters of a clip take, and a changed speed whose pitch is kept.
  private static let (filtering, stretching) = (10.0, 40.0)

  /// A mix's parts, in order; one if it is not divided.
  private static func parts(of mix: AudioMixdown) throws(TimeError) -> [AudioMixdown] {
    guard mix.loudness == nil, !mix.hasState else { return [mix] }
    let unit = (Int64(partSeconds * mix.sampleRate) + granule / 2) / granule * granule
    let length = unit * max(1, (mix.sampleCount + unit * greatestPartCount - 1) / (unit * greatestPartCount))
    var starts: [Int64] = [0]
    // The last is at least half as long as the others.
    for start in stride(from: length, through: mix.sampleCount - length / 2, by: Int(length)) {
      let dropped = try made(before: start, of: mix)
      if dropped * shareOfDecoded <= Double(start - (starts.last ?? 0)) / Double(mix.sampleRate) {
        starts.append(start)
      }
    }
    return zip(starts, starts.dropFirst() + [mix.sampleCount]).map { mix.part($0..<$1) }
  }

  /// What a mix makes of its sources, and drops, to begin a part at a sample of the film: in seconds that are decoded.
  private static func made(before sample: Int64, of mix: AudioMixdown) throws(TimeError) -> Double {
    let heard = mix.heard(in: sample..<(sample + 1))
    let (first, end) = (mix.time(ofSample: heard.lowerBound), mix.time(ofSample: heard.upperBound))
    var seconds = 0.0
    for clip in mix.tracks.flatMap({ $0.clips + ($0.lanes ?? []).flatMap(\.clips) }) {
      let target = clip.targetRange
      guard target.start < end, first < target.end else { continue }
      let played = max(0, try (first - target.start).approximateSeconds)
      let source = mix.sources[clip.source]
      if source.audio.bitDepth == nil || source.nested != nil {
        // Of a reversed clip the end is read first.
        let isReversed = clip.isReversed == true
        let speed = clip.sourceRange.duration.approximateSeconds / target.duration.approximateSeconds
        seconds += (isReversed ? clip.sourceRange.end : clip.sourceRange.start).approximateSeconds
        seconds += isReversed ? 0 : played * speed
      }
      guard clip.hasState else { continue }
      let keepsSpeed = clip.speed == nil && clip.sourceRange.duration == target.duration
      seconds += played * (keepsSpeed || clip.pitch == .varispeed ? filtering : stretching)
    }
    return seconds
  }
}

extension AudioMixdown {
  /// The mix with other encodings of the same sample rate and channels.
  fileprivate func encoded(as encoders: [AudioSettings]) -> AudioMixdown {
    var mix = self
    mix.encoders = encoders
    return mix
  }

  /// The time of the composition of a sample of the film.
  fileprivate func time(ofSample sample: Int64) -> MediaTime {
    MediaTime(value: (firstSample ?? 0) + sample, timescale: Int32(clamping: sampleRate))
  }

  /// The samples of the film that the encoders of a part hear.
  fileprivate func heard(in samples: Range<Int64>) -> Range<Int64> {
    let joins = encoders.compactMap(\.codec.definition.joins)
    let runUp = Int64(joins.map { $0.runUp * $0.frameSize }.max() ?? 0)
    let lookAhead = Int64(joins.map { $0.lookAhead * $0.frameSize }.max() ?? 0)
    return max(0, samples.lowerBound - runUp)..<min(sampleCount, samples.upperBound + lookAhead)
  }

  /// A part of the mix, with the clips that are heard in it; the mix itself if it is all of it.
  /// - Parameter samples: Of the film.
  fileprivate func part(_ samples: Range<Int64>) -> AudioMixdown {
    guard samples != 0..<sampleCount else { return self }
    let heard = heard(in: samples)
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
