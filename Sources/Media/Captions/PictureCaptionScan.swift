internal import CMedia
internal import CompositionModel

/// Decodes the closed captions that lie between the pictures of a video track. Its packets are added in the file's
/// order, and captions are decoded in the order in which pictures are shown.
///
/// If the first field's captions of CEA-608 have any text, the captions are these, else those of service 1 of CEA-708:
/// where there are both, these are nearly always made out of those by a machine.
final class PictureCaptionScan {
  private let name: String
  private let timebase: AVRational
  private let data: PictureCaptionData
  private var order: CaptionDataOrder
  /// Nil: no data of that kind has come.
  private var fields: CaptionScan?
  private var digital: DTVCCDecoder?
  /// Why the captions cannot be read.
  private(set) var refusal: MediaError?

  /// Nil for codecs whose packets have no captions.
  /// - Parameter name: The file's, for messages.
  init?(_ stream: UnsafeMutablePointer<AVStream>, name: String) {
    guard let data = PictureCaptionData(stream.pointee.codecpar) else { return nil }
    self.data = data
    self.name = name
    timebase = stream.pointee.time_base
    order = CaptionDataOrder(data, delay: stream.pointee.codecpar.pointee.video_delay)
  }

  func add(_ packet: Packet) {
    guard refusal == nil, !packet.isDiscarded else { return }
    for picture in order.add(data.triples(in: packet), of: packet) { decode(picture) }
  }

  /// After the last packet.
  func end() {
    for picture in order.rest() where refusal == nil { decode(picture) }
    guard refusal == nil else { return }
    do throws(MediaError) {
      try fields?.end()
      try digital?.end()
    } catch {
      refusal = error
    }
  }

  /// The captions, with a name of their format as libavcodec names codecs. Nil: there is no text.
  var found: (codec: String, captions: TimedCaptions)? {
    if let captions = fields?.found, !captions.isEmpty { return ("eia_608", captions) }
    if let captions = digital?.found, !captions.isEmpty { return ("eia_708", captions) }
    return nil
  }

  private func decode(_ picture: CaptionDataOrder.Picture) {
    do throws(MediaError) {
      var pairs: [UInt8] = []
      for start in stride(from: 0, to: picture.triples.count, by: 3) {
        let (type, first, second) = (picture.triples[start] & 3, picture.triples[start + 1], picture.triples[start + 2])
        switch type {
        // Of the first field. Without the bit of the parity nothing is left of what fills up.
        case 0: if (first | second) & 0x7F != 0 { pairs += [0xFC, first, second] }
        case 1: break
        default:
          if digital == nil { digital = DTVCCDecoder(timebase, name: name) }
          try digital?.add(first, second, isStart: type == 3, at: picture.time)
        }
      }
      if !pairs.isEmpty { try decode(pairs, at: picture.time) }
    } catch {
      refusal = error
    }
  }

  private func decode(_ pairs: [UInt8], at time: Int64) throws(MediaError) {
    if fields == nil { fields = try CaptionScan(closedCaptions: timebase, name: name) }
    let packet = try Packet(byteCount: pairs.count)
    packet.pts = time
    try packet.withMutableBytes { $0.copyBytes(from: pairs) }
    try fields?.add(packet)
  }
}

/// Puts the data of pictures in the order in which the pictures are shown.
struct CaptionDataOrder {
  struct Picture {
    /// In ticks.
    var time: Int64
    var triples: [UInt8]
  }

  /// More pictures than a decoder of H.264 or HEVC reorders over, two for each frame.
  private static let window = 40

  /// Whether the types of the pictures show their order: MPEG-2.
  private let isByType: Bool
  private let isReordered: Bool
  /// By time; of MPEG-2 the last picture that others may refer to.
  private var waiting: [Picture] = []
  /// Where the last picture of MPEG-2 ends.
  private var end: Int64?

  /// - Parameter delay: How many pictures a decoder holds back.
  init(_ data: PictureCaptionData, delay: Int32) {
    isByType = if case .mpeg2 = data { true } else { false }
    isReordered = delay > 0
  }

  /// The pictures whose turn has come, in order.
  mutating func add(_ triples: [UInt8], of packet: Packet) -> [Picture] {
    if isByType { return addByType(triples, of: packet) }
    let time = packet.pts == sheaf_no_pts && !isReordered ? packet.dts : packet.pts
    // A picture without a time has no place among the others.
    guard !triples.isEmpty, time != sheaf_no_pts else { return [] }
    let place = waiting.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
    waiting.insert(Picture(time: time, triples: triples), at: place)
    return waiting.count > Self.window ? [waiting.removeFirst()] : []
  }

  /// A picture that is predicted from both sides is shown at once, and another one when the next such comes.
  private mutating func addByType(_ triples: [UInt8], of packet: Packet) -> [Picture] {
    let isBidirectional = packet.withBytes { PictureHeader.mpeg12.isBidirectional($0) } ?? false
    let picture = Picture(time: packet.pts, triples: triples)
    var shown = [picture]
    if !isBidirectional { (shown, waiting) = (waiting, shown) }
    return timed(shown, lasting: packet.duration)
  }

  mutating func rest() -> [Picture] {
    let shown = waiting
    waiting = []
    return timed(shown, lasting: 0)
  }

  /// The packets of a program stream may have no time. Such pictures follow the one before.
  private mutating func timed(_ pictures: [Picture], lasting duration: Int64) -> [Picture] {
    guard isByType else { return pictures }
    return pictures.compactMap { picture in
      guard let time = picture.time != sheaf_no_pts ? picture.time : end else { return nil }
      end = time &+ max(0, duration)
      return picture.triples.isEmpty ? nil : Picture(time: time, triples: picture.triples)
    }
  }
}
