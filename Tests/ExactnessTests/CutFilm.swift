import CompositionModel
import Foundation
import TestPrograms

/// A film of many short clips of one source, and what each of its frames and samples must be.
struct CutFilm {
  struct Clip {
    /// On the asset's timeline, as it is written.
    var start: Rational
    var length: Rational
    /// On the film's timeline.
    var place: Rational
  }

  let clips: [Clip]
  let frameDuration: Rational
  let hasVideo: Bool
  let audio: (rate: Int, channels: Int)?
  let duration: Rational
  /// The colour of the film in the document's notation. Nil: the document has none.
  private let colour: String?

  /// The frame durations of films, apart from the source's own.
  private static let rates = [Source.Rate(24, 1), Source.Rate(30000, 1001), Source.Rate(50, 1), Source.Rate(30, 1)]

  /// Chooses clips at hard places: at stored times, a tick before and after, at keyframes, at the ends, at jumps of the
  /// timestamps, and anywhere.
  init(_ asset: AssetDescription, _ reference: Reference, clipCount: Int, random: inout SeededRandom) throws {
    let track = asset.defaultTrack(.video)
    let video = reference.video
    hasVideo = video != nil
    colour = track?.video.flatMap(Self.ownColour)
    audio = reference.audio.map { (Int($0.rate), $0.channels) }
    let own =
      try track?.video.flatMap { try $0.nominalFrameRate > .zero ? $0.nominalFrameRate.exact : nil } ?? Rational(25)
    let isOwn = Int.random(in: 0..<4, using: &random) > 0 && own.numerator < 1 << 20
    let rate = try isOwn ? own : Self.rates.randomElement(using: &random)!.exact
    frameDuration = try Rational(1) / rate
    let end = try asset.duration.exact
    // A tick of at most 1/1000000 s, so that sums of times can be written.
    let tick = try video.map { try max($0.tick, Rational(1, 1_000_000)) } ?? Rational(1, Int128(audio?.rate ?? 48000))
    let starts = track?.video?.keyframes.map(\.pts) ?? []
    let jumps = try asset.timeJumps.map { try $0.time.exact }
    var place = Rational.zero
    var clips: [Clip] = []
    while clips.count < clipCount {
      var length = try frameDuration * Rational(Int.random(in: 2...6, using: &random))
      if Int.random(in: 0..<3, using: &random) == 0 { length = try length + frameDuration / Rational(2) }
      length = min(length, end)
      let last = try end - length
      let near = try tick * Rational(Int.random(in: -1...1, using: &random))
      var start: Rational
      switch Int.random(in: 0..<10, using: &random) {
      case 0: start = .zero
      case 1: start = last
      case 2: start = try end * Rational(Int128.random(in: 0...1000, using: &random), 1000)
      case 3 where !starts.isEmpty, 4 where !starts.isEmpty:
        let keyframe = starts.randomElement(using: &random)!
        start = try Rational(keyframe - (track?.origin ?? 0)) * (track?.timebase.exact ?? .one) + near
      case 5 where !jumps.isEmpty:
        start =
          try jumps.randomElement(using: &random)! - frameDuration * Rational(Int.random(in: 0...3, using: &random))
      default:
        if let video {
          let index = Int.random(in: 0..<video.frames.count, using: &random)
          let isDue = Bool.random(using: &random)
          start = try (isDue ? video.due(index) : video.stored(index)) + near
        } else {
          start = try Rational((end / tick).floor * Int128.random(in: 0...999, using: &random) / 1000) * tick
        }
      }
      start = min(max(start, .zero), max(.zero, last))
      // What a document cannot write exactly is not a cut.
      guard Self.isWritable(start), try Self.isWritable(start + length), try Self.isWritable(place + length) else {
        if clips.isEmpty, start == last { throw Tool.Failure(description: "no clip can be written") }
        continue
      }
      clips.append(Clip(start: start, length: length, place: place))
      place = try place + length
    }
    self.clips = clips
    duration = place
  }

  /// The source's own colour if it is one of BT.601 with 720 lines or more: without it the film would be one of BT.709.
  private static func ownColour(_ video: VideoFormat) -> String? {
    let known = [video.colour.primaries, video.colour.matrix].compactMap(\.self)
    guard video.size.height >= 720, let name = known.first(where: ["bt470bg", "smpte170m"].contains) else { return nil }
    // What is not stated is that of the film, whatever it is.
    let (primaries, matrix) = (video.colour.primaries ?? name, video.colour.matrix ?? name)
    let transfer = video.colour.transfer ?? "smpte170m"
    return "{ \"primaries\": \"\(primaries)\", \"transfer\": \"\(transfer)\", \"matrix\": \"\(matrix)\", "
      + "\"range\": \"\(video.colour.isFullRange ? "full" : "limited")\" }"
  }

  private static func isWritable(_ time: Rational) -> Bool { time.denominator < 1 << 31 && time.numerator < 1 << 31 }

  /// The document.
  func document(of path: String) throws -> String {
    // The reference is what `ffmpeg` decodes, with both fields of an interlaced picture.
    let asStored = hasVideo ? ", \"deinterlace\": false" : ""
    let clips = clips.map { "{ \"asset\": \"a\", \"use\": \"\($0.start.text)+\($0.length.text)\"\(asStored) }" }
    let tracks = "\"type\": \"\(hasVideo ? "video" : "audio")\"" + (hasVideo && audio != nil ? ", \"sound\": true" : "")
    let sound = audio.map {
      "{ \"codec\": \"pcm\", \"sampleRate\": \($0.rate), \"channels\": \($0.channels), \"bitDepth\": 24 }"
    }
    return """
      { "sheaf": 1, "assets": { "a": "\(path)" },
        "tracks": [ { "id": "A", \(tracks), "clips": [ \(clips.joined(separator: ", ")) ] } ],
        "videoComposition": { "frameDuration": "\(frameDuration.text)"\(colour.map { ", \"color\": \($0)" } ?? "") },
        "export": { "video": \(hasVideo ? "{ \"codec\": \"ffv1\" }" : "false"), "audio": \(sound ?? "false") } }
      """
  }

  /// The document that shows each frame of a copy once.
  static func document(ofCopy path: String) -> String {
    """
    { "sheaf": 1, "assets": { "a": "\(path)" },
      "tracks": [ { "clips": [ { "asset": "a", "deinterlace": false } ] } ],
      "videoComposition": { "frameDuration": "1/25" }, "export": { "video": { "codec": "ffv1" }, "audio": false } }
    """
  }

  /// For each frame of the film the number of the source's frame that it must show, and the source time.
  func frames(_ video: Reference.Video) throws -> [(shown: Int, time: Rational)] {
    let count = Int(try (duration / frameDuration).ceiling)
    var next = 0
    return try (0..<count).map { index in
      let time = try frameDuration * Rational(index)
      while next + 1 < clips.count, clips[next + 1].place <= time { next += 1 }
      let elapsed = try time - clips[next].place
      return (
        try video.shown(at: video.start(clips[next].start) + elapsed), try clips[next].start + elapsed
      )
    }
  }

  /// For each sample of a channel of the film the number of the source's sample that must be heard, counted from time
  /// zero of the asset.
  func samples(_ audio: Reference.Audio) throws -> [Int64] {
    let rate = Rational(audio.rate)
    var positions: [Int64] = []
    for clip in clips {
      let first = Int64(try (clip.start * rate).rounded)
      let (from, to) = try ((clip.place * rate).rounded, ((clip.place + clip.length) * rate).rounded)
      positions += first..<(first + Int64(to - from))
    }
    return positions
  }
}

extension Rational {
  /// As a document writes it.
  var text: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }
}

/// How much of a film was compared, and what was wrong.
struct Comparison {
  var frames = 0
  var wrongFrames = 0
  var samples = 0
  var wrongSamples = 0
  /// The first thing that was wrong.
  var firstProblem: String?

  mutating func add(_ other: Comparison) {
    frames += other.frames
    wrongFrames += other.wrongFrames
    samples += other.samples
    wrongSamples += other.wrongSamples
    firstProblem = firstProblem ?? other.firstProblem
  }

  /// What was shown and heard first of each frame and sample of the source.
  private var firstShown: [Int: String] = [:]
  private var firstHeard: [Int64: Int32] = [:]

  /// - Parameters:
  ///   - shown: The hash of each frame of the film.
  ///   - expected: For each frame of the film the number of the source's frame, and the source time.
  ///   - hashes: The hash of each frame of the source. Nil: each must be the same wherever it is shown.
  mutating func compare(_ shown: [String], with expected: [(shown: Int, time: Rational)], of hashes: [String]?) {
    frames += expected.count
    if shown.count != expected.count {
      wrongFrames += expected.count
      report("\(shown.count) frames, not \(expected.count)")
      return
    }
    for (index, (frame, time)) in expected.enumerated() {
      if firstShown[frame] == nil { firstShown[frame] = shown[index] }
      guard shown[index] != hashes?[frame] ?? firstShown[frame] else { continue }
      wrongFrames += 1
      guard firstProblem == nil else { continue }
      guard let hashes else {
        report("frame \(index), at \(time) s of the source, is another picture than elsewhere in the film")
        continue
      }
      let others = hashes.indices.filter { hashes[$0] == shown[index] }
      let found = others.isEmpty ? "no frame of the source" : "its frame \(others[0])"
      report("frame \(index), at \(time) s of the source, is \(found) and not \(frame)")
    }
  }

  /// - Parameters:
  ///   - heard: Channels side by side.
  ///   - positions: For each sample of a channel of the film the number of the source's sample.
  ///   - audio: The sound of the source.
  ///   - isReference: False: each sample of the source must be the same wherever it is heard.
  mutating func compare(_ heard: [Int32], with positions: [Int64], of audio: Reference.Audio, isReference: Bool) {
    let channels = audio.channels
    samples += positions.count * channels
    if heard.count != positions.count * channels {
      wrongSamples += positions.count * channels
      report("\(heard.count) samples, not \(positions.count * channels)")
      return
    }
    for (index, position) in positions.enumerated() {
      for channel in 0..<channels {
        let sample = heard[index * channels + channel]
        let expected: Int32
        if isReference {
          expected = audio.sample(position, channel: channel)
        } else {
          expected = firstHeard[position * Int64(channels) + Int64(channel)] ?? sample
          firstHeard[position * Int64(channels) + Int64(channel)] = expected
        }
        guard sample != expected else { continue }
        wrongSamples += 1
        report("sample \(index * channels + channel) is \(sample), not \(expected)")
      }
    }
  }

  private mutating func report(_ problem: String) { firstProblem = firstProblem ?? problem }
}
