public import CompositionModel
import EditDocument

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

extension ExportSettings.Output: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields(
      "an output", ["name", "container", "video", "audio", "size", "height", "optimizeForNetworkUse"])
    self.init(
      name: try fields.required("name").text, container: try fields.required("container").choice("container"),
      optimizeForNetworkUse: try fields.flag("optimizeForNetworkUse"))
    size = try fields.integer("height").map { .height($0) }
    if let written = fields["size"] {
      guard size == nil else { throw written.problem("an output of an edit has 'size' or 'height', not both") }
      let sides = try written.items(2, "a size, [width, height]")
      size = .exactly(PixelSize(width: try sides[0].integer, height: try sides[1].integer))
    }
    video = try Stream(fields["video"])
    audio = try Stream(fields["audio"])
  }

  func written() throws(DocumentError) -> JSONValue {
    var (height, sides): (Int?, PixelSize?) = (nil, nil)
    switch size {
    case .height(let pixels): height = pixels
    case .exactly(let size): sides = size
    case nil: break
    }
    return .object([
      ("name", .text(name)), ("container", .text(container.rawValue)),
      ("size", sides.map { .array([.integer($0.width), .integer($0.height)]) }),
      ("height", height.map { .integer($0) }),
      ("video", try video.written()), ("audio", try audio.written()),
      ("optimizeForNetworkUse", optimizeForNetworkUse.map { .flag($0) }),
    ])
  }
}

extension ExportSettings.Output.Stream where Settings: DocumentValue {
  fileprivate init(_ value: JSONValue?) throws(DocumentError) {
    switch value?.content {
    case nil: self = .inherited
    case .boolean(let isThere): self = isThere ? .automatic : .none
    default: self = try value.map { (value) throws(DocumentError) in .settings(try Settings(value)) } ?? .inherited
    }
  }

  fileprivate func written() throws(DocumentError) -> JSONValue? {
    switch self {
    case .inherited: nil
    case .automatic: .flag(true)
    case .none: .flag(false)
    case .settings(let settings): try settings.written()
    }
  }
}

extension ExportSettings {
  /// Reads the outputs of a document, which has at least one if it has any.
  static func outputs(_ value: JSONValue) throws(DocumentError) -> [Output] {
    let outputs: [Output] = try value.list()
    if outputs.isEmpty { throw value.problem("an edit has one output or more in 'outputs'") }
    return outputs
  }
}
