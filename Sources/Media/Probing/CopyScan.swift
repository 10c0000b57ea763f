internal import CMedia
internal import CompositionModel

/// Finds out which pictures of a track can be copied into a film that is rendered. Packets are added in the file's
/// order.
struct CopyScan {
  private enum Kind {
    case h264(AVCParameterSets)
    case vp9(VP9Sizes)
  }

  private var kind: Kind
  private let parameterSets: [UInt8]
  private var obstacle: String?
  private var reorderDepth = 0
  /// The presentation times of the pictures from the last keyframe on, in order of decoding.
  private var group: [Int64] = []
  /// Those of the pictures with which a run can end.
  private var ends: Set<Int64> = []
  private var hasBegun = false

  /// Nil for codecs of whose packets nothing has to be known, or of which nothing is copied.
  init?(_ parameters: UnsafePointer<AVCodecParameters>) {
    let extradata = Array(
      UnsafeBufferPointer(start: parameters.pointee.extradata, count: max(0, Int(parameters.pointee.extradata_size))))
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_H264:
      parameterSets = extradata
      guard let sets = AVCParameterSets(extradata) else {
        (kind, obstacle) = (.vp9(VP9Sizes()), "its parameter sets cannot be read")
        return
      }
      kind = .h264(sets)
      obstacle = sets.obstacle
    case AV_CODEC_ID_VP9:
      parameterSets = []
      kind = .vp9(VP9Sizes())
    default: return nil
    }
  }

  mutating func add(_ packet: Packet) {
    guard obstacle == nil else { return }
    if packet.sideData(AV_PKT_DATA_NEW_EXTRADATA) != nil { obstacle = "its parameter sets change" }
    guard !packet.isDiscarded else {
      if hasBegun { obstacle = "its edit list hides pictures between others" }
      return
    }
    guard packet.hasPresentationTime else {
      obstacle = "its file does not store when each picture is presented"
      return
    }
    switch kind {
    case .h264(let sets):
      // What is damaged is known as such.
      guard let found = packet.withBytes({ AVCCopyRule.read($0, sets) }) else { break }
      obstacle = found.obstacle
      if found.isRefresh { endGroup() }
    case .vp9(var sizes):
      if !packet.withBytes({ sizes.add($0) }) { obstacle = "the size or the format of its pictures changes" }
      kind = .vp9(sizes)
      if packet.isKeyframe { endGroup() }
    }
    if let first = group.first, packet.pts < first, hasBegun {
      obstacle = "pictures are presented before the keyframe that they follow"
    }
    hasBegun = true
    group.append(packet.pts)
  }

  /// Finds the ends of the last group: pictures up to which as many are decoded as are presented.
  private mutating func endGroup() {
    var earliest = Int64.max
    var after: [Int64] = []
    for time in group.reversed() {
      after.append(earliest)
      earliest = min(earliest, time)
    }
    var latest = Int64.min
    for (time, next) in zip(group, after.reversed()) {
      latest = max(latest, time)
      if latest < next { ends.insert(latest) }
    }
    for (place, index) in group.indices.sorted(by: { group[$0] < group[$1] }).enumerated() {
      reorderDepth = max(reorderDepth, index - place)
    }
    group = []
  }

  /// What was found.
  /// - Parameter times: Those of the track's frames, rising.
  mutating func copyable(_ times: [Int64]) -> CopyableStream {
    endGroup()
    if obstacle == nil, !CopyableStream.reorderDepths.contains(reorderDepth) {
      obstacle = "it reorders \(reorderDepth) pictures"
    }
    if let obstacle { return CopyableStream(parameterSets: [], obstacle: obstacle) }
    return CopyableStream(parameterSets: parameterSets, reorderDepth: reorderDepth, ends: times.map(ends.contains))
  }
}

/// The sizes and formats that the frames of VP9 state (VP9 Bitstream & Decoding Process Specification, 6.2).
struct VP9Sizes {
  private struct Format: Equatable {
    var profile: Int
    /// The bits of the colour configuration, which depend on the profile.
    var colours: [Int]
    var width: Int
    var height: Int
  }

  private var format: Format?

  /// Whether the frames of a packet have the format of those before.
  mutating func add(_ packet: UnsafeRawBufferPointer) -> Bool {
    for frame in Self.frames(of: packet) {
      var bits = Bits(frame)
      guard let isSame = read(&bits), isSame else { return false }
    }
    return true
  }

  /// A packet is a frame, or several followed by an index with the size of each.
  private static func frames(of bytes: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer] {
    guard let marker = bytes.last else { return [] }
    let (count, width) = (Int(marker & 7) + 1, Int(marker >> 3 & 3) + 1)
    let indexSize = 2 + count * width
    guard marker & 0xE0 == 0xC0, bytes.count > indexSize, bytes[bytes.count - indexSize] == marker else {
      return [bytes]
    }
    var (offset, frames) = (0, [UnsafeRawBufferPointer]())
    for frame in 0..<count {
      let place = bytes.count - indexSize + 1 + frame * width
      let size = (0..<width).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
      guard size > 0, offset + size <= bytes.count - indexSize else { return frames }
      frames.append(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + size)]))
      offset += size
    }
    return frames
  }

  /// Nil if the header cannot be read.
  private mutating func read(_ bits: inout Bits) -> Bool? {
    guard bits.next(2) == 2, let low = bits.next(1), let high = bits.next(1) else { return nil }
    let profile = high << 1 | low
    if profile == 3, bits.next(1) != 0 { return nil }
    guard let showsExisting = bits.next(1) else { return nil }
    if showsExisting == 1 { return format != nil }
    guard let isInter = bits.next(1), let isShown = bits.next(1), let isResilient = bits.next(1) else { return nil }
    if isInter == 0 {
      guard bits.next(24) == 0x49_83_42, let colours = Self.colours(&bits, profile), let width = bits.next(16),
        let height = bits.next(16)
      else { return nil }
      let found = Format(profile: profile, colours: colours, width: width, height: height)
      defer { format = format ?? found }
      return found == format ?? found
    }
    guard let isIntra = isShown == 1 ? 0 : bits.next(1) else { return nil }
    if isResilient == 0, bits.next(2) == nil { return nil }
    if isIntra == 1 {
      guard bits.next(24) == 0x49_83_42 else { return nil }
      if profile > 0, Self.colours(&bits, profile) == nil { return nil }
      guard bits.next(8) != nil else { return nil }
    } else {
      // The frames that are replaced, and three references, one of whose sizes it may have.
      guard bits.next(8) != nil, bits.next(12) != nil else { return nil }
      for _ in 0..<3 {
        guard let hasSize = bits.next(1) else { return nil }
        if hasSize == 1 { return profile == format?.profile }
      }
    }
    guard let width = bits.next(16), let height = bits.next(16) else { return nil }
    return profile == format?.profile && width == format?.width && height == format?.height
  }

  private static func colours(_ bits: inout Bits, _ profile: Int) -> [Int]? {
    var values: [Int] = []
    func take(_ count: Int) -> Int? {
      guard let value = bits.next(count) else { return nil }
      values.append(value)
      return value
    }
    if profile >= 2, take(1) == nil { return nil }
    guard let space = take(3) else { return nil }
    if space == 7 {
      if profile & 1 == 1, take(1) == nil { return nil }
    } else {
      guard take(1) != nil else { return nil }
      if profile & 1 == 1, take(3) == nil { return nil }
    }
    return values
  }
}
