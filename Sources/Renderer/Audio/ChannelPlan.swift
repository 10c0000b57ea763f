import CompositionModel
import Media

/// How a track's channels become the output's.
enum ChannelPlan: Sendable, Equatable {
  /// The same speakers in the same order, so that nothing is computed.
  case same
  case mixed(SampleConverter.Mixing)

  /// `channels` is the output's: 1 mono, 2 stereo, 6 5.1 or 8 7.1.
  init(from input: AudioFormat, to channels: Int) {
    let output = Self.defaultLayouts[channels] ?? "\(channels) channels"
    let named = Self.namesSpeakers(input.layout) ? input.layout : Self.defaultLayouts[input.channels] ?? ""
    if input.layout.hasPrefix("ambisonic") {
      self = .mixed(.matrix(Self.ambisonic(input.channels, to: channels)))
    } else if named == output || (channels == 6 && named == "5.1(side)") {
      self = .same
    } else if !named.isEmpty {
      self = .mixed(.layouts(from: named, to: output))
    } else {
      self = .mixed(.matrix(Self.unplaced(input.channels, to: channels)))
    }
  }

  /// libavutil's names of the usual layout for each number of channels.
  private static let defaultLayouts = [
    1: "mono", 2: "stereo", 3: "2.1", 4: "4.0", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1",
  ]

  /// Whether libavutil's description of a layout names its speakers; `16 channels` does not.
  private static func namesSpeakers(_ layout: String) -> Bool {
    !layout.isEmpty && !layout.hasSuffix("channels") && layout != "unknown"
  }

  /// For channels without known speakers, numbered as a recorder does: odd ones go left and even ones right, and all
  /// channels of a side together are as loud as one.
  private static func unplaced(_ inputs: Int, to outputs: Int) -> [Double] {
    var matrix = [Double](repeating: 0, count: inputs * outputs)
    let sides = outputs == 1 ? 1 : 2
    for input in 0..<inputs {
      let side = input % sides
      matrix[side * inputs + input] = 1 / Double((inputs - side + sides - 1) / sides)
    }
    return matrix
  }

  /// For ambisonic audio in the usual order W, Y, Z, X…: the signals of two cardioid microphones that point left and right;
  /// W alone for mono.
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
