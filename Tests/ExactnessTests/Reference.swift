import CompositionModel
import Foundation
import TestMedia
import TestPrograms

/// What `ffmpeg` decodes of a file from its head, and which of its frames and samples "Exact rules" in
/// docs/architecture.md have shown and heard at a time of the asset. Nothing here is the product's own computation.
struct Reference {
  var video: Video?
  var audio: Audio?

  struct Video {
    struct Frame {
      /// The stored presentation time, in ticks.
      var time: Int64
      /// The SHA-256 of the picture without padding, in hexadecimal.
      var hash: String
    }

    /// How a frame's time follows from its stored one.
    enum Rule {
      case stored
      /// The container rounds times to its ticks; frame n is due at n/rate after the first.
      case constant(Rational)
      /// The container rounds times to its ticks, and the rate varies.
      case rounded
    }

    /// In order of presentation.
    var frames: [Frame]
    /// Seconds a tick.
    var tick: Rational
    /// The time zero of the asset, in seconds of the stored times: a whole number of ticks.
    var zero: Rational
    var rule: Rule
    var size: PixelSize
    /// Whether the pixels are square.
    var isSquare: Bool

    /// The stored time of a frame on the asset's timeline.
    func stored(_ index: Int) throws -> Rational { try Rational(frames[index].time) * tick - zero }

    /// The time at which a frame is due on the asset's timeline.
    func due(_ index: Int) throws -> Rational {
      guard case .constant(let rate) = rule else { return try stored(index) }
      return try stored(0) + Rational(index) / rate
    }

    /// The start of a clip that is written to start here: a stored time stands for its frame.
    func start(_ written: Rational) throws -> Rational {
      guard case .constant = rule else { return written }
      for index in frames.indices {
        let stored = try stored(index)
        if stored == written { return try max(stored, due(index)) }
        if written < stored { break }
      }
      return written
    }

    /// The number of the frame that is shown at a time of the asset: the last one that is due, or the first.
    func shown(at time: Rational) throws -> Int {
      var shown = 0
      for index in frames.indices {
        let isDue =
          switch rule {
          case .stored, .constant: try due(index) <= time
          // Half a tick before its time, or less than a whole one if time zero was rounded too.
          case .rounded:
            zero == .zero
              ? try stored(index) <= time + tick / Rational(2) : try stored(index) < time + tick
          }
        if isDue { shown = index } else { break }
      }
      return shown
    }
  }

  struct Audio {
    /// The number of the first sample, counted from time zero of the asset.
    var first: Int64
    var rate: Int64
    var channels: Int
    /// Channels side by side.
    var samples: [Float]

    /// A sample of a channel as a signed integer of 24 bits; 0 where there is none.
    func sample(_ position: Int64, channel: Int) -> Int32 {
      let index = Int(position - first) * channels + channel
      guard position >= first, index < samples.count else { return 0 }
      let scaled = (samples[index] * 8_388_608).rounded(.toNearestOrEven)
      return Int32(min(max(scaled, -8_388_608), 8_388_607))
    }
  }
}

extension Reference {
  /// - Parameters:
  ///   - description: Says which tracks a clip uses, and nothing of what is compared.
  ///   - copy: Where a copy of the frames is written, each at its number in 1/25 s. Nil: it is not needed.
  init(_ path: String, _ source: Source, _ description: AssetDescription, copy: String? = nil) throws {
    var starts: [Int: Rational] = [:]
    let isMovie = description.container == "mov"
    let (picture, sound) = (description.defaultTrack(.video), description.defaultTrack(.audio))
    let file = try isMovie ? Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped) : Data()
    let isFragmented = file.range(of: Data("moof".utf8)) != nil
    // In sound without an edit list, iTunes' metadata state the encoder's delay.
    let isPlacedByEdits = picture != nil || file.range(of: Data("elst".utf8)) != nil
    let usesEarliest = !isMovie || isFragmented || !isPlacedByEdits
    if let picture {
      var video = try Self.video(path, track: picture.index, copy: copy)
      starts[picture.index] = try Rational(video.frames[0].time) * video.tick
      // Of a file that was not made here, the rate is what most of its frames have.
      let isMade = if case .existing? = source.steps.first { false } else { true }
      let rate = try isMade ? source.rate?.exact : picture.video?.nominalFrameRate.exact
      try video.setRule(source, container: description.container, rate: rate)
      self.video = video
    }
    for track in description.tracks where starts[track.index] == nil && (track.type == .video || track.type == .audio) {
      if usesEarliest || track.index == sound?.index { starts[track.index] = try Self.start(path, track.index) }
    }
    let zero = usesEarliest ? starts.values.min() ?? .zero : .zero
    if let tick = video?.tick { video?.zero = try Rational((zero / tick).rounded) * tick }
    if let sound, let format = sound.audio, let start = starts[sound.index] {
      let data = try Tool.run(
        "ffmpeg",
        ["-v", "quiet", "-nostdin", "-threads", "1", "-i", path, "-map", "0:\(sound.index)"]
          + ["-c:a", "pcm_f32le", "-f", "f32le", "-"]
      ).output
      let tick = try sound.timebase.exact
      let first = try ((start - Rational((zero / tick).rounded) * tick) * Rational(format.sampleRate)).rounded
      audio = Audio(
        first: Int64(first), rate: Int64(format.sampleRate), channels: format.channels, samples: data.floats)
      if isMovie, case .existing? = source.steps.first { try audio?.openGaps(path, track: sound.index, tick: tick) }
    }
  }

  private static func video(_ path: String, track: Int, copy: String?) throws -> Video {
    let passthrough = ["-map", "0:\(track)", "-fps_mode", "passthrough"]
    var arguments = ["-v", "quiet", "-nostdin", "-y", "-threads", "1", "-copyts", "-i", path]
    arguments += passthrough + ["-enc_time_base", "-1", "-f", "framehash", "-hash", "sha256", "-"]
    if let copy {
      let codec = copy.hasSuffix(".nut") ? "rawvideo" : "ffv1"
      arguments += passthrough + ["-vf", "settb=1/25,setpts=N", "-enc_time_base", "1/25", "-c:v", codec, copy]
    }
    // Its exit code is not looked at, because it may complain of damage and decodes what it can.
    let result = try copy == nil ? Tool.kept("ffmpeg", arguments) : Tool.result(of: "ffmpeg", arguments)
    var list = try FrameList(String(decoding: result.output, as: UTF8.self), name: path)
    if zip(list.frames, list.frames.dropFirst()).contains(where: { $0.time >= $1.time }) {
      // The muxer has given pictures that come too early the time of the one before.
      let times = try Tool.ffprobe(
        "-threads", "1", "-select_streams", "\(track)", "-show_entries", "frame=best_effort_timestamp", path
      ).compactMap { $0.first.flatMap { Int64($0) } }
      if times.count == list.frames.count { for index in times.indices { list.frames[index].time = times[index] } }
    }
    return Video(
      frames: list.frames, tick: list.tick, zero: .zero, rule: .stored, size: list.size, isSquare: list.isSquare)
  }

  /// The time of the first frame or samples of a track, in seconds of the stored times.
  private static func start(_ path: String, _ track: Int) throws -> Rational {
    // An edit list may leave out many packets before the first frame.
    var frames: [[String]] = []
    for count in [5, 5000] where frames.allSatisfy({ $0.first?.isEmpty ?? true }) {
      frames = try Tool.ffprobe(
        "-select_streams", "\(track)", "-show_entries", "frame=best_effort_timestamp",
        "-read_intervals", "%+#\(count)", path)
    }
    let streams = try Tool.ffprobe("-select_streams", "\(track)", "-show_entries", "stream=time_base", path)
    let tick = (streams.first { $0.first?.isEmpty == false }?.first ?? "").split(separator: "/").compactMap {
      Int128($0)
    }
    guard let time = frames.compactMap({ $0.first.flatMap { Int128($0) } }).first, tick.count == 2 else {
      throw Tool.Failure(description: "\(path): ffprobe finds no time in track \(track)")
    }
    return try Rational(time) * Rational(tick[0], tick[1])
  }
}

extension Reference.Audio {
  /// Puts silence where the stored time of a frame is more than a millisecond after the end of the one before: what
  /// `ffmpeg` writes to a stream without times has it left out.
  fileprivate mutating func openGaps(_ path: String, track: Int, tick: Rational) throws {
    let frames = try Tool.ffprobe(
      "-threads", "1", "-select_streams", "\(track)", "-show_entries", "frame=best_effort_timestamp,nb_samples", path
    ).compactMap { fields -> (time: Int64, count: Int64)? in
      guard fields.count >= 2, let time = Int64(fields[0]), let count = Int64(fields[1]) else { return nil }
      return (time, count)
    }
    guard Int(frames.map(\.count).reduce(0, +)) * channels == samples.count else { return }
    var (placed, taken, end): ([Float], Int, Int64?) = ([], 0, nil)
    for frame in frames {
      let position = Int64(try (Rational(frame.time) * tick * Rational(rate)).rounded)
      if let expected = end, position > expected + rate / 1000 {
        placed += Array(repeating: 0, count: Int(position - expected) * channels)
        end = position
      }
      let values = Int(frame.count) * channels
      placed += samples[taken..<taken + values]
      taken += values
      end = (end ?? position) + frame.count
    }
    samples = placed
  }
}

extension Reference.Video {
  /// Decides how times follow from stored ones.
  fileprivate mutating func setRule(_ source: Source, container: String, rate: Rational?) throws {
    if source.isJoined, let rate {
      let step = try (Rational(1) / (rate * tick)).rounded
      for index in frames.indices.dropFirst() { frames[index].time = frames[index - 1].time + Int64(step) }
    }
    // A picture whose time is before that of the one before is not shown, and of pictures at one time the last is.
    var shown: [Frame] = []
    for frame in frames {
      if let last = shown.last, frame.time < last.time { continue }
      if let last = shown.last, frame.time == last.time { shown.removeLast() }
      shown.append(frame)
    }
    frames = shown
    guard container.contains("matroska") || container == "flv" else { return }
    rule = .rounded
    guard let rate else { return }
    let ticksAFrame = try Rational(1) / (rate * tick)
    guard ticksAFrame >= Rational(3) else { return }
    for (index, frame) in frames.enumerated() {
      let difference = try Rational(index) * ticksAFrame - Rational(frame.time - frames[0].time)
      if difference > .one || difference < Rational(-1) { return }
    }
    rule = .constant(rate)
  }
}

/// The output of ffmpeg's muxer `framehash`.
struct FrameList {
  var frames: [Reference.Video.Frame] = []
  var tick = Rational.one
  var size = PixelSize(width: 0, height: 0)
  var isSquare = true

  init(_ text: String, name: String) throws {
    for line in text.split(separator: "\n") {
      if line.hasPrefix("#tb 0: ") {
        let parts = line.dropFirst(7).split(separator: "/").compactMap { Int128($0) }
        tick = try Rational(parts[0], parts[1])
      } else if line.hasPrefix("#dimensions 0: ") {
        let parts = line.dropFirst(15).split(separator: "x").compactMap { Int($0) }
        size = PixelSize(width: parts[0], height: parts[1])
      } else if line.hasPrefix("#sar 0: ") {
        let parts = line.dropFirst(8).split(separator: "/").compactMap { Int($0) }
        isSquare = parts[0] == parts[1] || parts[0] == 0
      } else if line.hasPrefix("0,") {
        let fields = line.split { $0 == "," || $0 == " " }
        guard fields.count == 6, let time = Int64(fields[2]) else {
          throw Tool.Failure(description: "\(name): ffmpeg lists a frame as \(line)")
        }
        frames.append(Reference.Video.Frame(time: time, hash: String(fields[5])))
      }
    }
    guard !frames.isEmpty else { throw Tool.Failure(description: "\(name): ffmpeg decodes no frame") }
  }
}
