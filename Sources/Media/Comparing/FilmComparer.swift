package import CompositionModel

/// Compares a film with another one that should be the same: what is seen and heard, and what the files state.
package enum FilmComparer {
  private static let name = "the film"

  /// - Parameters:
  ///   - other: Nil: nothing is compared, and the film's own tracks are digested.
  ///   - liveness: Advanced with every packet and every picture.
  /// - Throws: What is wrong with the other film, and what this machine ran out of. What is wrong with the film is part
  ///   of the result.
  package static func compare(
    _ film: any ByteSource, with other: (any ByteSource)?, _ request: ComparisonRequest, liveness: Liveness? = nil
  ) throws(MediaError) -> FilmComparison {
    var comparison = FilmComparison()
    // libavformat reads still pictures of this format alone.
    if request.container == .webp {
      if other != nil {
        comparison.problem = "its bytes differ, and this build cannot decode animated WebP to compare the pictures"
      }
      return comparison
    }
    do throws(MediaError) {
      let own = try FilmFacts(film, name: name, liveness: liveness)
      let others = try other.map { other throws(MediaError) in
        try FilmFacts(other, name: "the film that was rendered again", liveness: liveness)
      }
      if let others, request.share == nil {
        comparison.remarks = FilmFacts.differences(own.stated, others.stated)
        let (first, second) = (own.tracks.map(\.title), others.tracks.map(\.title))
        if first != second {
          comparison.problem =
            "it has the tracks \(list(first)), and not \(list(second))"
        }
      }
      var pairs = Pairs(others?.tracks ?? [])
      for track in own.tracks {
        let pair = pairs.next(for: track)
        var compared = FilmComparison.Track(type: track.type, codec: track.codec, format: "packets")
        let sources = Sources(film: film, other: pair == nil ? nil : other, track: track, pair: pair, liveness)
        if let pair, request.share == nil {
          compared.faults = FilmFacts.differences(track.shown, pair.shown)
          let stated = FilmFacts.differences(track.stated, pair.stated)
          comparison.remarks += stated.map { "track \(track.index), \($0)" }
        }
        // What is found before an error stays.
        defer { comparison.tracks.append(compared) }
        try sources.compare(into: &compared, request)
      }
    } catch {
      guard error.subject == name, [.damaged, .unrecognized, .unsupported, .noTrack, .tooLarge].contains(error.code)
      else { throw error }
      comparison.problem = "\(error)"
    }
    return comparison
  }

  private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }

  /// The tracks of the other film that are not compared yet.
  private struct Pairs {
    private var rest: [FilmFacts.Track]

    init(_ tracks: [FilmFacts.Track]) { rest = tracks }

    /// The one of the same kind. Nil: there is none.
    mutating func next(for track: FilmFacts.Track) -> FilmFacts.Track? {
      rest.firstIndex { $0.type == track.type && $0.isAttached == track.isAttached }.map { rest.remove(at: $0) }
    }
  }

  /// A track of the film, and that of the other film with which it is compared.
  private struct Sources {
    let film: any ByteSource
    let other: (any ByteSource)?
    let track: FilmFacts.Track
    let pair: FilmFacts.Track?
    let liveness: Liveness?

    init(
      film: any ByteSource, other: (any ByteSource)?, track: FilmFacts.Track, pair: FilmFacts.Track?,
      _ liveness: Liveness?
    ) {
      (self.film, self.other, self.track, self.pair, self.liveness) = (film, other, track, pair, liveness)
    }

    func compare(into compared: inout FilmComparison.Track, _ request: ComparisonRequest) throws(MediaError) {
      switch (track.type, request.share) {
      case (.video, _) where track.isAttached: try packets(into: &compared, isShare: request.share != nil)
      case (.video, let share?): try segments(share, into: &compared)
      case (.video, nil): try pictures(into: &compared)
      case (.audio, let share?) where !share.hasSound: break
      case (.audio, _): try samples(into: &compared)
      case (.subtitle, _), (.metadata, _): try packets(into: &compared, isShare: request.share != nil)
      }
    }

    private func pictures(into compared: inout FilmComparison.Track) throws(MediaError) {
      var comparison = PictureComparison()
      let found = try comparison.compare(stream(PictureStream.init), otherStream(PictureStream.init))
      (compared.count, compared.format, compared.digest) = found
      compared.difference = comparison.difference
      compared.faults += comparison.faults
    }

    private func samples(into compared: inout FilmComparison.Track) throws(MediaError) {
      var comparison = SampleComparison()
      let found = try comparison.compare(stream(SampleStream.init), otherStream(SampleStream.init))
      (compared.count, compared.format, compared.digest) = found
      compared.difference = comparison.difference
      compared.faults += comparison.faults
    }

    /// - Parameter isShare: Whether the other film has none of them.
    private func packets(into compared: inout FilmComparison.Track, isShare: Bool) throws(MediaError) {
      if isShare { return }
      var comparison = PacketComparison()
      let found = try comparison.compare(stream(PacketStream.init), otherStream(PacketStream.init))
      (compared.count, compared.digest) = found
      compared.difference = comparison.difference
      compared.faults += comparison.faults
    }

    private func segments(
      _ share: ComparisonRequest.Share, into compared: inout FilmComparison.Track
    ) throws(MediaError) {
      guard let other, let pair else {
        compared.faults.append("is not in the film that was rendered again")
        return
      }
      if track.codec != pair.codec { compared.faults.append("is \(track.codec), and not \(pair.codec)") }
      compared.faults += FilmFacts.differences(track.shown, pair.shown)
      let header = FilmFacts.header
      let isSameHeader = track.stated[header] == pair.stated[header]
      let (film, track, liveness) = (film, track, liveness)
      var comparison = ShareComparison(share, hasEqualHeader: isSameHeader) { isFilm throws(MediaError) in
        try PacketStream(
          isFilm ? film : other, name: isFilm ? FilmComparer.name : "the film that was rendered again",
          track: isFilm ? track.index : pair.index, liveness: liveness)
      }
      compared.count = try comparison.compare()
      compared.segments = comparison.segments
      compared.faults += comparison.faults
    }

    private typealias Opening<Stream> = (any ByteSource, String, Int, Liveness?) throws(MediaError) -> Stream

    private func stream<Stream>(_ open: Opening<Stream>) throws(MediaError) -> Stream {
      try open(film, FilmComparer.name, track.index, liveness)
    }

    private func otherStream<Stream>(_ open: Opening<Stream>) throws(MediaError) -> Stream? {
      guard let other, let pair else { return nil }
      return try open(other, "the film that was rendered again", pair.index, liveness)
    }
  }
}

extension FilmFacts.Track {
  fileprivate var title: String { isAttached ? "\(codec) as a picture of the film" : codec }
}
