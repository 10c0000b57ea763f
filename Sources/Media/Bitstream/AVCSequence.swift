internal import CMedia

/// What a sequence parameter set of H.264 (ITU-T H.264, 7.3.2.1.1) states of the order of pictures.
struct AVCSequence: Equatable {
  /// The number of bits of frame_num.
  let frameNumberBits: Int
  /// The number of bits of pic_order_cnt_lsb; 0 if slices do not have it.
  let orderBits: Int
  /// Whether pictures may be missing on purpose.
  let allowsGaps: Bool
  /// Whether all pictures are frames, none may be missing, and the order of each is in its slices.
  let hasOnlyFramesInOrder: Bool
  /// Whether the stream states by how many pictures it reorders.
  let statesReordering: Bool

  /// Nil if the set cannot be read.
  /// - Parameter unit: From the byte on that states its type.
  init?(_ unit: [UInt8]) {
    var bits = PayloadBits(unit.dropFirst(1), limit: 256)
    guard let profile = bits.next(8), bits.skip(16), bits.golomb() != nil else { return nil }
    if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) {
      guard let chroma = bits.golomb(), chroma != 3 || bits.next(1) == 0, bits.golomb() != nil, bits.golomb() != nil,
        bits.skip(1), let hasMatrices = bits.next(1)
      else { return nil }
      if hasMatrices == 1 {
        for index in 0..<(chroma == 3 ? 12 : 8) {
          guard let isPresent = bits.next(1) else { return nil }
          if isPresent == 1, !bits.skipMatrix(count: index < 6 ? 16 : 64) { return nil }
        }
      }
    }
    guard let length = bits.golomb(), length <= 12, let order = bits.golomb(),
      let orderLength = bits.orderLength(order), orderLength <= 12,
      bits.golomb() != nil, let allowsGaps = bits.next(1), bits.golomb() != nil, bits.golomb() != nil,
      let hasOnlyFrames = bits.next(1)
    else { return nil }
    if hasOnlyFrames == 0, !bits.skip(1) { return nil }
    self.allowsGaps = allowsGaps == 1
    hasOnlyFramesInOrder = hasOnlyFrames == 1 && allowsGaps == 0 && order == 0
    frameNumberBits = length + 4
    orderBits = order == 0 ? orderLength + 4 : 0
    statesReordering = bits.statesReordering() ?? false
  }

  /// The frame_num of a slice; nil if it cannot be read.
  /// - Parameter slice: From its header on.
  func frameNumber(of slice: Slice<UnsafeRawBufferPointer>) -> Int? {
    var bits = PayloadBits([UInt8](slice.prefix(16))[...])
    return frameNumber(&bits)
  }

  /// Reads the slice's header up to frame_num.
  private func frameNumber(_ bits: inout PayloadBits) -> Int? {
    // first_mb_in_slice, slice_type, pic_parameter_set_id.
    for _ in 0..<3 where bits.golomb() == nil { return nil }
    return bits.next(frameNumberBits)
  }

  /// The frame_num and the pic_order_cnt_lsb of a slice of a frame; nil if they cannot be read.
  /// - Parameters:
  ///   - slice: From its header on.
  ///   - isInstantRefresh: Whether it is of an IDR picture.
  func order(
    of slice: Slice<UnsafeRawBufferPointer>, isInstantRefresh: Bool
  ) -> (frameNumber: Int, lowBits: Int)? {
    guard hasOnlyFramesInOrder else { return nil }
    var bits = PayloadBits([UInt8](slice.prefix(24))[...])
    guard let number = frameNumber(&bits), !isInstantRefresh || bits.golomb() != nil,
      let lowBits = bits.next(orderBits)
    else { return nil }
    return (number, lowBits)
  }

  /// What a file states of a track's parameter sets: an avcC record, or units with start codes. Nil for other codecs
  /// than H.264. It is valid for as long as the parameters are.
  static func record(of parameters: UnsafePointer<AVCodecParameters>) -> UnsafeRawBufferPointer? {
    guard parameters.pointee.codec_id == AV_CODEC_ID_H264 else { return nil }
    return UnsafeRawBufferPointer(
      start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
  }

  /// The bytes of the length in front of each unit; 0 if units follow start codes.
  /// - Parameter record: An avcC record, or units with start codes.
  static func lengthSize(_ record: UnsafeRawBufferPointer) -> Int {
    record.count > 6 && record[0] == 1 ? Int(record[4] & 3) + 1 : 0
  }

  /// The sequence parameter sets of a record.
  static func units(in record: UnsafeRawBufferPointer) -> [Slice<UnsafeRawBufferPointer>] {
    var found: [Slice<UnsafeRawBufferPointer>] = []
    guard lengthSize(record) > 0 else {
      var units = NetworkUnits(record, lengthSize: 0)
      while let first = units.next() {
        if first & 31 == 7 { found.append(record[units.start...]) }
      }
      return found
    }
    var offset = 6
    for _ in 0..<(record[5] & 31) where offset + 2 < record.count {
      let size = Int(record[offset]) << 8 | Int(record[offset + 1])
      found.append(record[(offset + 2)...].prefix(size))
      offset += 2 + size
    }
    return found
  }
}

extension PayloadBits {
  /// Reads what follows pic_order_cnt_type: log2_max_pic_order_cnt_lsb_minus4, or 0 if the type has none. Nil if it
  /// cannot be read.
  fileprivate mutating func orderLength(_ type: Int) -> Int? {
    if type == 0 { return golomb() }
    guard type == 1 else { return 0 }
    guard skip(1), golomb() != nil, golomb() != nil, let count = golomb(), count < 256 else { return nil }
    for _ in 0..<count where golomb() == nil { return nil }
    return 0
  }

  /// Skips a scaling matrix (7.3.2.1.1.1). False if it does not end.
  fileprivate mutating func skipMatrix(count: Int) -> Bool {
    var (last, next) = (8, 8)
    for _ in 0..<count where next != 0 {
      guard let code = golomb() else { return false }
      let difference = code % 2 == 1 ? (code + 1) / 2 : -(code / 2)
      next = (last + difference) & 255
      if next != 0 { last = next }
    }
    return true
  }

  /// Whether the rest of a sequence parameter set, from direct_8x8_inference_flag on, has bitstream_restriction_flag
  /// (E.1.1). Nil if it cannot be read.
  fileprivate mutating func statesReordering() -> Bool? {
    guard skip(1), let isCropped = next(1) else { return nil }
    for _ in 0..<(isCropped * 4) where golomb() == nil { return nil }
    guard next(1) == 1, let hasAspect = next(1) else { return false }
    if hasAspect == 1, next(8) == 255, !skip(32) { return nil }
    guard let hasOverscan = next(1), skip(hasOverscan), let hasSignal = next(1) else { return nil }
    if hasSignal == 1 {
      guard skip(4), let hasColour = next(1), skip(hasColour * 24) else { return nil }
    }
    guard let hasPosition = next(1) else { return nil }
    for _ in 0..<(hasPosition * 2) where golomb() == nil { return nil }
    guard let hasTiming = next(1), skip(hasTiming * 65) else { return nil }
    var hasBuffers = false
    for _ in 0..<2 {
      guard let hasBuffer = next(1) else { return nil }
      if hasBuffer == 0 { continue }
      hasBuffers = true
      guard let count = golomb(), count < 32, skip(8) else { return nil }
      for _ in 0...count { guard golomb() != nil, golomb() != nil, skip(1) else { return nil } }
      guard skip(20) else { return nil }
    }
    guard skip(hasBuffers ? 2 : 1) else { return nil }
    return next(1) == 1
  }
}
