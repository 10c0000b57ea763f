internal import CMedia
package import CompositionModel
package import PieceFiles

/// Stored pictures of a file that take the place of encoded ones in a film. Each packet is checked as it is read: what
/// the file's description says of it is a condition, and never the proof.
package final class CopiedPictures {
  private let packets: StoredPackets
  private let times: FrameTimes
  private let count: Int
  private let reorderDepth: Int
  private let followsCopy: Bool
  private let isByPictures: Bool
  private let rule: KeyframeRule
  /// Nil for codecs without them.
  private let sets: AVCParameterSets?
  private var isPresented: [Bool]
  private var packetCount = 0

  /// Nil if the file has other parameter sets than the film.
  /// - Parameters:
  ///   - start: The keyframe at which reading begins. Nil: the head of the file.
  ///   - times: Those of the pictures, all of which are copied.
  ///   - reorderDepth: How many of them are decoded before one that is presented earlier, at most.
  ///   - parameterSets: The film's, as a container stores them; empty if the codec has none.
  ///   - followsCopy: Whether other copied pictures are before them.
  ///   - isByPictures: Whether each picture stands by itself.
  package init?(
    _ source: any ByteSource, name: String, track: Int, codec: String, timebase: MediaTime, from start: Keyframe?,
    times: FrameTimes, reorderDepth: Int, parameterSets: [UInt8], followsCopy: Bool, isByPictures: Bool,
    liveness: Liveness?
  ) throws(MediaError) {
    packets = try StoredPackets(
      source, name: name, track: track, codec: codec, timebase: timebase, discontinuities: nil, from: start,
      liveness: liveness)
    (self.times, count, self.reorderDepth) = (times, times.count, reorderDepth)
    (self.followsCopy, self.isByPictures) = (followsCopy, isByPictures)
    rule = packets.format.keyframeRule
    isPresented = Array(repeating: false, count: times.count)
    guard codec == "h264" else {
      sets = nil
      return
    }
    guard packets.format.parameterSets == parameterSets, let sets = AVCParameterSets(parameterSets),
      sets.obstacle == nil
    else { return nil }
    self.sets = sets
  }

  /// The header of a piece of the pictures, from that of a piece of encoded ones.
  package func header(_ encoded: PieceHeader) -> PieceHeader {
    var header = sets == nil ? encoded : AVCTarget.stated(encoded, packets.format.parameterSets)
    if case .video(var video) = header.media {
      video.reorderDepth = reorderDepth
      header.media = .video(video)
    }
    return header
  }

  /// What follows.
  package enum Next {
    case packet(Packet)
    /// All pictures were given.
    case end
    /// A packet is not what the description says: the frames are to be encoded.
    case mismatch
  }

  /// The next packet in order of decoding, with times in frames of the piece.
  package func next() throws(MediaError) -> Next {
    if packetCount == count { return .end }
    while let packet = try packets.next() {
      guard packet.hasPresentationTime else { return .mismatch }
      // A picture that stands by itself is found by its time.
      if isByPictures, packetCount == 0, packet.pts < times.first ?? .min { continue }
      guard let place = times.index(of: packet.pts), !isPresented[place], packetCount - place <= reorderDepth,
        packetCount > 0 || place == 0, !packet.isDiscarded, let copied = try checked(packet)
      else { return .mismatch }
      isPresented[place] = true
      copied.isKeyframe = isByPictures || rule.canStart(at: packet) && packet.isKeyframe
      guard copied.isKeyframe || packetCount > 0 else { return .mismatch }
      (copied.pts, copied.dts, copied.duration) = (Int64(place), Int64(packetCount - reorderDepth), 1)
      packetCount += 1
      return .packet(copied)
    }
    return .mismatch
  }

  /// The packet as it is stored in the film. Nil if it is none that can be.
  private func checked(_ packet: Packet) throws(MediaError) -> Packet? {
    guard rule.isWhole(packet), packet.sideData(AV_PKT_DATA_NEW_EXTRADATA) == nil else { return nil }
    guard let sets else { return try Packet(copying: packet.withBytes { [UInt8]($0) }, timesOf: packet) }
    let isFirst = packetCount == 0
    let bytes = packet.withBytes { bytes -> [UInt8]? in
      guard AVCCopyRule.isCopyable(bytes, sets, isRefresh: isFirst ? true : nil) else { return nil }
      guard isFirst, followsCopy else { return [UInt8](bytes) }
      return AVCRetargeting.renewed(bytes, sets, identifier: AVCIdentifiers.afterCopy)
    }
    return try bytes.map { bytes throws(MediaError) in try Packet(copying: bytes, timesOf: packet) }
  }
}
