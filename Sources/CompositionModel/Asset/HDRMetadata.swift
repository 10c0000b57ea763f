/// How a picture of high dynamic range was mastered, and how bright it is. It does not change the pictures: displays
/// use it.
public struct HDRMetadata: Sendable, Hashable, Codable {
  /// SMPTE ST 2086.
  public var display: MasteringDisplay?
  /// CTA-861.3.
  public var light: ContentLightLevel?

  public init(display: MasteringDisplay? = nil, light: ContentLightLevel? = nil) {
    self.display = display
    self.light = light
  }

  /// The greatest brightness of the pictures in cd/m2, as far as it is stated.
  package var peak: Double? {
    if let light, light.maximum > 0 { return Double(light.maximum) }
    return display.map { Double($0.maximumLuminance) / 10000 }
  }
}

/// The display on which a picture was mastered.
public struct MasteringDisplay: Sendable, Hashable, Codable {
  /// Chromaticity coordinates in 1/50000.
  public struct Chromaticity: Sendable, Hashable, Codable {
    public var x: Int
    public var y: Int

    public init(x: Int, y: Int) {
      self.x = x
      self.y = y
    }
  }

  private enum CodingKeys: CodingKey {
    case red, green, blue, white, maximumLuminance, minimumLuminance
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func place(_ key: CodingKeys) throws -> Chromaticity { try container.decode(Chromaticity.self, forKey: key) }
    let display = MasteringDisplay(
      red: try place(.red), green: try place(.green), blue: try place(.blue), white: try place(.white),
      maximumLuminance: try container.decode(Int.self, forKey: .maximumLuminance),
      minimumLuminance: try container.decode(Int.self, forKey: .minimumLuminance))
    guard let display else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: container.codingPath, debugDescription: "these are not the numbers of a display"))
    }
    self = display
  }

  public var red: Chromaticity
  public var green: Chromaticity
  public var blue: Chromaticity
  public var white: Chromaticity
  /// In 1/10000 cd/m2; more than the minimum.
  public var maximumLuminance: Int
  /// In 1/10000 cd/m2.
  public var minimumLuminance: Int

  /// Nil for what is no display: chromaticities outside 0…1, or luminance that is not positive or above 10000 cd/m2.
  public init?(
    red: Chromaticity, green: Chromaticity, blue: Chromaticity, white: Chromaticity, maximumLuminance: Int,
    minimumLuminance: Int
  ) {
    let coordinates = [red, green, blue, white].flatMap { [$0.x, $0.y] }
    guard coordinates.allSatisfy({ (0...50000).contains($0) }), white.y > 0, minimumLuminance >= 0,
      maximumLuminance > minimumLuminance, maximumLuminance <= 100_000_000
    else { return nil }
    self.red = red
    self.green = green
    self.blue = blue
    self.white = white
    self.maximumLuminance = maximumLuminance
    self.minimumLuminance = minimumLuminance
  }

  /// As x264 and x265 take it.
  var encoderParameter: String {
    let places = [("G", green), ("B", blue), ("R", red), ("WP", white)].map { "\($0)(\($1.x),\($1.y))" }
    return places.joined() + "L(\(maximumLuminance),\(minimumLuminance))"
  }
}

/// The brightness of a whole film in cd/m2. 0 is not known.
public struct ContentLightLevel: Sendable, Hashable, Codable {
  /// The brightness of the brightest pixel: MaxCLL.
  @Ranged<IndexRange> public var maximum: Int
  /// The mean brightness of the frame that is brightest on average: MaxFALL.
  @Ranged<IndexRange> public var maximumAverage: Int

  public init(maximum: Int, maximumAverage: Int) {
    self.maximum = maximum
    self.maximumAverage = maximumAverage
  }
}
