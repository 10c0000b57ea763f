import CompositionModel
import FoundationEssentials
package import Media
import PieceFiles
package import RenderTasks

/// Makes an output's file from its pieces. Packets are copied and never encoded again. The file is read again, by its
/// index and its first picture, before it counts (`OutputCheck`).
///
/// Every piece's header is checked against the task and against the others before anything is written, and every packet
/// when it is copied. Each piece is read once, from its first packet to its last, one packet at a time, so memory
/// depends neither on the output's length nor on the number of pieces. If a piece is refused, the output is incomplete
/// and should be deleted.
package enum OutputStitcher {
  /// Of an output's audio: far more than a film has.
  private static let greatestPartCount = 1 << 20

  /// - Parameters:
  ///   - pieces: The video's pieces by segment, then the audio's by part, as in the task, then the file of the artwork.
  ///   - descriptor: An empty file that can be read and can seek. The caller closes it.
  ///   - liveness: Advanced with every piece that is opened and every packet that is read or written.
  ///   - progress: Called with the number of bytes in the file, which only rises, about once for each mebibyte.
  /// - Returns: The damaged media that the film shows, as the pieces have them.
  /// - Throws: `.piece` for a piece that differs from the task or from the others, `.media` for one that cannot be read
  ///   and if the container refuses, `.task` for an invalid payload, `.output` if what was written is not what was
  ///   planned, `.infrastructure` if this machine ran out of something.
  @discardableResult
  package static func stitch(
    _ file: StitchedFile, pieces: [any ByteSource], to descriptor: Int32, liveness: Liveness? = nil,
    progress: (Int64) -> Void
  ) throws(StitchError) -> ShownDamage {
    try stitch(file, pieces: pieces, to: descriptor, from: 0, liveness: liveness, progress: progress).damage
  }

  /// The same, behind other bytes of the file.
  /// - Parameter start: The place of the output's first byte.
  /// - Returns: The size of the output too.
  static func stitch(
    _ file: StitchedFile, pieces: [any ByteSource], to descriptor: Int32, from start: Int64, liveness: Liveness?,
    progress: (Int64) -> Void
  ) throws(StitchError) -> (damage: ShownDamage, size: Int64) {
    let videoCount = file.video?.frameCounts.count ?? 0
    let audioCount = file.audio.map { $0.parts ?? 1 } ?? 0
    guard file.audio == nil || (1...greatestPartCount).contains(audioCount) else {
      throw StitchError(.task, "an output has \(audioCount) parts of audio; 1 to \(greatestPartCount) are possible")
    }
    let expected = videoCount + audioCount
    let inputs = pieces
    let pieces = Array(inputs.prefix(expected))
    guard inputs.count == expected + (file.artwork == nil ? 0 : 1) else {
      throw StitchError(
        .task,
        "\(inputs.count) inputs were given; the output has \(expected) pieces and "
          + (file.artwork == nil ? "no artwork" : "artwork"))
    }
    guard expected > 0 else { throw StitchError(.task, "an output needs video or audio") }
    var tracks: [FileMuxer.Track] = []
    var video: VideoPackets?
    if let settings = file.video {
      let opened = try open(settings, file.videoLabel, Array(pieces.prefix(videoCount)), liveness)
      video = opened.packets
      tracks.append(opened.track)
    }
    var audio: AudioPackets?
    if let settings = file.audio {
      let opened = try open(settings, file.audioLabel, Array(pieces.suffix(audioCount)), index: videoCount, liveness)
      audio = opened.packets
      tracks.append(opened.track)
    }
    var texts = try TextPackets(file.texts ?? [])
    let artwork = try file.artwork.map { artwork throws(StitchError) in
      try artwork.file(in: inputs[expected], liveness)
    }
    var output = try OutputFile(
      file, tracks: tracks, texts: texts.tracks, artwork: artwork, descriptor: descriptor, start: start, liveness)
    var fragments = try Fragments(file)
    let order = Interleaving(
      frameDuration: file.video?.format.frameDuration ?? .zero, sampleRate: file.audio?.encoder.sampleRate ?? 1)
    while video?.next != nil || audio?.next != nil {
      let (frame, samples) = (video?.next, audio?.next)
      if let frame, samples.map({ order.putsVideoFirst(frame: frame.dts, sample: $0.pts) }) ?? true {
        try texts.write(through: order.milliseconds(frame: frame.dts), to: output.muxer)
        if fragments?.begins(withFrame: frame) == true { try output.beginFragment() }
        try output.write(frame, track: 0, progress: progress)
        try video?.advance()
      } else if let samples {
        try texts.write(through: order.milliseconds(sample: samples.pts), to: output.muxer)
        if fragments?.begins(withSample: samples.pts) == true { try output.beginFragment() }
        try output.write(samples, track: tracks.count - 1, discarded: audio?.discarded ?? 0, progress: progress)
        try audio?.advance()
      }
    }
    try texts.write(through: .max, to: output.muxer)
    try output.finish(progress: progress)
    var size = output.muxer.byteCount
    if let aperture = file.cleanAperture, let stored = file.video?.format.size {
      size = try MovieIndex.state(aperture, of: stored, in: descriptor, from: start, size: size)
    }
    try OutputCheck.check(
      writtenTo: descriptor, start..<(start + size), container: file.container,
      tracks: tracks.map(OutputCheck.Track.init),
      textCount: texts.tracks.count, liveness: liveness)
    return (try damage(video, audio, frameDuration: file.video?.format.frameDuration ?? .zero), size)
  }

  /// What is damaged, each picture once.
  private static func damage(
    _ video: VideoPackets?, _ audio: AudioPackets?, frameDuration: MediaTime
  ) throws(StitchError) -> ShownDamage {
    var counter = DamageCounter(limit: ShownDamage.placesOfFilm)
    for (piece, firstFrame, record) in video?.damage ?? [] {
      counter.add(try decode(record, ofPiece: piece), at: Double(firstFrame) * frameDuration.approximateSeconds)
    }
    for (piece, record) in audio?.damage ?? [] { counter.add(try decode(record, ofPiece: piece), at: 0) }
    return counter.damage
  }

  private static func decode(_ record: [UInt8], ofPiece piece: Int) throws(StitchError) -> ShownDamage {
    let damage: ShownDamage
    do {
      damage = try JSONDecoder().decode(ShownDamage.self, from: Data(record))
    } catch {
      throw StitchError(.piece, piece: piece, "its record of damage cannot be decoded: \(error)")
    }
    if let impossibility = damage.impossibility {
      throw StitchError(.piece, piece: piece, "its record of damage is impossible: \(impossibility)")
    }
    return damage
  }

  private static func open(
    _ settings: StitchedVideo, _ label: TrackLabel?, _ pieces: [any ByteSource], _ liveness: Liveness?
  ) throws(StitchError) -> (packets: VideoPackets, track: FileMuxer.Track) {
    var headers: [PieceHeader] = []
    for (index, count) in settings.frameCounts.enumerated() {
      guard count > 0 else { throw StitchError(.task, "segment \(index) has \(count) frames") }
      headers.append(try PieceReader.open(pieces[index], piece: index).header)
      liveness?.advance()
    }
    let (header, video) = try PieceChecks.video(headers, settings)
    let frameCount = settings.frameCounts.reduce(0, +)
    let duration = try mapErrors(to: StitchError.outputTime) {
      () throws(TimeError) in try settings.format.frameDuration * Rational(frameCount)
    }
    return (
      try VideoPackets(pieces, frameCounts: settings.frameCounts, reorderDepth: video.reorderDepth),
      FileMuxer.Track(header: header, packetCount: frameCount, duration: duration, label: label)
    )
  }

  /// - Parameter index: The number of the first piece.
  private static func open(
    _ settings: StitchedAudio, _ label: TrackLabel?, _ pieces: [any ByteSource], index: Int, _ liveness: Liveness?
  ) throws(StitchError) -> (packets: AudioPackets, track: FileMuxer.Track) {
    var headers: [PieceHeader] = []
    for (part, piece) in pieces.enumerated() {
      headers.append(try PieceReader.open(piece, piece: index + part).header)
      liveness?.advance()
    }
    let (header, audio) = try PieceChecks.audio(headers, settings, piece: index)
    var packetCount: Int64 = 0
    if audio.frameSize > 0 {
      packetCount = (settings.sampleCount + Int64(audio.initialPadding + audio.frameSize - 1)) / Int64(audio.frameSize)
    } else {
      for (part, piece) in pieces.enumerated() {
        packetCount += try countedPackets(piece, index: index + part, liveness)
      }
    }
    let packets = try AudioPackets(
      pieces, piece: index, sampleCount: settings.sampleCount, audio: audio, packetCount: packetCount)
    let duration = MediaTime(value: settings.sampleCount, timescale: Int32(clamping: audio.sampleRate))
    return (
      packets, FileMuxer.Track(header: header, packetCount: Int(packetCount), duration: duration, label: label)
    )
  }

  /// The number of packets of a codec whose packets hold any number of samples (PCM), which only reading them all
  /// gives.
  private static func countedPackets(
    _ piece: any ByteSource, index: Int, _ liveness: Liveness?
  ) throws(StitchError) -> Int64 {
    let reader = try PieceReader.open(piece, piece: index)
    var count: Int64 = 0
    while try reader.next(ofPiece: index) != nil {
      count += 1
      liveness?.advance()
    }
    return count
  }
}

extension PlannedArtwork {
  /// The picture in its file.
  func file(in source: any ByteSource, _ liveness: Liveness?) throws(StitchError) -> ArtworkFile {
    try mapErrors(to: StitchError.media) { () throws(MediaError) in
      try ArtworkFile(
        source, name: "media \(digest.prefix(12))", track: track, format: format,
        isForSharing: isForSharing ?? false, liveness: liveness)
    }
  }
}

/// The order of packets in the file: the one that is presented or decoded first.
struct Interleaving: Sendable {
  /// Seconds a frame, as a fraction.
  private let frame: (numerator: Int128, denominator: Int128)
  private let sampleRate: Int128

  init(frameDuration: MediaTime, sampleRate: Int) {
    frame = (Int128(frameDuration.value), Int128(frameDuration.timescale))
    self.sampleRate = Int128(sampleRate)
  }

  /// The time, rounded down, at which a frame is decoded.
  func milliseconds(frame decoding: Int64) -> Int64 {
    Int64(clamping: Int128(decoding) * frame.numerator * 1000 / max(1, frame.denominator))
  }

  /// The time, rounded down, of a sample.
  func milliseconds(sample presentation: Int64) -> Int64 {
    Int64(clamping: Int128(presentation) * 1000 / max(1, sampleRate))
  }

  /// Whether the frame with this decoding time goes before the audio packet at this sample. At the same time it does.
  func putsVideoFirst(frame decoding: Int64, sample presentation: Int64) -> Bool {
    Int128(decoding) * frame.numerator * sampleRate <= Int128(presentation) * frame.denominator
  }
}

/// The output file while it is written.
private struct OutputFile {
  /// The bytes from one report of progress to the next.
  private static let step: Int64 = 1 << 20

  let muxer: FileMuxer
  private var reported: Int64 = 0

  init(
    _ file: StitchedFile, tracks: [FileMuxer.Track], texts: [TextTrack], artwork: ArtworkFile?, descriptor: Int32,
    start: Int64, _ liveness: Liveness?
  ) throws(StitchError) {
    muxer = try mapErrors(to: StitchError.writing) { () throws(MediaError) in
      try FileMuxer(
        descriptor: descriptor, from: start, name: "the output", container: file.container, tracks: tracks,
        texts: texts, indexFirst: file.optimizeForNetworkUse, metadata: file.metadata, chapters: file.chapters ?? [],
        rotation: file.rotation ?? 0, plays: file.plays, artwork: artwork, liveness: liveness)
    }
  }

  mutating func write(
    _ packet: Packet, track: Int, discarded: Int = 0, progress: (Int64) -> Void
  ) throws(StitchError) {
    try mapErrors(to: StitchError.writing) { () throws(MediaError) in
      try muxer.write(packet, track: track, discarded: discarded)
    }
    if muxer.byteCount - reported >= Self.step {
      reported = muxer.byteCount
      progress(reported)
    }
  }

  func beginFragment() throws(StitchError) {
    try mapErrors(to: StitchError.writing) { () throws(MediaError) in try muxer.beginFragment() }
  }

  func finish(progress: (Int64) -> Void) throws(StitchError) {
    try mapErrors(to: StitchError.writing) { () throws(MediaError) in try muxer.finish() }
    progress(muxer.byteCount)
  }
}
