import CompositionModel
package import Media
package import Segmenter

/// Makes the output file of its pieces: remuxes, never re-encodes, never guesses (DESIGN 5).
///
/// Every piece's header is checked against the task and against the others before anything is written; every packet
/// while it goes through. Each piece is read once, from its first packet to its last, and held a packet at a time, so
/// neither the length of the film nor the number of its pieces matters for memory. A refused piece leaves an output
/// that is not whole: its descriptor should be of a file that is thrown away then.
package enum Stitcher {
  /// - Parameters:
  ///   - pieces: The pictures' pieces by segment, then the sound's, as the task says.
  ///   - descriptor: An empty file that can seek. It stays the caller's.
  ///   - progress: Called with the bytes in the file so far, now and then.
  package static func stitch(
    _ task: StitchTask, pieces: [any ByteSource], to descriptor: Int32, progress: (Int64) -> Void
  ) throws(StitchError) {
    let pictureCount = task.pictures?.frameCounts.count ?? 0
    let expected = pictureCount + (task.sound == nil ? 0 : 1)
    guard pieces.count == expected else {
      throw StitchError(.task, "\(pieces.count) pieces were given where the film has \(expected)")
    }
    guard expected > 0 else { throw StitchError(.task, "a film of neither pictures nor sound cannot be made") }
    var tracks: [FileMuxer.Track] = []
    var pictures: PictureFeed?
    if let settings = task.pictures {
      let film = try open(settings, Array(pieces.prefix(pictureCount)))
      pictures = film.feed
      tracks.append(film.track)
    }
    var sound: SoundFeed?
    if let settings = task.sound, let piece = pieces.last {
      let heard = try open(settings, piece, index: pictureCount)
      sound = heard.feed
      tracks.append(heard.track)
    }
    var output = try OutputFile(task, tracks: tracks, descriptor: descriptor)
    let order = Interleaving(
      frameDuration: task.pictures?.format.frameDuration ?? .zero, sampleRate: task.sound?.encoder.sampleRate ?? 1)
    while pictures?.next != nil || sound?.next != nil {
      let (picture, heard) = (pictures?.next, sound?.next)
      if let picture, heard.map({ order.putsPictureFirst(frame: picture.dts, sample: $0.pts) }) ?? true {
        try output.write(picture, track: 0, progress: progress)
        try pictures?.advance()
      } else if let heard {
        try output.write(
          heard, track: tracks.count - 1, discarded: sound?.discarded ?? 0, progress: progress)
        try sound?.advance()
      }
    }
    try output.finish(progress: progress)
  }

  private static func open(
    _ settings: StitchedVideo, _ pieces: [any ByteSource]
  ) throws(StitchError) -> (feed: PictureFeed, track: FileMuxer.Track) {
    var headers: [PieceHeader] = []
    for (index, count) in settings.frameCounts.enumerated() {
      guard count > 0 else { throw StitchError(.task, "segment \(index) has \(count) frames") }
      headers.append(try PieceOpening.open(pieces[index], piece: index).header)
    }
    let film = try PieceCheck.pictures(headers, settings)
    guard case .video(let video) = film.media else { throw StitchError(.task, "there is no piece of pictures") }
    let frameCount = settings.frameCounts.reduce(0, +)
    let duration: MediaTime
    do { duration = try settings.format.frameDuration * Rational(frameCount) } catch {
      throw StitchError(.task, "the film is too long: \(error)")
    }
    return (
      try PictureFeed(pieces, frameCounts: settings.frameCounts, reorderDepth: video.reorderDepth),
      FileMuxer.Track(header: film, packetCount: frameCount, duration: duration)
    )
  }

  private static func open(
    _ settings: StitchedAudio, _ piece: any ByteSource, index: Int
  ) throws(StitchError) -> (feed: SoundFeed, track: FileMuxer.Track) {
    let header = try PieceOpening.open(piece, piece: index).header
    let audio = try PieceCheck.sound(header, settings, piece: index)
    let packetCount =
      audio.frameSize > 0
      ? (settings.sampleCount + Int64(audio.initialPadding + audio.frameSize - 1)) / Int64(audio.frameSize)
      : try countedPackets(piece, index: index)
    let feed = try SoundFeed(
      piece, piece: index, sampleCount: settings.sampleCount, audio: audio, packetCount: packetCount)
    let duration = MediaTime(value: settings.sampleCount, timescale: Int32(clamping: audio.sampleRate))
    return (feed, FileMuxer.Track(header: header, packetCount: Int(packetCount), duration: duration))
  }

  /// Where packets hold any number of samples (PCM), nothing but reading them all tells how many there are.
  private static func countedPackets(_ piece: any ByteSource, index: Int) throws(StitchError) -> Int64 {
    let reader = try PieceOpening.open(piece, piece: index)
    var count: Int64 = 0
    do {
      while try reader.next() != nil { count += 1 }
    } catch {
      throw PieceOpening.fault(error, piece: index)
    }
    return count
  }
}
