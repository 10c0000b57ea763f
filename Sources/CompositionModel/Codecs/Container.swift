/// The format of the output file. The raw value is the extension of the output's path.
public enum Container: String, Sendable, Hashable, Codable, CaseIterable {
  case mp4, mov, m4v, mkv, webm, m4a, wav, flac, mp3, ogg

  /// Extensions of containers of the document's language that this version cannot write.
  static let notYet = ["mxf"]

  /// The codecs whose definitions list the container. The first is that of a document that names none.
  package var videoCodecs: [VideoCodec] { VideoCodec.allCases.filter { $0.definition.containers.contains(self) } }
  package var audioCodecs: [AudioCodec] { AudioCodec.allCases.filter { $0.definition.containers.contains(self) } }
}

extension Container {
  /// A path whose extension is not that of a container. The message is for the document's author.
  struct UnknownExtension: Error {
    var message: String
  }

  /// The container for the extension of a path, in upper or lower case.
  init(path: String) throws(UnknownExtension) {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    let parts = name.split(separator: ".")
    // A name such as `.mp4` has no extension.
    let ending = parts.count > 1 ? (parts.last ?? "").lowercased() : ""
    if let container = Container(rawValue: ending) {
      self = container
      return
    }
    let names = Container.allCases.map(\.rawValue)
    let shown = String(name).shortened
    if Container.notYet.contains(ending) {
      throw UnknownExtension(
        message: "the container '.\(ending)' of '\(shown)' is part of the document's language but this version cannot "
          + "write it yet; it can write \(list(names))")
    }
    let guess = ending.isEmpty ? nil : nearest(to: ending, among: names)
    throw UnknownExtension(
      message: "the output '\(shown)' must end in one of .\(names.joined(separator: ", ."))"
        + (guess.map { "; did you mean '.\($0)'?" } ?? ""))
  }
}
