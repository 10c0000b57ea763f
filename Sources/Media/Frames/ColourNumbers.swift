internal import CMedia
internal import CompositionModel

extension ColourTags {
  /// From libavutil's numbers; nil for "unspecified" and "reserved".
  init(
    primaries: AVColorPrimaries, transfer: AVColorTransferCharacteristic, matrix: AVColorSpace, range: AVColorRange,
    location: AVChromaLocation
  ) {
    self.init(
      primaries: primaries == AVCOL_PRI_UNSPECIFIED ? nil : named(av_color_primaries_name(primaries)),
      transfer: transfer == AVCOL_TRC_UNSPECIFIED ? nil : named(av_color_transfer_name(transfer)),
      matrix: matrix == AVCOL_SPC_UNSPECIFIED ? nil : named(av_color_space_name(matrix)),
      isFullRange: range == AVCOL_RANGE_JPEG,
      chromaLocation: location == AVCHROMA_LOC_UNSPECIFIED ? nil : named(av_chroma_location_name(location)))
  }
}

private func named(_ name: UnsafePointer<CChar>?) -> String? {
  name.map { String(cString: $0) }.flatMap { $0 == "reserved" ? nil : $0 }
}

/// `ColourTags` as libavutil's numbers; a name that libavutil does not have is "unspecified".
struct ColourNumbers {
  let primaries: AVColorPrimaries
  let transfer: AVColorTransferCharacteristic
  let matrix: AVColorSpace
  let range: AVColorRange
  let location: AVChromaLocation

  init(_ tags: ColourTags) {
    primaries =
      number(tags.primaries, av_color_primaries_from_name).map { AVColorPrimaries(UInt32($0)) }
      ?? AVCOL_PRI_UNSPECIFIED
    transfer =
      number(tags.transfer, av_color_transfer_from_name).map { AVColorTransferCharacteristic(UInt32($0)) }
      ?? AVCOL_TRC_UNSPECIFIED
    matrix = number(tags.matrix, av_color_space_from_name).map { AVColorSpace(UInt32($0)) } ?? AVCOL_SPC_UNSPECIFIED
    range = tags.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
    location =
      number(tags.chromaLocation, av_chroma_location_from_name).map { AVChromaLocation(UInt32($0)) }
      ?? AVCHROMA_LOC_UNSPECIFIED
  }
}

private func number(_ name: String?, _ find: (UnsafePointer<CChar>?) -> Int32) -> Int32? {
  guard let name else { return nil }
  let value = find(name)
  return value < 0 ? nil : value
}
