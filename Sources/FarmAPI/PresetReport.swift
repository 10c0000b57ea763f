package import CompositionModel
package import EditDocument

/// A preset, as `sheaf presets --json` prints it. Its JSON is stable: keys may be added, but are never changed.
package struct PresetReport: Sendable, Hashable, Codable {
  package struct Video: Sendable, Hashable, Codable {
    package var codec: String
    package var quality: Double?
    package var longerSide: Int?
    package var shorterSide: Int?
  }

  package struct Audio: Sendable, Hashable, Codable {
    package var codec: String
    package var bitRate: Int?
  }

  package var name: String
  package var avFoundationName: String
  /// Nil: there are no pictures, or they are copied.
  package var video: Video?
  /// Nil: it is copied.
  package var audio: Audio?
  package var containers: [String]
  /// Nil: there is no input.
  package var problems: [Problem]?

  /// Every preset, and copying, without an input.
  package static var all: [PresetReport] {
    ExportPreset.allCases.map { PresetReport($0, problems: nil) } + [PresetReport(PassthroughSettings.containers)]
  }

  package init(_ preset: ExportPreset, problems: [Problem]?) {
    name = preset.rawValue
    avFoundationName = preset.avFoundationName
    video = preset.video.map {
      Video(
        codec: $0.codec.rawValue, quality: $0.quality, longerSide: $0.greatestSize?.width,
        shorterSide: $0.greatestSize?.height)
    }
    audio = Audio(codec: preset.audio.codec.rawValue, bitRate: preset.audio.bitRate)
    containers = preset.containers.map(\.rawValue)
    self.problems = problems
  }

  /// Copying, with the containers that it can be into.
  package init(_ containers: [Container], problems: [Problem]? = nil) {
    name = PresetChoice.passthrough.name
    avFoundationName = PresetChoice.passthrough.avFoundationName
    self.containers = containers.map(\.rawValue)
    self.problems = problems
  }
}
