import CompositionModel

/// How a track's channels become the output's (FEATURES F26).
enum ChannelPlan: Sendable, Equatable {
  /// The same speakers in the same order: nothing is computed.
  case same
  /// libswresample's standard matrix between two of libavutil's layouts.
  case standard(from: String, to: String)
  /// A gain for each output channel from each input channel, a row an output channel: for channels whose places nobody
  /// has said.
  case matrix([Double])

  /// `channels` is the output's: 1 mono, 2 stereo, 6 5.1 or 8 7.1.
  init(from input: AudioFormat, to channels: Int) {
    let output = Self.defaultLayouts[channels] ?? "\(channels) channels"
    let named = Self.names(input.layout) ? input.layout : Self.defaultLayouts[input.channels] ?? ""
    if input.layout.hasPrefix("ambisonic") {
      self = .matrix(Self.ambisonic(input.channels, to: channels))
    } else if named == output || (channels == 6 && named == "5.1(side)") {
      self = .same
    } else if !named.isEmpty {
      self = .standard(from: named, to: output)
    } else {
      self = .matrix(Self.unplaced(input.channels, to: channels))
    }
  }

  /// What libavutil calls the usual layout of so many channels.
  private static let defaultLayouts = [
    1: "mono", 2: "stereo", 3: "2.1", 4: "4.0", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1",
  ]

  /// Whether a description tells where the channels stand; `16 channels` does not.
  private static func names(_ layout: String) -> Bool {
    !layout.isEmpty && !layout.hasSuffix("channels") && layout != "unknown"
  }

  /// Channels of unknown places, as a recorder numbers them: odd ones left, even ones right, as loud together as one.
  private static func unplaced(_ inputs: Int, to outputs: Int) -> [Double] {
    var matrix = [Double](repeating: 0, count: inputs * outputs)
    let sides = outputs == 1 ? 1 : 2
    for input in 0..<inputs {
      let side = input % sides
      matrix[side * inputs + input] = 1 / Double((inputs - side + sides - 1) / sides)
    }
    return matrix
  }

  /// A sphere of sound in the usual order W, Y, Z, X…: what two cardioids hear to the left and to the right, or W.
  private static func ambisonic(_ inputs: Int, to outputs: Int) -> [Double] {
    var matrix = [Double](repeating: 0, count: inputs * outputs)
    guard outputs > 1, inputs > 1 else {
      for output in 0..<min(2, outputs) { matrix[output * inputs] = 1 }
      return matrix
    }
    (matrix[0], matrix[1]) = (0.5, 0.5)
    (matrix[inputs], matrix[inputs + 1]) = (0.5, -0.5)
    return matrix
  }
}
