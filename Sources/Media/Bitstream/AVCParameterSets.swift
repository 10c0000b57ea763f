/// The parameter sets of H.264 (ITU-T H.264, 7.3.2.1 and 7.3.2.2), read in full.
struct AVCParameterSets: Equatable {
  /// A sequence parameter set.
  struct Sequence: Equatable {
    var profile = 0
    /// constraint_set0_flag is the highest of eight bits.
    var constraints = 0
    var level = 0
    var chromaFormat = 1
    var bitDepth = 8
    var hasSeparatePlanes = false
    var isLossless = false
    var hasMatrices = false
    var frameNumberBits = 0
    /// pic_order_cnt_type.
    var orderType = 0
    /// The bits of pic_order_cnt_lsb; 0 if slices do not have it.
    var orderBits = 0
    var referenceFrames = 0
    var allowsGaps = false
    var hasOnlyFrames = true
    /// Whether motion of B pictures is inferred from whole blocks of 8x8.
    var infersDirect8x8 = true
    /// Pictures that are decoded before one that is presented earlier, as the set states it. Nil: it does not.
    var reorderFrames: Int?
  }

  /// A picture parameter set.
  struct Picture: Equatable {
    var identifier = 0
    var usesArithmeticCoding = false
    /// Whether slices state the order of the bottom field beside that of the frame.
    var hasBottomOrder = false
    var sliceGroups = 1
    /// The references that slices have of each list, unless they state others.
    var references = [1, 1]
    var isWeighted = false
    /// weighted_bipred_idc.
    var bipredictionWeights = 0
    /// 26 and above, or below it, for pictures of 8 bits.
    var quantiser = 26
    var chromaOffset = 0
    var secondChromaOffset = 0
    var hasDeblockingControl = false
    var constrainsIntra = false
    var hasRedundantPictures = false
    var has8x8Transform = false
    var hasMatrices = false
  }

  private(set) var sequences: [Sequence] = []
  private(set) var pictures: [Picture] = []
  /// The sets as units, without start codes.
  private(set) var units: [[UInt8]] = []
  /// The bytes of the length in front of each unit; 0 if units follow start codes.
  let lengthSize: Int

  /// Nil if a set cannot be read, or there is none of one kind.
  /// - Parameter record: An avcC record, or units with start codes.
  init?(_ record: [UInt8]) {
    if record.first == 1 {
      guard record.count > 6 else { return nil }
      lengthSize = Int(record[4] & 3) + 1
      var offset = 5
      for mask in [31, 255] {
        guard offset < record.count else { return nil }
        let count = Int(record[offset]) & mask
        offset += 1
        for _ in 0..<count {
          guard offset + 2 <= record.count else { return nil }
          let end = offset + 2 + (Int(record[offset]) << 8 | Int(record[offset + 1]))
          guard end <= record.count, offset + 2 < end else { return nil }
          units.append(Array(record[(offset + 2)..<end]))
          offset = end
        }
      }
    } else {
      lengthSize = 0
      units = AVCUnits.split(record)
    }
    for unit in units {
      switch unit[0] & 31 {
      case 7:
        guard let sequence = Sequence(unit) else { return nil }
        sequences.append(sequence)
      case 8:
        // Whether there is a flag at the end depends on the number of bits only; what follows it, on the chroma format.
        guard let picture = Picture(unit, chromaFormat: sequences.first?.chromaFormat ?? 1) else { return nil }
        pictures.append(picture)
      default: break
      }
    }
    guard !sequences.isEmpty, !pictures.isEmpty else { return nil }
  }
}

extension AVCParameterSets {
  private static let profiles = [66, 77, 100, 110, 122, 244]
  /// What x264 can be made to have, with what it subtracts by itself.
  private static let chromaOffsets = -12...6

  /// Why pictures that x264 encodes cannot be made to refer to the sets. Nil: they can.
  var obstacle: String? {
    guard lengthSize == 4 else {
      return lengthSize == 0
        ? "its units follow start codes, and not their lengths"
        : "the lengths of its units have \(lengthSize) bytes, not 4"
    }
    guard sequences.count == 1 else { return "it has \(sequences.count) sequence parameter sets" }
    let sequence = sequences[0]
    let isIntraProfile = sequence.profile >= 110 && sequence.constraints & 0x10 != 0
    guard Self.profiles.contains(sequence.profile), !isIntraProfile else {
      return "its profile is \(sequence.profile)\(isIntraProfile ? " of keyframes alone" : "")"
    }
    if sequence.hasSeparatePlanes { return "its colour planes are coded by themselves" }
    if sequence.isLossless { return "its profile allows pictures without loss" }
    if !sequence.hasOnlyFrames { return "it may have fields" }
    if sequence.allowsGaps { return "pictures may be missing on purpose" }
    if sequence.orderType == 1 { return "the order of its pictures is coded by differences (type 1)" }
    for picture in pictures {
      if sequence.hasMatrices || picture.hasMatrices { return "it has scaling matrices" }
      if picture.sliceGroups != 1 { return "its pictures have groups of slices" }
      if picture.hasRedundantPictures { return "it may have redundant pictures" }
      if picture.chromaOffset != picture.secondChromaOffset { return "its chroma planes have different quantisers" }
      if !Self.chromaOffsets.contains(picture.chromaOffset) {
        return "the quantiser of its chroma is higher by \(picture.chromaOffset) than that of its luma"
      }
      // x264 turns the filter off where it has no effect on luma.
      if !picture.hasDeblockingControl, picture.chromaOffset > 0 { return "it cannot control the filter of blocks" }
    }
    return nil
  }
}

extension AVCParameterSets.Sequence {
  /// - Parameter unit: From the byte on that states its type.
  fileprivate init?(_ unit: [UInt8]) {
    var bits = PayloadBits(unit.dropFirst(1), limit: 4096)
    guard let profile = bits.next(8), let constraints = bits.next(8), let level = bits.next(8), bits.golomb() != nil
    else { return nil }
    (self.profile, self.constraints, self.level) = (profile, constraints, level)
    if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) {
      guard let chroma = bits.golomb(), chroma <= 3 else { return nil }
      chromaFormat = chroma
      if chroma == 3 {
        guard let separate = bits.next(1) else { return nil }
        hasSeparatePlanes = separate == 1
      }
      guard let luma = bits.golomb(), bits.golomb() != nil, let lossless = bits.next(1), let matrices = bits.next(1)
      else { return nil }
      (bitDepth, isLossless, hasMatrices) = (8 + luma, lossless == 1, matrices == 1)
      // What follows the matrices is not needed of a stream that has them.
      if hasMatrices { return }
    }
    guard let frameNumber = bits.golomb(), frameNumber <= 12, let orderType = bits.golomb(), orderType <= 2 else {
      return nil
    }
    (frameNumberBits, self.orderType) = (frameNumber + 4, orderType)
    if orderType == 0 {
      guard let order = bits.golomb(), order <= 12 else { return nil }
      orderBits = order + 4
    } else if orderType == 1 {
      return
    }
    guard let references = bits.golomb(), let gaps = bits.next(1), bits.golomb() != nil, bits.golomb() != nil,
      let frames = bits.next(1)
    else { return nil }
    (referenceFrames, allowsGaps, hasOnlyFrames) = (references, gaps == 1, frames == 1)
    if !hasOnlyFrames, bits.next(1) == nil { return nil }
    guard let direct = bits.next(1), let isCropped = bits.next(1) else { return nil }
    infersDirect8x8 = direct == 1
    for _ in 0..<(isCropped * 4) where bits.golomb() == nil { return nil }
    guard let hasUsability = bits.next(1) else { return nil }
    if hasUsability == 1, !readUsability(&bits) { return nil }
  }

  /// Reads the video usability information (E.1.1) up to what it states of reordering.
  private mutating func readUsability(_ bits: inout PayloadBits) -> Bool {
    func skip(_ flag: Int?, _ count: Int) -> Bool { flag.map { $0 == 0 || bits.skip(count) } ?? false }
    guard let hasAspect = bits.next(1) else { return false }
    if hasAspect == 1 {
      guard let aspect = bits.next(8), aspect != 255 || bits.skip(32) else { return false }
    }
    guard skip(bits.next(1), 1), let hasSignal = bits.next(1) else { return false }
    if hasSignal == 1 {
      guard bits.skip(4), skip(bits.next(1), 24) else { return false }
    }
    guard let hasChroma = bits.next(1) else { return false }
    for _ in 0..<(hasChroma * 2) where bits.golomb() == nil { return false }
    guard skip(bits.next(1), 65) else { return false }
    var hasBuffer = false
    for _ in 0..<2 {
      guard let isThere = bits.next(1) else { return false }
      if isThere == 0 { continue }
      hasBuffer = true
      guard let count = bits.golomb(), count < 32, bits.skip(8) else { return false }
      for _ in 0...count { guard bits.golomb() != nil, bits.golomb() != nil, bits.skip(1) else { return false } }
      guard bits.skip(20) else { return false }
    }
    guard bits.skip(hasBuffer ? 2 : 1), let isRestricted = bits.next(1) else { return false }
    guard isRestricted == 1 else { return true }
    guard bits.skip(1) else { return false }
    for _ in 0..<4 where bits.golomb() == nil { return false }
    reorderFrames = bits.golomb()
    return reorderFrames != nil
  }
}

extension AVCParameterSets.Picture {
  /// - Parameter unit: From the byte on that states its type.
  fileprivate init?(_ unit: [UInt8], chromaFormat: Int) {
    let payload = AVCUnits.payload(unit.dropFirst(1))
    guard let last = payload.lastIndex(where: { $0 != 0 }) else { return nil }
    // The end is marked by the last bit that is one.
    let end = 8 * last + 7 - payload[last].trailingZeroBitCount
    let read = payload.withUnsafeBytes { buffer -> AVCParameterSets.Picture? in
      var bits = Bits(buffer)
      var set = AVCParameterSets.Picture()
      guard let identifier = bits.golomb(), bits.golomb() != nil, let arithmetic = bits.next(1),
        let bottom = bits.next(1), let groups = bits.golomb()
      else { return nil }
      (set.identifier, set.usesArithmeticCoding) = (identifier, arithmetic == 1)
      (set.hasBottomOrder, set.sliceGroups) = (bottom == 1, groups + 1)
      // What follows the groups is not needed of a stream that has them.
      if groups > 0 { return set }
      guard let first = bits.golomb(), let second = bits.golomb(), first < 32, second < 32,
        let isWeighted = bits.next(1), let weights = bits.next(2), let quantiser = bits.signedGolomb(),
        bits.signedGolomb() != nil, let chroma = bits.signedGolomb(), let deblocking = bits.next(1),
        let intra = bits.next(1), let redundant = bits.next(1)
      else { return nil }
      set.references = [first + 1, second + 1]
      (set.isWeighted, set.bipredictionWeights) = (isWeighted == 1, weights)
      (set.quantiser, set.chromaOffset, set.secondChromaOffset) = (26 + quantiser, chroma, chroma)
      (set.hasDeblockingControl, set.constrainsIntra) = (deblocking == 1, intra == 1)
      set.hasRedundantPictures = redundant == 1
      guard bits.offset < end else { return set }
      guard let transform = bits.next(1), let matrices = bits.next(1) else { return nil }
      (set.has8x8Transform, set.hasMatrices) = (transform == 1, matrices == 1)
      if set.hasMatrices { return set }
      guard let second = bits.signedGolomb() else { return nil }
      set.secondChromaOffset = second
      return set
    }
    guard let read else { return nil }
    self = read
  }
}
