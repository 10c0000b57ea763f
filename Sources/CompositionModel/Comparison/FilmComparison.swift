/// How two films are to be compared.
package struct ComparisonRequest: Sendable, Hashable, Codable {
  /// The second film has some segments of the first alone, one after the other.
  package struct Share: Sendable, Hashable, Codable {
    /// The frames of these segments in the first film. They rise and are apart.
    package var segments: [Range<Int>]
    /// The frames of the first film.
    package var frameCount: Int
    package var frameDuration: MediaTime
    /// Whether the second film has all of the sound.
    package var hasSound: Bool

    package init(segments: [Range<Int>], frameCount: Int, frameDuration: MediaTime, hasSound: Bool) {
      (self.segments, self.frameCount) = (segments, frameCount)
      (self.frameDuration, self.hasSound) = (frameDuration, hasSound)
    }
  }

  package var container: Container
  /// Nil: the films are compared as a whole.
  package var share: Share?

  package init(container: Container, share: Share? = nil) {
    self.container = container
    self.share = share
  }
}

/// What is in a film, and in what it differs from another one.
package struct FilmComparison: Sendable, Hashable, Codable {
  /// In how many pictures or samples two tracks differ, and how much.
  package struct Difference: Sendable, Hashable, Codable {
    /// How many pictures, samples of each channel, or packets differ. Those that one film has more than the other are
    /// among them.
    package var count: Int64
    /// The number of the first one, from 0.
    package var first: Int64
    /// Its time in the film, in seconds.
    package var seconds: Double
    /// The largest difference of two values: of pictures as a part of the whole range, of samples where full scale is
    /// 1. Nil: it is not known, as where pictures have other sizes or are missing.
    package var largest: Double?
    /// The number of the picture that differs most. Nil: there is none that can be compared.
    package var worst: Int64?
    /// The PSNR of that picture over all of its planes, in dB.
    package var psnr: Double?

    package init(count: Int64, first: Int64, seconds: Double) {
      (self.count, self.first, self.seconds) = (count, first, seconds)
    }
  }

  /// What was found of a segment of a share.
  package struct Segment: Sendable, Hashable, Codable {
    /// In the film.
    package var frames: Range<Int>
    /// Whether the packets of both films are the same bytes.
    package var hasEqualPackets: Bool
    /// Nil: the pictures are the same.
    package var difference: Difference?

    package init(frames: Range<Int>, hasEqualPackets: Bool, difference: Difference? = nil) {
      (self.frames, self.hasEqualPackets, self.difference) = (frames, hasEqualPackets, difference)
    }
  }

  package struct Track: Sendable, Hashable, Codable {
    package var type: MediaType
    /// libavcodec's name of the codec.
    package var codec: String
    /// What `digest` is of: the format of the pictures or of the samples; `packets` of other tracks.
    package var format: String
    /// Of pictures, of samples of each channel, or of packets.
    package var count: Int64
    /// The SHA-256 of all pictures or samples as they are decoded, in hexadecimal, or of all packets. Nil: it was not
    /// computed.
    package var digest: String?
    /// Nil: no picture, sample or packet differs.
    package var difference: Difference?
    /// What else differs that is seen or heard, each as what follows the name of the track in a sentence.
    package var faults: [String] = []
    /// Of a share. Nil: the track was compared as a whole, or not at all.
    package var segments: [Segment]?

    package init(type: MediaType, codec: String, format: String = "", count: Int64 = 0) {
      (self.type, self.codec, self.format, self.count) = (type, codec, format, count)
    }

    /// Whether what is seen or heard is the same.
    package var isEqual: Bool {
      difference == nil && faults.isEmpty && (segments ?? []).allSatisfy { $0.difference == nil }
    }
  }

  package var tracks: [Track] = []
  /// What differs beside what is seen and heard, each as a sentence.
  package var remarks: [String] = []
  /// Why the first film could not be read as far as the second. Nil: it could.
  package var problem: String?

  package init() {}

  /// Whether all that is seen and heard is the same.
  package var isEqual: Bool { problem == nil && tracks.allSatisfy(\.isEqual) }
}
