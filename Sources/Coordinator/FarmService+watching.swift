import CompositionModel
import ContentStorage
package import Digest
import FarmAPI
package import FarmModel
import FoundationEssentials
import Jobs
import PieceFiles
import Runtime

/// A file by which the film of a job is played while it is rendered.
package struct WatchedFile: Sendable, Hashable {
  package var bytes: [UInt8]
  package var mediaType: String
  /// Of what never changes under its name in this job: what it was made of. Nil: a playlist, which grows.
  package var digest: SHA256Digest?
}

// Watching a film while it is rendered. A piece is content whose format is Sheaf's own, so its packets are put into
// fragments of a movie here, without a task and without opening media: a segment can be played as soon as it is there.
extension FarmService {
  /// The most bytes of a segment that is played.
  private static let longestSegment: Int64 = 256 << 20

  /// Reads a file of the film that is there so far: `film.m3u8`, `video.m3u8`, `video-init.mp4`, `video-0.m4s` and so
  /// on, and the same of `audio` as far as the sound is mixed. While somebody asks, the first segment that is missing
  /// is rendered before others.
  ///
  /// Throws `.notFound` if there is no such job or file, `.unavailable` if it is not there yet, `.conflict` if the film
  /// cannot be played in this way, `.lost` if pieces of it were removed.
  package func watch(_ id: JobID, file name: String) async throws -> WatchedFile {
    guard try await sees(id) else { throw Self.absent(id) }
    guard let file = WatchedFilm.File(name) else {
      throw FarmError(.notFound, "there is no \"\(name.prefix(64))\" to watch; begin with \(WatchedFilm.File.filmName)")
    }
    let film = try await withStore { try await watchedFilm(id) }
    let type = "application/vnd.apple.mpegurl"
    switch file {
    case .film: return WatchedFile(bytes: Array(try film.multivariantPlaylist().utf8), mediaType: type)
    case .playlist(let stream):
      guard let playlist = try film.playlist(stream) else { throw Self.notMixed(id) }
      return WatchedFile(bytes: Array(playlist.text.utf8), mediaType: type)
    case .head(let stream):
      guard let head = stream == .video ? film.head : film.sounds.first?.head else { throw Self.notMixed(id) }
      return WatchedFile(
        bytes: head.bytes, mediaType: stream == .video ? "video/mp4" : "audio/mp4", digest: head.digest)
    case .segment(.video, let number): return try await pictures(number, of: film, id)
    case .segment(.audio, let number): return try await sound(number, of: film, id)
    }
  }

  private func watchedFilm(_ id: JobID) async throws -> WatchedFilm {
    guard let job = try await coordinator.store.summary(of: id)?.job, job.purpose == .render else {
      throw Self.absent(id)
    }
    // Before it is planned too, so that the first segment is the first to be granted.
    if !job.state.hasEnded, coordinator.watchedPieces.isToBeRecorded(id, every: LeasePolicy.watching / 3) {
      _ = try await coordinator.store.watch(id)
    }
    let tasks = try await coordinator.store.tasks(of: id, payloads: false)
    let videos = tasks.filter { $0.kind == .video }
    guard !videos.isEmpty else {
      let isPlanned = tasks.contains { $0.kind == .stitch || $0.kind == .audio }
      guard job.state.hasEnded || isPlanned else {
        throw FarmError(.unavailable, "the film of job \(id) is not planned yet")
      }
      throw FarmError(
        .conflict,
        "job \(id) has no segments to watch: "
          + (isPlanned ? "its film is copied, or has sound alone" : "it is \(job.state.rawValue)"))
    }
    var boundaries: [Int64] = [0]
    for task in videos { boundaries.append(boundaries[boundaries.count - 1] + max(0, task.work)) }
    let there = videos.prefix { $0.state == .done }.compactMap(\.result)
    guard let first = there.first else {
      guard job.state.hasEnded else {
        throw FarmError(.unavailable, "the first segment of job \(id) is not rendered yet")
      }
      throw FarmError(.conflict, "job \(id) is \(job.state.rawValue), and its first segment was not rendered")
    }
    let picture = try await picture(first)
    guard let head = picture.head, case .video(let video) = picture.header.media else {
      throw FarmError(
        .conflict,
        "the pictures of job \(id) are \(picture.header.codec), which cannot be watched while they are rendered; "
          + "h264 and hevc can")
    }
    var film = WatchedFilm(
      head: head, size: video.size, frameDuration: picture.header.timebase,
      segments: there.enumerated().map { number, package in
        WatchedFilm.Segment(
          package: package, start: boundaries[number], frameCount: boundaries[number + 1] - boundaries[number])
      }, boundaries: boundaries, isComplete: there.count == videos.count || job.state.hasEnded)
    let parts = tasks.filter { $0.kind == .audio }
    for mixed in parts.prefix(while: { $0.state == .done }).compactMap(\.result) {
      // What does not follow is another output's.
      guard let sound = try await sound(mixed), film.isNext(sound) else { break }
      film.sounds.append(sound)
    }
    film.isMixed = try parts.allSatisfy { $0.state == .done } || job.state.hasEnded || film.hasSoundToItsEnd
    return film
  }

  // MARK: Pieces

  /// The first piece of a package: that of the first output of its kind.
  private func piece(_ package: Content) async throws -> FilmFile {
    let length = min(package.size, Int64(ContentPackage.greatestEnd))
    let end = try await readChecked(package.digest, offset: package.size - length, length: Int(length))
    do {
      guard let file = try ContentPackage(end: [UInt8](end), of: package.size).files.first(where: { $0.name == "0" })
      else { throw FarmError(.lost, "a package of pieces has no first piece") }
      return FilmFile(name: file.name, content: file.content, source: package.digest, offset: file.offset)
    } catch let fault as ContentPackage.Fault {
      throw FarmError(.lost, "a package of pieces cannot be read: \(fault)")
    }
  }

  private func picture(_ package: Content) async throws -> WatchedPieces.Picture {
    if let known = coordinator.watchedPieces.picture(package.digest) { return known }
    let piece = try await piece(package)
    let header = try await index(piece) { size, read in try PieceIndex.header(size: size, read: read) }
    let picture = WatchedPieces.Picture(piece: piece, header: header, head: header.isVideo ? MovieHead(header) : nil)
    coordinator.watchedPieces.keep(picture, of: package.digest)
    return picture
  }

  /// Nil: players have no codec for it.
  private func sound(_ package: Content) async throws -> WatchedFilm.Sound? {
    if let known = coordinator.watchedPieces.sound(package.digest) { return known }
    let piece = try await piece(package)
    let found = try await index(piece) { size, read -> WatchedFilm.Sound? in
      guard let head = MovieHead(try PieceIndex.header(size: size, read: read)) else { return nil }
      return WatchedFilm.Sound(piece: piece, head: head, index: try PieceIndex(size: size, read: read))
    }
    coordinator.watchedPieces.keep(found, of: package.digest)
    return found
  }

  /// Reads parts of a piece on a thread for it.
  private func index<R: Sendable>(
    _ piece: FilmFile,
    _ body: @escaping @Sendable (_ size: Int64, _ read: @escaping (Int64, Int) throws -> [UInt8]) throws -> R
  ) async throws -> R {
    // What is not known to be whole is verified by the first read.
    _ = try await readChecked(piece.source, offset: piece.offset, length: 1)
    do {
      return try await BlockingWork.run(.transfers) { [content = coordinator.content] in
        try body(piece.content.size) { offset, count in
          [UInt8](
            try content.readChecked(piece.source, offset: UInt64(piece.offset + offset), length: count))
        }
      }
    } catch let error as ContentStoreError {
      throw FarmError(error)
    } catch let fault as PieceIndex.Fault {
      throw FarmError(.lost, "a piece of the film cannot be read: \(fault)")
    }
  }

  // MARK: Segments

  private func pictures(_ number: Int, of film: WatchedFilm, _ id: JobID) async throws -> WatchedFile {
    guard film.segments.indices.contains(number) else { throw Self.missing(number, of: film, id) }
    let segment = film.segments[number]
    let picture = try await picture(segment.package)
    guard picture.head.map(film.head.plays) == true else {
      throw FarmError(.conflict, "segment \(number) of job \(id) has other parameters than the first one")
    }
    guard picture.piece.content.size <= Self.longestSegment else {
      throw FarmError(
        .conflict, "segment \(number) of job \(id) has \(picture.piece.content.size) bytes, too many to be watched")
    }
    let bytes = [UInt8](
      try await readChecked(
        picture.piece.source, offset: picture.piece.offset, length: Int(picture.piece.content.size)))
    return try await fragment("video/mp4") {
      let index = try PieceIndex(size: Int64(bytes.count)) { offset, count in
        Array(bytes[Int(offset)..<(Int(offset) + count)])
      }
      guard Int64(index.packets.count) == segment.frameCount, index.packets.first?.isKeyframe == true else {
        throw FarmError(.lost, "segment \(number) of job \(id) has other pictures than were planned")
      }
      let fragment = try MovieFragment(
        of: index, packets: index.packets.indices, head: film.head, origin: segment.start)
      return try fragment.bytes(
        number: UInt32(clamping: number + 1),
        from: Array(bytes[Int(fragment.data.lowerBound)..<Int(fragment.data.upperBound)]))
    }
  }

  private func sound(_ number: Int, of film: WatchedFilm, _ id: JobID) async throws -> WatchedFile {
    guard !film.sounds.isEmpty else { throw Self.notMixed(id) }
    let segments = try film.soundSegments()
    guard film.segments.indices.contains(number), segments.indices.contains(number), !segments[number].isEmpty else {
      throw Self.missing(number, of: film, id)
    }
    // Where a part of the sound ends, a segment has a fragment of it and one of the next.
    var fragments: [(fragment: MovieFragment, number: Int, bytes: [UInt8])] = []
    for stretch in segments[number] {
      let sound = film.sounds[stretch.part]
      let fragment = try Self.whole {
        try MovieFragment(of: sound.index, packets: stretch.packets, head: sound.head, origin: 0)
      }
      let range = fragment.data
      guard Int64(range.count) <= Self.longestSegment else {
        throw FarmError(.conflict, "the sound of segment \(number) of job \(id) has too many bytes to be watched")
      }
      let bytes = try await readChecked(
        sound.piece.source, offset: sound.piece.offset + range.lowerBound, length: range.count)
      // They rise from fragment to fragment.
      fragments.append((fragment, number + 1 + stretch.part, [UInt8](bytes)))
    }
    return try await self.fragment("audio/mp4") { [fragments] in
      try fragments.flatMap { try $0.fragment.bytes(number: UInt32(clamping: $0.number), from: $0.bytes) }
    }
  }

  private func fragment(
    _ type: String, _ make: @escaping @Sendable () throws -> [UInt8]
  ) async throws -> WatchedFile {
    let bytes = try await BlockingWork.run(.transfers) { try Self.whole(make) }
    coordinator.counts.sent(bytes.count, to: .http)
    return WatchedFile(bytes: bytes, mediaType: type, digest: SHA256Digest.of(bytes))
  }

  // MARK: Errors

  private static func whole<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let fault as PieceIndex.Fault {
      throw FarmError(.lost, "a piece of the film cannot be played: \(fault)")
    }
  }

  private static func absent(_ id: JobID) -> FarmError { FarmError(.notFound, "there is no job \(id)") }

  private static func notMixed(_ id: JobID) -> FarmError {
    FarmError(.notFound, "the film of job \(id) has no sound to be played, or it is not mixed yet")
  }

  private static func missing(_ number: Int, of film: WatchedFilm, _ id: JobID) -> FarmError {
    let count = film.boundaries.count - 1
    guard (0..<count).contains(number) else {
      return FarmError(.notFound, "the film of job \(id) has \(count) segments, and no segment \(number)")
    }
    return film.isComplete
      ? FarmError(.conflict, "segment \(number) of job \(id) was not rendered before the job ended")
      : FarmError(.unavailable, "segment \(number) of job \(id) is not rendered yet, or one before it")
  }
}
