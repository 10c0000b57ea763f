/// The header of a slice of a frame of H.264 (ITU-T H.264, 7.3.3), as far as its stream is one that
/// `AVCParameterSets.obstacle` finds nothing wrong with.
struct AVCSliceHeader {
  enum Kind: Int {
    case p, b, i
  }

  /// The unit's first byte.
  let unit: UInt8
  let firstMacroblock: Int
  /// As it is coded: types of 5 and above say that all slices of the picture have it.
  let type: Int
  let kind: Kind
  let pictureSet: Int
  let frameNumber: Int
  /// idr_pic_id. Nil: the picture is no instantaneous decoding refresh.
  let identifier: Int?
  /// pic_order_cnt_lsb. Nil: it is not coded.
  let order: Int?
  let bottomDifference: Int
  let isSpatial: Bool
  /// How many references each list has, of a P slice one list and of a B slice two.
  let references: [Int]
  /// The bits that change the order of references, and those of the weights and of what is kept for reference.
  let modifications: Range<Int>
  let weights: Range<Int>?
  let marking: Range<Int>?
  /// no_output_of_prior_pics_flag.
  let dropsEarlierPictures: Bool
  /// cabac_init_idc.
  let table: Int?
  /// Relative to that of the picture parameter set.
  let quantiserDifference: Int
  /// disable_deblocking_filter_idc with its two offsets. Nil: it is not coded.
  let deblocking: (mode: Int, first: Int, second: Int)?
  /// The bit after the header.
  let end: Int

  var isRefresh: Bool { unit & 31 == 5 }
  var isReference: Bool { unit >> 5 & 3 != 0 }

  /// Nil if it cannot be read.
  /// - Parameters:
  ///   - unit: The byte that states the type of the slice's unit.
  ///   - payload: What follows it, without the bytes that keep start codes out of it.
  init?(_ unit: UInt8, _ payload: [UInt8], _ sets: AVCParameterSets) {
    guard let sequence = sets.sequences.first else { return nil }
    let read = payload.withUnsafeBytes { buffer -> AVCSliceHeader? in
      var bits = Bits(buffer)
      return AVCSliceHeader(unit, &bits, sequence, sets.pictures)
    }
    guard let read else { return nil }
    self = read
  }

  private init?(
    _ unit: UInt8, _ bits: inout Bits, _ sequence: AVCParameterSets.Sequence, _ pictures: [AVCParameterSets.Picture]
  ) {
    self.unit = unit
    guard let first = bits.golomb(), let type = bits.golomb(), let kind = Kind(rawValue: type % 5), type < 10,
      let pictureSet = bits.golomb(), let picture = pictures.first(where: { $0.identifier == pictureSet }),
      let frameNumber = bits.next(sequence.frameNumberBits)
    else { return nil }
    (firstMacroblock, self.type, self.kind, self.pictureSet) = (first, type, kind, pictureSet)
    self.frameNumber = frameNumber
    let isRefresh = unit & 31 == 5
    if isRefresh {
      guard let number = bits.golomb() else { return nil }
      identifier = number
    } else {
      identifier = nil
    }
    var (order, bottom) = (Int?.none, 0)
    if sequence.orderType == 0 {
      guard let low = bits.next(sequence.orderBits) else { return nil }
      order = low
      if picture.hasBottomOrder {
        guard let difference = bits.signedGolomb() else { return nil }
        bottom = difference
      }
    }
    (self.order, bottomDifference) = (order, bottom)
    guard let direct = kind == .b ? bits.next(1) : 0,
      let references = Self.references(&bits, kind, picture)
    else { return nil }
    (isSpatial, self.references) = (direct == 1, references)
    let modified = bits.offset
    for _ in references where !Self.skipModifications(&bits) { return nil }
    modifications = modified..<bits.offset
    let weighted = bits.offset
    if kind == .p && picture.isWeighted || kind == .b && picture.bipredictionWeights == 1 {
      guard Self.skipWeights(&bits, references, hasChroma: sequence.chromaFormat != 0) else { return nil }
      weights = weighted..<bits.offset
    } else {
      weights = nil
    }
    var drops = false
    if unit >> 5 & 3 != 0 {
      let marked = bits.offset
      if isRefresh {
        guard let flag = bits.next(1), bits.next(1) != nil else { return nil }
        drops = flag == 1
      } else if !Self.skipMarking(&bits) {
        return nil
      }
      marking = marked..<bits.offset
    } else {
      marking = nil
    }
    dropsEarlierPictures = drops
    if picture.usesArithmeticCoding, kind != .i {
      guard let number = bits.golomb(), number <= 2 else { return nil }
      table = number
    } else {
      table = nil
    }
    guard let quantiser = bits.signedGolomb() else { return nil }
    quantiserDifference = quantiser
    if picture.hasDeblockingControl {
      guard let mode = bits.golomb(), mode <= 2 else { return nil }
      var offsets = (0, 0)
      if mode != 1 {
        guard let alpha = bits.signedGolomb(), let beta = bits.signedGolomb() else { return nil }
        offsets = (alpha, beta)
      }
      deblocking = (mode, offsets.0, offsets.1)
    } else {
      deblocking = nil
    }
    end = bits.offset
  }

  private static func references(
    _ bits: inout Bits, _ kind: Kind, _ picture: AVCParameterSets.Picture
  ) -> [Int]? {
    guard kind != .i else { return [] }
    var counts = Array(picture.references.prefix(kind == .b ? 2 : 1))
    guard let isOther = bits.next(1) else { return nil }
    if isOther == 1 {
      for list in counts.indices {
        guard let count = bits.golomb(), count < 32 else { return nil }
        counts[list] = count + 1
      }
    }
    return counts
  }

  /// Skips ref_pic_list_modification of a list.
  private static func skipModifications(_ bits: inout Bits) -> Bool {
    guard let isChanged = bits.next(1) else { return false }
    if isChanged == 0 { return true }
    for _ in 0...66 {
      guard let operation = bits.golomb(), operation <= 3 else { return false }
      if operation == 3 { return true }
      guard bits.golomb() != nil else { return false }
    }
    return false
  }

  /// Skips pred_weight_table.
  private static func skipWeights(_ bits: inout Bits, _ references: [Int], hasChroma: Bool) -> Bool {
    guard bits.golomb() != nil, !hasChroma || bits.golomb() != nil else { return false }
    for count in references {
      for _ in 0..<count {
        for numbers in hasChroma ? [2, 4] : [2] {
          guard let isThere = bits.next(1) else { return false }
          if isThere == 0 { continue }
          for _ in 0..<numbers where bits.signedGolomb() == nil { return false }
        }
      }
    }
    return true
  }

  /// Skips dec_ref_pic_marking of a picture that is no refresh.
  private static func skipMarking(_ bits: inout Bits) -> Bool {
    guard let isAdaptive = bits.next(1) else { return false }
    if isAdaptive == 0 { return true }
    for _ in 0...66 {
      guard let operation = bits.golomb(), operation <= 6 else { return false }
      if operation == 0 { return true }
      for _ in 0..<(operation == 3 ? 2 : operation == 5 ? 0 : 1) where bits.golomb() == nil { return false }
    }
    return false
  }
}
