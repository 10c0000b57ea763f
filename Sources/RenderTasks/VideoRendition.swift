package import CompositionModel

/// How the pictures of a film are stored in one or more of its outputs.
package struct VideoRendition: Sendable, Hashable, Codable {
  /// The size of the pictures that are encoded, in pixels. The film's pictures are scaled if they have another size.
  package var size: PixelSize
  package var encoder: VideoSettings
  /// What the segment is to take of the bits of an output with an average bit rate. Nil: as many as its rate control
  /// gives it.
  package var share: BitShare?

  package init(size: PixelSize, encoder: VideoSettings, share: BitShare? = nil) {
    self.size = size
    self.encoder = encoder
    self.share = share
  }
}

/// The bits that a segment of a film with an average bit rate is to take at the rate factor of its rendition's encoder.
package struct BitShare: Sendable, Hashable, Codable {
  /// The bits that each frame is expected to take at that rate factor, in order of presentation. Each is above 0.
  package var frameBits: [Int]

  package init(frameBits: [Int]) {
    self.frameBits = frameBits
  }
}
