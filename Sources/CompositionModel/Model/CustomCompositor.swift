/// A compositor of the author's own, which a worker's program has: AVFoundation's `AVVideoCompositing`. A worker's
/// program calls the compositor of this name for each frame.
public struct CustomCompositor: Sendable, Hashable, Codable {
  /// See `isName`.
  public var name: String
  /// A JSON object without spaces, its keys sorted: what the author's type is decoded from.
  public var parameters: String
  /// The metadata tracks whose values it is given. Nil: none.
  public var metadata: [TrackID]?

  /// - Parameters:
  ///   - name: The compositor's `name`.
  ///   - parameters: The text of a JSON object.
  ///   - metadata: The metadata tracks whose values it is given. Nil: none.
  public init(name: String, parameters: String = "{}", metadata: [TrackID]? = nil) {
    self.name = name
    self.parameters = parameters
    self.metadata = metadata
  }

  /// Whether a text can be the name of a compositor: 1 to 40 ASCII letters, digits and `-`, `_`, `.`. Names are part of
  /// a worker's build, where these characters separate nothing.
  public static func isName(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy {
        $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_.".unicodeScalars.contains($0))
      }
  }

  /// For messages: the name and, if there are any, the parameters.
  package var title: String {
    let shown = parameters.count <= 200 ? parameters : parameters.prefix(197) + "..."
    return parameters == "{}" ? "the compositor '\(name)'" : "the compositor '\(name)' with \(shown)"
  }
}

/// An instruction's layers that a compositor makes into one picture. Nothing but the background is below it.
public struct CompositorLayer: Sendable, Hashable, Codable {
  /// The first is on top.
  public var sources: [TrackLayer]
  /// The position in the instruction's whole time, 0…1, on the composition's timeline.
  public var progress: Ramp
  public var compositor: CustomCompositor

  public init(sources: [TrackLayer], progress: Ramp, compositor: CustomCompositor) {
    self.sources = sources
    self.progress = progress
    self.compositor = compositor
  }
}
