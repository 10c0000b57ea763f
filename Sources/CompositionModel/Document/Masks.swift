/// A mask of a clip or a layer as written.
struct MaskEntry: Sendable {
  var mask: LayerMask
  var pointer: JSONPointer

  static let keys = ["image", "channel", "invert"]
  static let notYet = ["track"]
}

extension DocumentReader {
  /// Reads a mask. Nil and a problem if it cannot be used.
  mutating func mask(_ value: JSONValue?) -> MaskEntry? {
    guard let value,
      let fields = fields(value, "a mask", keys: MaskEntry.keys, notYet: MaskEntry.notYet)
    else { return nil }
    let channel: LayerMask.Channel = choice(fields["channel"], "channel") ?? .alpha
    let isInverted = boolean(fields["invert"]) ?? false
    guard let image = asset(required(fields, "image", "a mask")) else { return nil }
    return MaskEntry(
      mask: LayerMask(image: image, channel: channel, isInverted: isInverted), pointer: fields.pointer)
  }
}

extension Lowering {
  /// The mask. Nil and a problem if its asset is not a still picture.
  mutating func lower(_ entry: MaskEntry?) -> LayerMask? {
    guard let entry, let asset = assets[entry.mask.image] else { return nil }
    guard asset.defaultTrack(.video)?.video?.isStill == true else {
      problems.add(
        entry.pointer.key("image"), "'\(entry.mask.image)' is not a still picture, which the image of a mask must be")
      return nil
    }
    return entry.mask
  }
}
