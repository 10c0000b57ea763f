/// A fragment of a movie with packets of a piece (ISO/IEC 14496-12, 8.8): its samples are where the piece's packets are
/// presented, counted from a place of the film.
package struct MovieFragment: Sendable {
  /// Which packets of the piece it has, in the order of decoding.
  package let packets: Range<Int>
  private let index: PieceIndex
  private let head: MovieHead
  /// Of the first packet, in ticks of the piece from the film's start, and what the piece's own times are counted from.
  private let origin: Int64

  /// Why packets are no fragment.
  package typealias Fault = PieceIndex.Fault

  /// - Parameters:
  ///   - packets: Not empty.
  ///   - origin: Where the piece's time zero is, in ticks of the piece from the film's start.
  package init(of index: PieceIndex, packets: Range<Int>, head: MovieHead, origin: Int64) throws(Fault) {
    guard !packets.isEmpty, packets.upperBound <= index.packets.count else {
      throw Fault("a fragment has packets \(packets) of \(index.packets.count)")
    }
    (self.packets, self.index, self.head, self.origin) = (packets, index, head, origin)
  }

  /// The bytes of its packets in the piece, which follow one another.
  package var data: Range<Int64> {
    let own = index.packets[packets]
    return own[own.startIndex].data.lowerBound..<own[own.endIndex - 1].data.upperBound
  }

  /// The bytes of the fragment.
  /// - Parameters:
  ///   - number: Of the fragment in the film, from 1.
  ///   - piece: The bytes of `data`.
  /// - Throws: `Fault` if the times of its packets are no times of samples.
  package func bytes(number: UInt32, from piece: [UInt8]) throws(Fault) -> [UInt8] {
    let own = index.packets[packets]
    let range = data
    guard piece.count == range.count else { throw Fault("a fragment has \(piece.count) bytes of \(range.count)") }
    let isVideo = index.header.isVideo
    var (samples, media): ([UInt8], [UInt8]) = ([], [])
    media.reserveCapacity(piece.count + 64)
    for (place, packet) in own.enumerated() {
      let start = Int(packet.data.lowerBound - range.lowerBound)
      let stored = Array(piece[start..<(start + packet.data.count)])
      let sample = isVideo ? NetworkUnitStream.withLengths(stored) : stored
      guard !sample.isEmpty, let duration = UInt32(exactly: try scaled(try duration(of: place))),
        let offset = Int32(exactly: try scaled(difference(packet.pts, decoded(place))))
      else { throw Fault("packet \(packets.lowerBound + place) of the piece is no sample of a movie") }
      samples += Box.big(duration) + Box.big(UInt32(sample.count))
      // Whether other samples are needed to decode it.
      samples += Box.big(UInt32(packet.isKeyframe || !isVideo ? 0x200_0000 : 0x101_0000)) + Box.big(offset)
      media += sample
    }
    let (time, overflow) = try scaled(decoded(0)).addingReportingOverflow(try scaled(origin) + head.lead)
    guard !overflow, time >= 0 else { throw Fault("the piece begins before the film") }
    func movieFragment(_ offset: Int) -> [UInt8] {
      // Offsets from the fragment's first byte; of each sample its duration, size, flags and composition offset.
      let run = Box.full(
        "trun", version: 1, flags: 0xF01, Box.big(UInt32(own.count)), Box.big(UInt32(offset)), samples)
      return Box.box(
        "moof", Box.full("mfhd", Box.big(number)),
        Box.box(
          "traf", Box.full("tfhd", flags: 0x2_0000, Box.big(MovieHead.track)),
          Box.full("tfdt", version: 1, Box.big(UInt64(time))), run))
    }
    // The data are after the header of their box.
    let fragment = movieFragment(movieFragment(0).count + 8)
    guard media.count < Int(UInt32.max) - 8 else { throw Fault("a fragment is larger than 4 GiB") }
    return fragment + Box.box("mdat", media)
  }

  /// When a packet is decoded, in ticks of the piece. Pictures are decoded one a tick, as far ahead in every piece as
  /// in the first one of the film, whatever the piece itself has: so no fragment begins before the one before it ends.
  private func decoded(_ number: Int) -> Int64 {
    let place = packets.lowerBound + number
    return index.header.isVideo ? Int64(place) - head.lead / head.tick : index.packets[place].dts
  }

  /// In ticks of the piece: up to the next packet is decoded.
  private func duration(of number: Int) throws(Fault) -> Int64 {
    if index.header.isVideo { return 1 }
    let place = packets.lowerBound + number
    guard place + 1 < index.packets.count else { return index.packets[place].duration }
    return try difference(index.packets[place + 1].dts, index.packets[place].dts)
  }

  private func difference(_ time: Int64, _ earlier: Int64) throws(Fault) -> Int64 {
    let (ticks, overflow) = time.subtractingReportingOverflow(earlier)
    guard !overflow else { throw Fault("times of the piece are too far apart") }
    return ticks
  }

  private func scaled(_ ticks: Int64) throws(Fault) -> Int64 {
    let (time, overflow) = ticks.multipliedReportingOverflow(by: head.tick)
    guard !overflow, time.magnitude < 1 << 62 else { throw Fault("a time of the piece is too large") }
    return time
  }
}
