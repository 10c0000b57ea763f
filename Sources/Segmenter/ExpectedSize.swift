import CompositionModel
package import RenderTasks

/// How many bytes a part of an output is expected to have.
package struct ExpectedSize: Sendable, Hashable {
  /// How a size was found.
  package enum Basis: String, Sendable, Hashable, Codable {
    /// From pieces that are in the result cache.
    case pieces
    /// From a bit rate that the settings state.
    case bitRate
    /// From the format of samples, which all have the same size.
    case samples
    /// A guess for the codec and its quality, bounded by the most bits a second that the settings state.
    case limitedQuality
    /// A guess for the codec and its quality.
    case quality
    /// A guess for the data rate of the codec's profile.
    case profile
    /// A guess for what the codec saves of the samples.
    case lossless
    /// From the sizes of the files that are copied.
    case files
  }

  package var bytes: Double
  package var least: Double
  package var most: Double
  package var basis: Basis

  package init(_ bytes: Double, spread: Double, _ basis: Basis) {
    (self.bytes, least, most, self.basis) = (bytes, bytes / spread, bytes * spread, basis)
  }

  /// A guess. Pictures that hardly move take far less than others, and none take as much more.
  static func guess(_ bytes: Double, spread: Double, _ basis: Basis) -> ExpectedSize {
    var size = ExpectedSize(bytes, spread: spread, basis)
    size.least /= spread
    return size
  }
}

extension RenderPlan {
  /// The share of a moving picture's bits that a frame takes that is like the one before.
  private static let stillShare = 0.03
  /// How far a guess is wrong at most that pieces of the same film have corrected.
  private static let correctedSpread = 2.0
  /// How much more or less than its share a part of a file has at most.
  private static let copiedSpread = 1.5
  /// How far an average bit rate is missed at most.
  private static let rateSpread = 1.1

  /// The bytes of an output's pictures: of those that are encoded, and of those that are copied.
  /// - Parameters:
  ///   - pieces: For each segment the bytes of its piece, if it is known.
  ///   - files: By digest, the bytes of a file's pictures and its duration in seconds.
  package func expectedSizes(
    of video: StitchedVideo, pieces: [Int64?], files: [String: (bytes: Int64, seconds: Double)]
  ) -> [ExpectedSize] {
    let frame = video.format.frameDuration.approximateSeconds
    var encoded: [(segment: Segment, piece: Int64?)] = []
    // Of copies, which say nothing about what an encoder takes: of those that are made, and of those that are not.
    var (known, copied) = (0.0, 0.0)
    for (segment, piece) in zip(segments, pieces) {
      let isCopy = segment.task.smart?.copy != nil
      let file = isCopy ? segment.task.sources.first.flatMap { files[$0.digest] } : nil
      if isCopy, let piece {
        known += Double(piece)
      } else if let file, file.seconds > 0 {
        copied += Double(file.bytes) * Double(segment.frames.count) * frame / file.seconds
      } else {
        encoded.append((segment, piece))
      }
    }
    var sizes: [ExpectedSize] = []
    if !encoded.isEmpty || copied + known == 0 {
      sizes.append(expectedSize(of: video, encoded.map(\.segment), pieces: encoded.map(\.piece)))
    }
    if known > 0 { sizes.append(ExpectedSize(known, spread: 1.01, .pieces)) }
    if copied > 0 { sizes.append(ExpectedSize(copied, spread: Self.copiedSpread, .files)) }
    return sizes
  }

  private func expectedSize(of video: StitchedVideo, _ segments: [Segment], pieces: [Int64?]) -> ExpectedSize {
    let pixels = Double(video.format.size.width * video.format.size.height)
    let frames = segments.reduce(0) { $0 + $1.frames.count }
    let seconds = Double(frames) * video.format.frameDuration.approximateSeconds
    let settings = video.encoder
    let guess = guess(for: video)
    let perPixel = guess.map { $0.likely * ExpectedBits.share(framePixels: pixels) / 8 } ?? 0
    let guesses = segments.map { $0.pictures(stillShare: Self.stillShare) * pixels * perPixel }
    let known = pieces.compactMap(\.self).reduce(0) { $0 + Double($1) }
    let total = guesses.reduce(0, +)
    if !pieces.contains(nil), !pieces.isEmpty { return ExpectedSize(known, spread: 1.01, .pieces) }
    if let rate = settings.averageBitRate {
      return ExpectedSize(seconds * Double(rate) / 8, spread: Self.rateSpread, .bitRate)
    }
    let knownGuess = zip(guesses, pieces).reduce(0) { $0 + ($1.1 == nil ? 0 : $1.0) }
    var size = ExpectedSize.guess(total, spread: guess?.spread ?? 1, settings.basis)
    if known > 0, knownGuess > 0 {
      let rest = (total - knownGuess) * known / knownGuess
      size = ExpectedSize(rest, spread: Self.correctedSpread, .pieces)
      (size.bytes, size.least, size.most) = (size.bytes + known, size.least + known, size.most + known)
    }
    if let limit = settings.rateLimit {
      let most = seconds * Double(limit.bitRate) / 8
      (size.bytes, size.least, size.most) = (min(size.bytes, most), min(size.least, most), min(size.most, most))
    }
    return size
  }

  private func guess(for video: StitchedVideo) -> ExpectedBits? {
    video.encoder.codec.definition.expectedBits(video.encoder)
  }

  /// The bytes of an output's sound.
  /// - Parameter piece: Those of its piece, if it is known.
  package func expectedSize(of audio: StitchedAudio, piece: Int64?) -> ExpectedSize {
    let settings = audio.encoder
    if let piece { return ExpectedSize(Double(piece), spread: 1.01, .pieces) }
    let samples = Double(audio.sampleCount)
    if let rate = settings.bitRate {
      return ExpectedSize(samples / Double(settings.sampleRate) * Double(rate) / 8, spread: 1.2, .bitRate)
    }
    let stored = samples * Double(settings.channels) * Double(settings.bitDepth) / 8
    // Silence takes next to nothing.
    return settings.codec == .pcm
      ? ExpectedSize(stored, spread: 1.001, .samples) : ExpectedSize(stored * 0.5, spread: 2, .lossless)
  }

  /// The bytes of a film that is copied. Nil: the sizes of its files are not known.
  /// - Parameter files: By digest, the bytes of a file and its duration in seconds.
  package func expectedSize(of copy: PassthroughTask, files: [String: (bytes: Int64, seconds: Double)])
    -> ExpectedSize?
  {
    var used: [String: Double] = [:]
    for track in copy.tracks where track.type != .subtitle {
      var ofTrack: [String: Double] = [:]
      for clip in track.clips {
        ofTrack[clip.digest, default: 0] += Double(clip.end - clip.start) * clip.timebase.approximateSeconds
      }
      for (digest, seconds) in ofTrack { used[digest] = max(used[digest] ?? 0, seconds) }
    }
    var bytes = 0.0
    for (digest, seconds) in used.sorted(by: { $0.key < $1.key }) {
      guard let file = files[digest], file.seconds > 0 else { return nil }
      bytes += Double(file.bytes) * seconds / file.seconds
    }
    return ExpectedSize(bytes, spread: Self.copiedSpread, .files)
  }
}

extension Segment {
  /// How many frames differ from the one before, and a share of the others.
  fileprivate func pictures(stillShare: Double) -> Double {
    task.spans.reduce(0) { sum, span in
      let changes = span.layers.contains { task.changes(in: $0) } || span.filters?.contains { $0.changes } == true
      let count = Double(span.frames.count)
      // Its first frame is new in any case.
      return sum + (changes ? count : min(count, 1) + stillShare * max(0, count - 1))
    }
  }
}

extension VideoTask {
  /// Whether a layer is likely to be another picture in each frame.
  fileprivate func changes(in layer: PlannedLayer) -> Bool {
    func changes(_ clip: ClipLayer) -> Bool {
      let isStill = sources.indices.contains(clip.source) && sources[clip.source].video.isStill
      let isHeld = clip.sourceRange.isEmpty && clip.retiming == nil
      let stands = clip.geometry?.isConstant(from: clip.targetRange.start) ?? true
      return !(isStill || isHeld) || !stands || !clip.opacity.ramps.isEmpty
        || clip.filters?.contains { $0.changes } == true
    }
    switch layer {
    case .clip(let clip): return changes(clip)
    case .transition: return true
    case .compositor: return true
    }
  }
}

extension VideoSettings {
  fileprivate var basis: ExpectedSize.Basis {
    switch rateControl {
    case .averageBitRate: .bitRate
    case .quality: rateLimit == nil ? .quality : .limitedQuality
    case .profile: .profile
    case .lossless: .lossless
    }
  }
}
