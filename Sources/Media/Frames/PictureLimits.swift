internal import CompositionModel

/// The largest pictures that are opened or made.
package enum PictureLimits {
  /// Pixels on a side.
  package static let side = 16384

  static func check(_ size: PixelSize, subject: String) throws(MediaError) {
    guard size.width < 1 || size.height < 1 || size.width > side || size.height > side else { return }
    throw MediaError(
      .tooLarge, operation: "opening", subject: subject,
      message: "\(size.width)x\(size.height) pixels; each side must be 1 to \(side)")
  }
}
