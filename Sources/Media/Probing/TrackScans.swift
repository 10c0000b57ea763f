internal import CMedia
internal import CompositionModel

/// What the packets of each track of a file show, while the file is read once from its head.
///
/// Where a container lists its tracks nowhere (program streams, Flash video), or lists more of them later (transport
/// streams), a track that begins late is found at its first packet, and its codec may be found later still.
final class TrackScans {
  private enum Scan {
    case video(PacketScan)
    /// Its error in its place if its codec cannot be decoded.
    case audio(Result<AudioScan, MediaError>)
    /// A track of another type; for captions also what they are, if they can be read, or why they cannot.
    case other(MediaType, PacketExtent, Result<CaptionScan, MediaError>?)
    /// No track of the asset.
    case none

    var type: MediaType? {
      switch self {
      case .video: .video
      case .audio: .audio
      case .other(let type, _, _): type
      case .none: nil
      }
    }
  }

  private let demuxer: Demuxer
  private let liveness: Liveness?
  private let timecode: ScenaristTimecode?
  /// By stream, with the codec that it had when its scan began.
  private var scans: [(scan: Scan, codec: AVCodecID)] = []
  /// The closed captions between the pictures of video tracks, by stream.
  private var pictureCaptions: [Int: PictureCaptionScan] = [:]

  /// - Parameter timecode: That of a file whose times are timecodes.
  init(_ demuxer: Demuxer, _ liveness: Liveness?, _ timecode: ScenaristTimecode?) {
    self.demuxer = demuxer
    self.liveness = liveness
    self.timecode = timecode
    demuxer.select { TrackScans.mediaType(of: $0) != nil }
    addStreams()
  }

  /// Nil for streams that are not tracks of the asset: cover art and attachments.
  static func mediaType(of stream: UnsafeMutablePointer<AVStream>) -> MediaType? {
    let cover = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS
    switch stream.pointee.codecpar.pointee.codec_type {
    case AVMEDIA_TYPE_VIDEO: return stream.pointee.disposition & cover == 0 ? .video : nil
    case AVMEDIA_TYPE_AUDIO: return .audio
    case AVMEDIA_TYPE_SUBTITLE: return .subtitle
    case AVMEDIA_TYPE_DATA: return .metadata
    default: return nil
    }
  }

  private func addStreams() {
    while scans.count < demuxer.streams.count { scans.append(scan(of: demuxer.streams[scans.count])) }
  }

  private func scan(of stream: UnsafeMutablePointer<AVStream>?) -> (Scan, AVCodecID) {
    guard let stream else { return (.none, AV_CODEC_ID_NONE) }
    let scan: Scan
    switch Self.mediaType(of: stream) {
    case .video:
      scan = .video(PacketScan(stream, name: demuxer.name, liveness: liveness))
      pictureCaptions[Int(stream.pointee.index)] = PictureCaptionScan(stream, name: demuxer.name)
    case .audio: scan = .audio(Result { () throws(MediaError) in try AudioScan(stream, demuxer) })
    case .subtitle:
      do throws(MediaError) {
        let captions = try CaptionScan(stream, demuxer, timecode)
        scan = .other(.subtitle, PacketExtent(), captions.map { .success($0) })
      } catch {
        scan = .other(.subtitle, PacketExtent(), .failure(error))
      }
    case .metadata: scan = .other(.metadata, PacketExtent(), nil)
    case nil: scan = .none
    }
    return (scan, stream.pointee.codecpar.pointee.codec_id)
  }

  /// The kind of track that a stream is; nil for one that is no track of the asset.
  func type(of stream: UnsafeMutablePointer<AVStream>) -> MediaType? {
    addStreams()
    let index = Int(stream.pointee.index)
    // libavformat may find the codec of a stream from its packets.
    if scans[index].codec == AV_CODEC_ID_NONE, stream.pointee.codecpar.pointee.codec_id != AV_CODEC_ID_NONE {
      scans[index] = scan(of: stream)
    }
    return scans[index].scan.type
  }

  /// Packets are added in the file's order. An audio track, or captions, that cannot be decoded keep their error.
  func add(_ packet: Packet, of stream: UnsafeMutablePointer<AVStream>) throws(MediaError) {
    guard type(of: stream) != nil else { return }
    let index = Int(stream.pointee.index)
    switch scans[index].scan {
    case .video(var scan):
      // The only reference to the scan's arrays, so that they are not copied.
      scans[index].scan = .none
      defer { scans[index].scan = .video(scan) }
      pictureCaptions[index]?.add(packet)
      try scan.add(packet)
    case .audio(let scan): if case .success(let scan) = scan { try scan.add(packet) }
    case .other(let type, var extent, var captions):
      extent.add(packet)
      if case .success(let scan)? = captions {
        do throws(MediaError) { try scan.add(packet) } catch { captions = .failure(error) }
      }
      scans[index].scan = .other(type, extent, captions)
    case .none: break
    }
  }

  /// After the last packet.
  func end() {
    for captions in pictureCaptions.values { captions.end() }
    for index in scans.indices {
      guard case .other(let type, let extent, .success(let captions)?) = scans[index].scan else { continue }
      do throws(MediaError) { try captions.end() } catch { scans[index].scan = .other(type, extent, .failure(error)) }
    }
  }

  /// The scan of a video track, which is moved out.
  func packets(of stream: UnsafeMutablePointer<AVStream>) throws(MediaError) -> PacketScan {
    let index = Int(stream.pointee.index)
    guard case .video(let scan) = scans[index].scan else {
      throw MediaError(
        .noTrack, operation: "probing", subject: demuxer.name, message: "track \(index) is not a video track")
    }
    scans[index].scan = .none
    return scan
  }

  /// The scan of an audio track. Throws why it cannot be decoded.
  func sound(of stream: UnsafeMutablePointer<AVStream>) throws(MediaError) -> AudioScan {
    guard case .audio(let scan) = scans[Int(stream.pointee.index)].scan else {
      throw MediaError(
        .noTrack, operation: "probing", subject: demuxer.name,
        message: "track \(stream.pointee.index) is not an audio track")
    }
    return try scan.get()
  }

  /// Where the packets are of a track that is not decoded.
  func extent(of stream: UnsafeMutablePointer<AVStream>) -> PacketExtent? {
    guard case .other(_, let extent, _) = scans[Int(stream.pointee.index)].scan else { return nil }
    return extent
  }

  /// Nil if the track has no captions that are text. Throws why they cannot be read.
  func captions(of stream: UnsafeMutablePointer<AVStream>) throws(MediaError) -> CaptionScan? {
    guard case .other(_, _, let captions) = scans[Int(stream.pointee.index)].scan else { return nil }
    return try captions?.get()
  }

  /// The closed captions between the pictures of a video track. Nil if it has none. Throws why they cannot be read.
  func pictureCaptions(
    of stream: UnsafeMutablePointer<AVStream>
  ) throws(MediaError) -> (codec: String, captions: TimedCaptions)? {
    guard let scan = pictureCaptions[Int(stream.pointee.index)] else { return nil }
    if let refusal = scan.refusal { throw refusal }
    return scan.found
  }

  /// The captions that can be read, by the index of their track.
  var scripts: [Int: TimedCaptions] {
    var scripts: [Int: TimedCaptions] = [:]
    for (index, scan) in scans.enumerated() {
      if case .other(_, _, .success(let captions)?) = scan.scan { scripts[index] = captions.found }
    }
    for (index, scan) in pictureCaptions where scan.refusal == nil {
      if let found = scan.found { scripts[TrackDescription.captionIndex(ofPictures: index)] = found.captions }
    }
    return scripts
  }
}

extension MediaType {
  /// Whether the track is pictures or sound.
  var isMedia: Bool { self == .video || self == .audio }
}
