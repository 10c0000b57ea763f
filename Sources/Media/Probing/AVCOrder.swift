internal import CMedia

/// Compares the presentation times of H.264 with the order in which a decoder gives the pictures, which their slices
/// state (pic_order_cnt_lsb; ITU-T H.264, 8.2.1.1).
///
/// Where they differ, libavcodec leaves pictures out or takes decoding times in place of the stored ones, from there to
/// the end of what it decodes. Nothing is found where a stream has fields, or sequence parameter sets that differ.
struct AVCOrder {
  private struct Picture {
    /// Rises in the order of output, since the last period began.
    var place: Int
    var time: Int64
  }

  /// A decoder reorders over at most 16 pictures.
  private static let window = 32

  /// Whether the times of two pictures contradict their order.
  private(set) var contradictsTimes = false
  private let lengthSize: Int
  private var sequence: AVCSequence?
  private var isOn = true
  /// The last pictures of the period, which an IDR picture begins, or a frame_num that does not follow the one before.
  private var recent: [Picture] = []
  /// The greatest time of the pictures before the IDR picture that began the period. All are given before it.
  private var earlier = Int64.min
  private var greatest = Int64.min
  /// The frame_num of the last reference picture, and its place in the order of output. Nil: it is not known.
  private var referenceNumber: Int?
  private var referencePlace = 0

  /// Nil for other codecs than H.264.
  init?(_ parameters: UnsafePointer<AVCodecParameters>) {
    guard let record = AVCSequence.record(of: parameters) else { return nil }
    lengthSize = AVCSequence.lengthSize(record)
    for unit in AVCSequence.units(in: record) { read(unit) }
  }

  /// Called with each packet of the track, in the file's order.
  mutating func add(_ packet: Packet) {
    guard isOn, !contradictsTimes else { return }
    if packet.sideData(AV_PKT_DATA_NEW_EXTRADATA) != nil { isOn = false }
    let time = packet.isDiscarded ? sheaf_no_pts : packet.pts
    packet.withBytes { bytes in
      var units = NetworkUnits(bytes, lengthSize: lengthSize)
      while isOn, let first = units.next() {
        switch first & 31 {
        case 1, 5:
          return add(
            bytes[(units.start + 1)...], at: time, isInstantRefresh: first & 31 == 5, isReference: first >> 5 & 3 != 0)
        case 7: read(bytes[units.start...])
        default: break
        }
      }
    }
  }

  /// - Parameter slice: The first of a picture.
  private mutating func add(
    _ slice: Slice<UnsafeRawBufferPointer>, at time: Int64, isInstantRefresh: Bool, isReference: Bool
  ) {
    guard let sequence, let order = sequence.order(of: slice, isInstantRefresh: isInstantRefresh) else {
      isOn = false
      return
    }
    let mask = 1 << sequence.frameNumberBits - 1
    let follows = referenceNumber.map { order.frameNumber == $0 || order.frameNumber == ($0 + 1) & mask } ?? false
    if isInstantRefresh || !follows {
      recent = []
      earlier = isInstantRefresh ? greatest : .min
      referencePlace = isInstantRefresh ? 0 : order.lowBits
    }
    // The place nearest to that of the reference picture before; of two, the later one (8-3).
    let range = 1 << sequence.orderBits
    let difference = (order.lowBits - referencePlace) & (range - 1)
    let place = referencePlace + (difference > range / 2 ? difference - range : difference)
    if isReference {
      referenceNumber = order.frameNumber
      referencePlace = place
    } else if !follows {
      referenceNumber = nil
    }
    guard time != sheaf_no_pts else { return }
    if place >= 0, time < earlier { contradictsTimes = true }
    if recent.contains(where: { $0.place < place && $0.time > time || $0.place > place && $0.time < time }) {
      contradictsTimes = true
    }
    greatest = max(greatest, time)
    if recent.count == Self.window { recent.removeFirst() }
    recent.append(Picture(place: place, time: time))
  }

  private mutating func read(_ unit: Slice<UnsafeRawBufferPointer>) {
    let found = AVCSequence([UInt8](unit.prefix(256)))
    if found?.hasOnlyFramesInOrder != true || sequence.map({ $0 != found }) ?? false { isOn = false }
    sequence = found
  }
}
