internal import CMedia
package import CompositionModel

/// Reads a track of timed metadata: boxed metadata (`mebx`), and the telemetry of action cameras (`gpmd`).
package final class TimedMetadataReader {
  /// The values of a sample, or of a part of it.
  package struct Group: Sendable {
    /// In ticks of the track. Readings that are spread over a sample may begin between two.
    package var start: Rational
    package var duration: Rational
    package var items: [MetadataItem]
  }

  private enum Form {
    case boxed([UInt32: BoxedMetadata.Key])
    case telemetry
  }

  private let name: String
  private let demuxer: Demuxer
  private let track: Int
  private let form: Form
  private var ready: ArraySlice<Group> = []

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - track: The index of the stream.
  /// - Throws: `.unsupported` if the track has metadata of another form.
  package init(_ source: any ByteSource, name: String, track: Int, liveness: Liveness? = nil) throws(MediaError) {
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    let stream = try demuxer.stream(track)
    (self.name, self.demuxer, self.track) = (name, demuxer, track)
    let tag = stream.pointee.codecpar.pointee.codec_tag
    switch (0..<4).map({ UInt8(truncatingIfNeeded: tag >> (8 * $0)) }) {
    case Array("mebx".utf8):
      let entries = try MovieTracks(source)[Int(stream.pointee.id)]?.metadataEntries ?? []
      form = .boxed(try Self.keys(of: entries, source, name))
    case Array("gpmd".utf8): form = .telemetry
    default:
      throw MediaError(
        .unsupported, operation: "reading", subject: name,
        message: "track \(track) has no metadata of a kind that can be read: boxed metadata (mebx) or telemetry (gpmd)")
    }
    demuxer.select { $0 == stream }
  }

  /// The most bytes of all sample descriptions together.
  private static let greatestEntries: Int64 = 4 << 20

  /// Of all sample descriptions: libavformat does not report which one is a sample's.
  private static func keys(
    of entries: [Range<Int64>], _ source: any ByteSource, _ name: String
  ) throws(MediaError) -> [UInt32: BoxedMetadata.Key] {
    var keys: [UInt32: BoxedMetadata.Key] = [:]
    let size = entries.reduce(0) { $0 + Int64($1.count) }
    guard size <= greatestEntries else {
      throw MediaError(
        .tooLarge, operation: "reading", subject: name,
        message: "the descriptions of its metadata have \(size) bytes; at most \(greatestEntries) are read")
    }
    for entry in entries {
      let bytes = try source.bytes(at: entry.lowerBound, count: entry.count)
      let declared: [UInt32: BoxedMetadata.Key]
      do throws(BoxedMetadata.Failure) {
        declared = try BoxedMetadata.keys(of: bytes)
      } catch {
        throw MediaError(.damaged, operation: "reading", subject: name, message: error.description)
      }
      for (number, key) in declared {
        guard keys.updateValue(key, forKey: number) ?? key == key else {
          throw MediaError(
            .unsupported, operation: "reading", subject: name,
            message: "two descriptions of its metadata give the key \(number) different meanings")
        }
      }
    }
    return keys
  }

  /// The next group, in order of time; nil after the last.
  package func next() throws(MediaError) -> Group? {
    while ready.isEmpty {
      let packet = try Packet()
      guard try demuxer.read(into: packet, ofTrack: track) else { return nil }
      guard let start = packet.statedTime else { continue }
      ready = try groups(of: packet.withBytes { Array($0) }, at: start, lasting: max(1, packet.duration))[...]
    }
    return ready.popFirst()
  }

  private func groups(of bytes: [UInt8], at start: Int64, lasting duration: Int64) throws(MediaError) -> [Group] {
    do {
      switch form {
      case .boxed(let keys):
        let items = try BoxedMetadata.items(in: bytes, keys)
        return items.isEmpty
          ? [] : [Group(start: Rational(start), duration: Rational(duration), items: items)]
      case .telemetry:
        return try TelemetryMetadata.streams(in: bytes).flatMap { try groups(of: $0, at: start, lasting: duration) }
          .sorted { $0.start < $1.start }
      }
    } catch {
      throw MediaError(
        .damaged, operation: "reading", subject: name,
        message: "the sample of track \(track) at tick \(start) cannot be read: \(error)")
    }
  }

  /// The readings of a sensor, at equal distances over the sample.
  private func groups(
    of stream: TelemetryMetadata.Stream, at start: Int64, lasting duration: Int64
  ) throws -> [Group] {
    let count = stream.readings.count
    let each = try Rational(Int128(duration), Int128(count))
    return try stream.readings.enumerated().map { index, reading in
      Group(
        start: try Rational(start) + each * Rational(index), duration: each, items: [reading] + stream.others)
    }
  }
}
