import CompositionModel
import Media
import Segmenter

/// Whether pieces are what the task says, and alike: what can be told from their headers, before anything is written.
enum PieceCheck {
  /// The header of the film's pictures: what all pieces agree on, with the largest delay that any of them needs.
  static func pictures(_ headers: [PieceHeader], _ task: StitchedVideo) throws(StitchError) -> PieceHeader {
    var film: PieceHeader?
    for (index, header) in headers.enumerated() {
      guard case .video(let video) = header.media else {
        throw StitchError(.piece, piece: index, "holds \(header.codec) sound where pictures belong")
      }
      try check(header, video, against: task, piece: index)
      guard (0...maximumReorderDepth).contains(video.reorderDepth) else {
        throw StitchError(
          .piece, piece: index,
          "says that \(video.reorderDepth) frames are reordered; 0 to \(maximumReorderDepth) can be")
      }
      guard let first = film, case .video(var agreed) = first.media else {
        film = header
        continue
      }
      agreed.reorderDepth = max(agreed.reorderDepth, video.reorderDepth)
      var (expected, found) = (first, header)
      expected.media = .video(agreed)
      var alike = video
      alike.reorderDepth = agreed.reorderDepth
      found.media = .video(alike)
      if let difference = difference(found, expected) {
        throw StitchError(.piece, piece: index, "\(difference) piece 0's")
      }
      film = expected
    }
    guard let film else { throw StitchError(.task, "there is no piece of pictures") }
    return film
  }

  /// H.264 allows 16; nothing has more.
  private static let maximumReorderDepth = 16

  private static func check(
    _ header: PieceHeader, _ video: EncodedVideo, against task: StitchedVideo, piece: Int
  ) throws(StitchError) {
    let format = task.format
    if header.codec != task.encoder.codec.rawValue {
      throw StitchError(.piece, piece: piece, "is \(header.codec); the film is \(task.encoder.codec.rawValue)")
    }
    if header.timebase != format.frameDuration {
      throw StitchError(
        .piece, piece: piece, "has \(header.timebase) s a frame; the film has \(format.frameDuration)")
    }
    if video.size != format.size {
      throw StitchError(
        .piece, piece: piece,
        "is \(video.size.width)x\(video.size.height); the film is \(format.size.width)x\(format.size.height)")
    }
    let name = format.pixelFormat.rawValue
    if video.pixelFormat != name, video.pixelFormat != name + "le", video.pixelFormat != name + "be" {
      throw StitchError(.piece, piece: piece, "has pixels of \(video.pixelFormat); the film has \(name)")
    }
    if video.colour != task.encoder.colour {
      throw StitchError(
        .piece, piece: piece, "has the colours \(text(video.colour)); the film has \(text(task.encoder.colour))")
    }
  }

  /// The sound's header, if it is what the task says.
  static func sound(_ header: PieceHeader, _ task: StitchedAudio, piece: Int) throws(StitchError) -> EncodedAudio {
    guard case .audio(let audio) = header.media else {
      throw StitchError(.piece, piece: piece, "holds \(header.codec) pictures where the sound belongs")
    }
    let settings = task.encoder
    let expected = settings.codec == .pcm ? "pcm_s\(settings.bitDepth)le" : settings.codec.rawValue
    guard header.codec == expected else {
      throw StitchError(.piece, piece: piece, "is \(header.codec); the film's sound is \(expected)")
    }
    guard audio.sampleRate == settings.sampleRate, audio.channels == settings.channels else {
      throw StitchError(
        .piece, piece: piece,
        "has \(audio.channels) channels at \(audio.sampleRate) Hz; the film has \(settings.channels) at \(settings.sampleRate)"
      )
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

  /// How a header differs from another, in words that go before the other's name; nil where it does not.
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
