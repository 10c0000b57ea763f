public import CompositionModel

extension ExportSettings {
  /// The kinds of file, by their extensions.
  public typealias Container = CompositionModel.Container

  /// One of several files that one render makes, such as a rendition of a ladder.
  public struct Output: Sendable, Hashable {
    /// The size of an output's pictures, whose proportions are the film's.
    public enum Size: Sendable, Hashable {
      /// In pixels, even. The width follows.
      case height(Int)
      case exactly(PixelSize)
    }

    /// The pictures or the sound of an output.
    public enum Stream<Settings: Sendable & Hashable>: Sendable, Hashable {
      /// Those of the export.
      case inherited
      /// There if the composition has something for it, with the defaults of the container.
      case automatic
      /// Not in the output.
      case none
      /// What is set takes the place of what the export sets.
      case settings(Settings)
    }

    /// The name of its file without extension: 1 to 64 letters, digits, `-`, `_` and `.`, which is not first.
    public var name: String
    public var container: Container
    /// Nil: the film's.
    public var size: Size?
    public var video: Stream<Video>
    public var audio: Stream<Audio>
    /// Nil: as in the export.
    public var optimizeForNetworkUse: Bool?

    public init(
      name: String, container: Container, size: Size? = nil, video: Stream<Video> = .inherited,
      audio: Stream<Audio> = .inherited, optimizeForNetworkUse: Bool? = nil
    ) {
      self.name = name
      self.container = container
      self.size = size
      self.video = video
      self.audio = audio
      self.optimizeForNetworkUse = optimizeForNetworkUse
    }

    /// The name of its file in the folder of the outputs.
    public var fileName: String { "\(name).\(container.rawValue)" }
  }
}
