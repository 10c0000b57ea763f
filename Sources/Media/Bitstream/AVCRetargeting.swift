/// The identifiers of instantaneous decoding refreshes (idr_pic_id). Two that follow one another must differ, and no
/// piece knows what is before it: encoded ones have numbers that copied ones do not have, and the first of a copied
/// piece after another one has a number of its own.
enum AVCIdentifiers {
  static let first = 60001
  static let others = [60002, 60003]
  static let afterCopy = 60004
  /// Those that a copied stream may have.
  static let free = 0..<first
}

/// Makes the pictures that an encoder has coded refer to other parameter sets than its own: the headers of the slices
/// are written as these need them, and the data of the slices are kept (the bit-stream filter `h264_redundant_pps` of
/// FFmpeg does a part of that).
struct AVCRetargeting {
  private let own: AVCParameterSets
  private let target: AVCParameterSets
  private let sequence: AVCParameterSets.Sequence
  private let picture: AVCParameterSets.Picture
  private let targetSequence: AVCParameterSets.Sequence
  private let targetPicture: AVCParameterSets.Picture
  /// frame_num without its limit of bits, since the last refresh.
  private var frameNumber = 0
  /// The order of the last reference picture, in the same way.
  private var referenceOrder = 0
  private var refreshCount = 0

  /// What differs between the sets of a stream and others, so that it cannot be made to refer to these. Nil: it can.
  /// - Parameter hasBidirectional: Whether it has B slices.
  static func difference(_ own: AVCParameterSets, _ target: AVCParameterSets, hasBidirectional: Bool) -> String? {
    let (sequence, wanted) = (own.sequences[0], target.sequences[0])
    let (picture, other) = (own.pictures[0], target.pictures[0])
    let weights =
      picture.bipredictionWeights == other.bipredictionWeights
      || picture.bipredictionWeights == 0 && other.bipredictionWeights == 1
    let differences: [(isThere: Bool, what: String)] = [
      (picture.usesArithmeticCoding != other.usesArithmeticCoding, "arithmetic coding"),
      (picture.has8x8Transform != other.has8x8Transform, "the transform of 8x8"),
      (picture.constrainsIntra != other.constrainsIntra, "the limit of intra prediction"),
      (picture.chromaOffset != other.chromaOffset, "the quantiser of chroma"),
      (picture.secondChromaOffset != other.secondChromaOffset, "the second quantiser of chroma"),
      (sequence.chromaFormat != wanted.chromaFormat, "the chroma format"),
      (sequence.bitDepth != wanted.bitDepth, "the bit depth"),
      (picture.isWeighted && !other.isWeighted, "the weights of P pictures"),
      (picture.isWeighted && sequence.frameNumberBits != wanted.frameNumberBits, "the bits of frame_num"),
      (hasBidirectional && !weights, "the weights of B pictures"),
      (hasBidirectional && wanted.orderType == 2, "the order of pictures"),
      (hasBidirectional && sequence.infersDirect8x8 != wanted.infersDirect8x8, "direct motion"),
      (sequence.referenceFrames > wanted.referenceFrames, "the number of reference pictures"),
    ]
    return differences.first(where: \.isThere).map(\.what)
  }

  init(_ own: AVCParameterSets, to target: AVCParameterSets) {
    (self.own, self.target) = (own, target)
    (sequence, picture) = (own.sequences[0], own.pictures[0])
    (targetSequence, targetPicture) = (target.sequences[0], target.pictures[0])
  }

  /// A packet with start codes as one with lengths. Messages, parameter sets and delimiters are left out.
  mutating func retargeted(_ packet: [UInt8]) throws(MediaError) -> [UInt8] {
    var units: [[UInt8]] = []
    for unit in AVCUnits.split(packet) where unit[0] & 31 == 1 || unit[0] & 31 == 5 {
      units.append(try slice(unit, isFirst: units.isEmpty))
    }
    guard !units.isEmpty else { throw Self.unreadable("has no slice") }
    return AVCUnits.joined(units)
  }

  private mutating func slice(_ unit: [UInt8], isFirst: Bool) throws(MediaError) -> [UInt8] {
    let payload = AVCUnits.payload(unit.dropFirst())
    guard let header = AVCSliceHeader(unit[0], payload, own) else {
      throw Self.unreadable("has a slice without header")
    }
    let order = try order(of: header, isFirst: isFirst)
    var changed = Changes(header: header)
    changed.pictureSet = targetPicture.identifier
    changed.frameNumber = frameNumber
    changed.order = order
    if header.isRefresh {
      let number = refreshCount - 1
      changed.identifier = number == 0 ? AVCIdentifiers.first : AVCIdentifiers.others[number % 2]
    }
    changed.quantiserDifference += picture.quantiser - targetPicture.quantiser
    if targetPicture.hasDeblockingControl {
      changed.deblocking = header.deblocking ?? (0, 0, 0)
    } else if let deblocking = header.deblocking, deblocking.mode != 1, deblocking != (0, 0, 0) {
      throw Self.unreadable("filters its blocks by other rules than the parameter sets have")
    }
    return changed.written(payload, targetSequence, targetPicture)
  }

  /// The order of a slice's picture since the last refresh. Counts its frame_num on.
  private mutating func order(of header: AVCSliceHeader, isFirst: Bool) throws(MediaError) -> Int {
    if isFirst {
      if header.isRefresh {
        (frameNumber, referenceOrder) = (0, 0)
        refreshCount += 1
      } else {
        frameNumber += (header.frameNumber - frameNumber) & (1 << sequence.frameNumberBits - 1)
      }
    }
    guard refreshCount > 0 else { throw Self.unreadable("begins with a picture that is no refresh") }
    // Pictures in order of presentation (8.2.1.3).
    guard let low = header.order else { return 2 * frameNumber - (header.isReference ? 0 : 1) }
    let range = 1 << sequence.orderBits
    let difference = (low - referenceOrder) & (range - 1)
    let order = referenceOrder + (difference > range / 2 ? difference - range : difference)
    // The slices after the first are of the same picture, and find the same order again.
    if header.isReference { referenceOrder = order }
    return order
  }

  private static func unreadable(_ message: String) -> MediaError {
    MediaError(.unsupported, operation: "encoding", subject: "h264", message: "a packet of the encoder \(message)")
  }

  /// The first picture of a copied stream with another identifier: its slices are those of a refresh. Nil if they
  /// cannot be read.
  static func renewed(_ packet: UnsafeRawBufferPointer, _ sets: AVCParameterSets, identifier: Int) -> [UInt8]? {
    guard let units = AVCUnits.split(withLengths: packet) else { return nil }
    var renewed: [[UInt8]] = []
    for unit in units {
      guard unit[0] & 31 == 5 else {
        renewed.append(unit)
        continue
      }
      let payload = AVCUnits.payload(unit.dropFirst())
      guard let header = AVCSliceHeader(unit[0], payload, sets), let sequence = sets.sequences.first,
        let picture = sets.pictures.first(where: { $0.identifier == header.pictureSet })
      else { return nil }
      var changed = Changes(header: header)
      changed.identifier = identifier
      renewed.append(changed.written(payload, sequence, picture))
    }
    return AVCUnits.joined(renewed)
  }
}

/// A slice's header with other values.
private struct Changes {
  let header: AVCSliceHeader
  var pictureSet: Int
  var frameNumber: Int
  var order: Int?
  var identifier: Int?
  var quantiserDifference: Int
  var deblocking: (mode: Int, first: Int, second: Int)?

  init(header: AVCSliceHeader) {
    self.header = header
    (pictureSet, frameNumber, order) = (header.pictureSet, header.frameNumber, header.order)
    (identifier, quantiserDifference) = (header.identifier, header.quantiserDifference)
    deblocking = header.deblocking
  }

  /// The slice as a unit for some parameter sets.
  func written(
    _ payload: [UInt8], _ sequence: AVCParameterSets.Sequence, _ picture: AVCParameterSets.Picture
  ) -> [UInt8] {
    var bits = BitWriter()
    bits.append(golomb: header.firstMacroblock)
    bits.append(golomb: header.type)
    bits.append(golomb: pictureSet)
    bits.append(frameNumber, bits: sequence.frameNumberBits)
    if let identifier { bits.append(golomb: identifier) }
    if sequence.orderType == 0 {
      bits.append(order ?? 0, bits: sequence.orderBits)
      if picture.hasBottomOrder { bits.append(signedGolomb: header.bottomDifference) }
    }
    if header.kind == .b { bits.append(header.isSpatial ? 1 : 0, bits: 1) }
    writeReferences(&bits, picture)
    bits.append(payload, bits: header.modifications)
    if header.kind == .p && picture.isWeighted || header.kind == .b && picture.bipredictionWeights == 1 {
      writeWeights(&bits, payload, hasChroma: sequence.chromaFormat != 0)
    }
    if let marking = header.marking { bits.append(payload, bits: marking) }
    if let table = header.table { bits.append(golomb: table) }
    bits.append(signedGolomb: quantiserDifference)
    if picture.hasDeblockingControl, let deblocking {
      bits.append(golomb: deblocking.mode)
      if deblocking.mode != 1 {
        bits.append(signedGolomb: deblocking.first)
        bits.append(signedGolomb: deblocking.second)
      }
    }
    if picture.usesArithmeticCoding {
      // The data begin with a byte, after ones.
      while !bits.isAligned { bits.append(1, bits: 1) }
      bits.append(payload, bits: ((header.end + 7) / 8 * 8)..<(8 * payload.count))
    } else {
      // Up to the bit that marks the end, after which a byte is filled with zeros.
      let last = payload.lastIndex { $0 != 0 } ?? 0
      bits.append(payload, bits: header.end..<(8 * last + 8 - payload[last].trailingZeroBitCount))
    }
    return AVCUnits.unit(header.unit, bits.bytes)
  }

  private func writeReferences(_ bits: inout BitWriter, _ picture: AVCParameterSets.Picture) {
    guard !header.references.isEmpty else { return }
    let isUsual = header.references.elementsEqual(picture.references.prefix(header.references.count))
    bits.append(isUsual ? 0 : 1, bits: 1)
    if !isUsual { for count in header.references { bits.append(golomb: count - 1) } }
  }

  /// The slice's own weights, or those that change nothing.
  private func writeWeights(_ bits: inout BitWriter, _ payload: [UInt8], hasChroma: Bool) {
    if let weights = header.weights { return bits.append(payload, bits: weights) }
    bits.append(golomb: 0)
    if hasChroma { bits.append(golomb: 0) }
    for _ in 0..<header.references.reduce(0, +) { bits.append(0, bits: hasChroma ? 2 : 1) }
  }
}
