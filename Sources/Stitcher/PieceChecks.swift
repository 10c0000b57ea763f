import CompositionModel
import Media
import PieceFiles
import RenderTasks

/// Whether pieces are those of the task, and agree with each other: everything that their headers show, before anything
/// is written.
enum PieceChecks {
  /// The header of the output's video: what all pieces agree on, with the largest reorder depth of any.
  static func video(
    _ headers: [PieceHeader], _ task: StitchedVideo
  ) throws(StitchError) -> (header: PieceHeader, video: EncodedVideo) {
    var agreed: (header: PieceHeader, video: EncodedVideo)?
    for (index, header) in headers.enumerated() {
      guard case .video(let video) = header.media else {
        throw StitchError(.piece, piece: index, "holds \(header.codec) audio where video belongs")
      }
      try check(header, video, against: task, piece: index)
      guard (0...maximumReorderDepth).contains(video.reorderDepth) else {
        throw StitchError(
          .piece, piece: index, "reorders \(video.reorderDepth) frames; 0 to \(maximumReorderDepth) are possible")
      }
      let depth = max(agreed?.video.reorderDepth ?? 0, video.reorderDepth)
      let found = header.withReorderDepth(depth, video)
      guard let first = agreed else {
        agreed = (header, video)
        continue
      }
      let expected = first.header.withReorderDepth(depth, first.video)
      if let difference = difference(found.header, expected.header) {
        throw StitchError(.piece, piece: index, "\(difference) piece 0's")
      }
      agreed = expected
    }
    guard let agreed else { throw StitchError(.task, "there is no piece of video") }
    return agreed
  }

  /// H.264 allows 16, and no other codec more.
  private static let maximumReorderDepth = 16

  private static func check(
    _ header: PieceHeader, _ video: EncodedVideo, against task: StitchedVideo, piece: Int
  ) throws(StitchError) {
    let format = task.format
    let codec = task.encoder.codec.definition.name
    if header.codec != codec {
      throw StitchError(.piece, piece: piece, "is \(header.codec); the output is \(codec)")
    }
    if header.timebase != format.frameDuration {
      throw StitchError(
        .piece, piece: piece, "has \(header.timebase) s a frame; the output has \(format.frameDuration)")
    }
    if video.size != format.size {
      throw StitchError(
        .piece, piece: piece,
        "is \(video.size.width)x\(video.size.height); the output is \(format.size.width)x\(format.size.height)")
    }
    let aspect = task.encoder.pixelAspect ?? .square
    if video.pixelAspect != aspect {
      throw StitchError(
        .piece, piece: piece,
        "has pixels of \(video.pixelAspect.horizontal) to \(video.pixelAspect.vertical); the output has "
          + "\(aspect.horizontal) to \(aspect.vertical)")
    }
    let name = format.pixelFormat.rawValue
    if video.pixelFormat != name, video.pixelFormat != name + "le", video.pixelFormat != name + "be" {
      throw StitchError(.piece, piece: piece, "has pixels of \(video.pixelFormat); the output has \(name)")
    }
    if video.hdr != task.encoder.hdr {
      throw StitchError(.piece, piece: piece, "states another brightness of high dynamic range than the output")
    }
    if video.colour != task.encoder.colour {
      throw StitchError(
        .piece, piece: piece, "has the colours \(text(video.colour)); the output has \(text(task.encoder.colour))")
    }
  }

  /// The header of the output's audio, which all pieces have.
  /// - Parameter piece: The number of the first.
  static func audio(
    _ headers: [PieceHeader], _ task: StitchedAudio, piece: Int
  ) throws(StitchError) -> (header: PieceHeader, audio: EncodedAudio) {
    guard let header = headers.first else { throw StitchError(.task, "there is no piece of audio") }
    let audio = try audio(header, task, piece: piece)
    for (part, other) in headers.enumerated() {
      if let difference = difference(other, header) {
        throw StitchError(.piece, piece: piece + part, "\(difference) piece \(piece)'s")
      }
    }
    return (header, audio)
  }

  /// The audio that a piece's header describes, which must be the task's.
  private static func audio(_ header: PieceHeader, _ task: StitchedAudio, piece: Int) throws(StitchError)
    -> EncodedAudio
  {
    guard case .audio(let audio) = header.media else {
      throw StitchError(.piece, piece: piece, "holds \(header.codec) video where the audio belongs")
    }
    let settings = task.encoder
    let expected = settings.codecName
    guard header.codec == expected else {
      throw StitchError(.piece, piece: piece, "is \(header.codec); the output's audio is \(expected)")
    }
    guard audio.sampleRate == settings.sampleRate, audio.channels == settings.channels else {
      throw StitchError(
        .piece, piece: piece,
        "has \(audio.channels) channels at \(audio.sampleRate) Hz; "
          + "the output has \(settings.channels) at \(settings.sampleRate)")
    }
    guard header.timebase == MediaTime(value: 1, timescale: Int32(clamping: settings.sampleRate)) else {
      throw StitchError(.piece, piece: piece, "counts in \(header.timebase) s and not in samples")
    }
    guard audio.initialPadding >= 0, audio.frameSize >= 0 else {
      throw StitchError(
        .piece, piece: piece, "has packets of \(audio.frameSize) samples and \(audio.initialPadding) of padding")
    }
    return audio
  }

  /// How a header differs from another, as a phrase that the other's name follows; nil if they are equal.
  private static func difference(_ found: PieceHeader, _ expected: PieceHeader) -> String? {
    if found == expected { return nil }
    if found.extradata != expected.extradata {
      return "has parameter sets (\(found.extradata.count) bytes) that are not"
    }
    if found.profile != expected.profile || found.level != expected.level {
      return "has profile \(found.profile) and level \(found.level), not"
    }
    if found.bitRate != expected.bitRate { return "has a bit rate of \(found.bitRate), not" }
    return "has a header that is not"
  }

  private static func text(_ colour: ColourTags) -> String {
    let names = [colour.primaries, colour.transfer, colour.matrix, colour.chromaLocation].map { $0 ?? "unset" }
    return names.joined(separator: "/") + (colour.isFullRange ? "/full" : "/limited")
  }
}

extension PieceHeader {
  /// The header and its video with another reorder depth, which alone may differ between the pieces of an output.
  fileprivate func withReorderDepth(
    _ depth: Int, _ video: EncodedVideo
  ) -> (header: PieceHeader, video: EncodedVideo) {
    var (header, video) = (self, video)
    video.reorderDepth = depth
    header.media = .video(video)
    return (header, video)
  }
}

extension PieceReader {
  /// Opens a piece. `piece` is its index among the inputs.
  static func open(_ source: any ByteSource, piece: Int) throws(StitchError) -> PieceReader {
    try mapErrors(to: StitchError.reading(piece)) { () throws(MediaError) in
      try PieceReader(source: source, name: "piece \(piece)")
    }
  }

  /// The next packet; nil after the last.
  func next(ofPiece piece: Int) throws(StitchError) -> Packet? {
    try mapErrors(to: StitchError.reading(piece)) { () throws(MediaError) in try next() }
  }
}
