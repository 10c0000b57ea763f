internal import CMedia
package import CompositionModel

/// The packets of a finished film: what its tracks are, and how many packets of which times they have. The whole file
/// is read, and nothing is decoded.
package struct PacketTable: Sendable {
  package struct Track: Sendable {
    package var type: MediaType
    /// libavcodec's name of the codec.
    package var codec: String
    /// Of pictures.
    package var size: PixelSize
    /// Of sound, like `channels`.
    package var sampleRate: Int
    package var channels: Int
    /// Seconds a tick.
    package var tick: Double
    package var packetCount = 0
    /// The bytes of all packets.
    package var byteCount: Int64 = 0
    /// Where the last packet ends, in seconds. Nil: no packet has a time.
    package var end: Double?
    /// Whether the file ends within a packet.
    package var isCutOff = false
    /// Of the longest packet, in seconds.
    package var longestPacket = 0.0
    /// The presentation times of pictures, in ticks, as they are stored. Nil: one has none.
    package var times: [Int64]? = []
    /// The numbers of the packets of pictures that are keyframes, rising.
    package var keyframes: [Int] = []
  }

  /// In the file's order, without pictures that are attached.
  package private(set) var tracks: [Track] = []

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - liveness: Advanced with every packet.
  package init(_ source: any ByteSource, name: String, liveness: Liveness? = nil) throws(MediaError) {
    let demuxer = try Demuxer(source, name: name, liveness: liveness)
    let covers = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS
    var numbers: [Int: Int] = [:]
    for case let stream? in demuxer.streams where stream.pointee.disposition & covers == 0 {
      guard let track = Track(stream) else { continue }
      numbers[Int(stream.pointee.index)] = tracks.count
      tracks.append(track)
    }
    demuxer.select { numbers[Int($0.pointee.index)] != nil }
    let packet = try Packet()
    while try demuxer.read(into: packet) {
      guard let number = numbers[Int(packet.pointer.pointee.stream_index)] else { continue }
      tracks[number].add(packet)
    }
  }
}

extension PacketTable.Track {
  fileprivate init?(_ stream: UnsafeMutablePointer<AVStream>) {
    let parameters = stream.pointee.codecpar.pointee
    switch parameters.codec_type {
    case AVMEDIA_TYPE_VIDEO: type = .video
    case AVMEDIA_TYPE_AUDIO: type = .audio
    case AVMEDIA_TYPE_SUBTITLE: type = .subtitle
    default: return nil
    }
    codec = StoredCodec.name(stream.pointee.codecpar)
    size = PixelSize(width: Int(parameters.width), height: Int(parameters.height))
    (sampleRate, channels) = (Int(parameters.sample_rate), Int(parameters.ch_layout.nb_channels))
    tick = av_q2d(stream.pointee.time_base)
  }

  fileprivate mutating func add(_ packet: Packet) {
    longestPacket = max(longestPacket, Double(packet.duration) * tick)
    if packet.hasPresentationTime {
      let packetEnd = Double(packet.pts + max(0, packet.duration)) * tick
      end = max(end ?? packetEnd, packetEnd)
    }
    if packet.pointer.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 { isCutOff = true }
    if type == .video {
      if packet.hasPresentationTime { times?.append(packet.pts) } else { times = nil }
      if packet.isKeyframe { keyframes.append(packetCount) }
    }
    packetCount += 1
    byteCount += Int64(packet.byteCount)
  }
}
