import CompositionModel

// A film that is played over HTTP Live Streaming or MPEG-DASH: its renditions are the outputs of the document, or the
// one that it has, and all its files are in the folder of the playlist.

extension ExportEntry {
  /// The name of the playlist without folder and extension. Nil: there is none.
  var playlistName: String? {
    playlist.map { path in
      let name = path.split(separator: "/").last ?? ""
      return String(name[..<(name.lastIndex(of: ".") ?? name.endIndex)])
    }
  }

  /// The container of the playlist. Nil: there is none.
  fileprivate var playlistContainer: Container? { playlist.flatMap { try? Container(path: $0) } }

  /// What names the files of the playlist, in the order of all. Empty: there is none.
  var manifests: [Manifest] {
    guard let own = playlistContainer.flatMap(Manifest.init) else { return [] }
    return Manifest.allCases.filter { $0 == own || written.manifests?.contains($0) == true }
  }

  /// The containers that an output may name if it is a rendition of a playlist: with pictures, and of sound alone.
  static let renditionContainers = [Container.mp4, .m4a]
  /// The names of the files of sound and of subtitles, which no rendition may have, and what ends those of playlists of
  /// keyframes.
  fileprivate static let takenNames = ["audio", "subtitles"]
  fileprivate static let takenEnding = "-iframes"
}

extension DocumentReader {
  /// Reads `export.manifests`.
  mutating func manifests(_ value: JSONValue) -> Set<Manifest>? {
    let items = items(value, "names of manifests, such as [\"m3u8\", \"mpd\"]")
    if case .array(let members) = value.content, members.isEmpty {
      problems.addShape(value.pointer, "at least one of \(list(Manifest.allCases.map(\.rawValue))) is needed")
      return nil
    }
    return Set(items.compactMap { choice($0, "manifest") })
  }

  /// The container of an output: the playlist's if it is a rendition of one.
  mutating func rendition(_ container: Container?, at value: JSONValue?, of base: ExportEntry) -> Container? {
    guard let container, let value else { return container }
    let allowed = ExportEntry.renditionContainers
    guard let playlist = base.playlistName, let own = base.playlistContainer else {
      if container.isPlaylist {
        problems.add(
          value.pointer,
          "a playlist is named by 'to' of 'export', such as \"film.\(container)\", and its outputs are "
            + list(allowed.map(\.rawValue))
        )
      }
      return container
    }
    if allowed.contains(container) { return own }
    problems.add(
      value.pointer,
      "\(container) cannot be a rendition of the playlist \(playlist.shortened).\(own): it takes "
        + "\(list(allowed.map(\.rawValue))), of which the latter has sound alone")
    return nil
  }

  /// Reports an output whose files would have the names of others.
  mutating func checkRendition(_ name: String?, at value: JSONValue?, of base: ExportEntry) {
    guard base.playlist != nil, let name = name?.lowercased(), let value else { return }
    let isTaken = ExportEntry.takenNames.contains { taken in
      name == taken || name.hasPrefix("\(taken)-") && name.dropFirst(taken.count + 1).allSatisfy(\.isNumber)
    }
    guard isTaken || name.hasSuffix(ExportEntry.takenEnding) else { return }
    problems.add(
      value.pointer,
      "the name '\(name)' is that of another file of the playlist: \(list(ExportEntry.takenNames.map { "'\($0)'" })), also "
        + "with a number, and names that end in '\(ExportEntry.takenEnding)' are taken")
  }
}

extension Lowering {
  /// The name of the playlist. Nil: there is none.
  var playlistName: String? { document.export.playlistName }

  /// The most characters of a playlist's name: with those of the outputs and the endings they are names of files.
  private static var longestName: Int { 80 - EditOutput.greatestName / 2 }

  /// Reports a name of the playlist that playlists cannot have as it is.
  /// - Parameter container: That of the playlist.
  mutating func checkPlaylist(_ container: Container) {
    guard let path = document.export.playlist, let name = playlistName else { return }
    let file = path.split(separator: "/").last.map(String.init) ?? path
    let isSafe =
      file == "\(name).\(container)" && name.utf8.count <= Self.longestName && !name.hasPrefix(".")
      && name.utf8.allSatisfy { byte in
        let character = Character(Unicode.Scalar(byte))
        return byte < 128 && (character.isLetter || character.isNumber || "-_.".contains(character))
      }
    guard !isSafe else { return }
    // The path of the document may be given as that of the command line.
    let isOfDocument = document.export.to.map { $0.split(separator: "/").last.map(String.init) == file } ?? false
    problems.add(
      isOfDocument ? document.export.pointer.key("to") : .root,
      "the playlist '\(file.shortened)' names its files as it is named: at most \(Self.longestName) letters, digits, "
        + "'-', '_' and '.', which is not first, and .\(container) in small letters")
  }

  /// Reports manifests that the output does not have.
  mutating func checkManifests(_ container: Container) {
    guard let wanted = document.export.written.manifests else { return }
    let pointer = document.export.pointer.key("manifests")
    guard let own = Manifest(container) else {
      problems.add(
        pointer,
        "a film in \(container) has no manifest: it is for films whose name ends in "
          + list(Manifest.allCases.map { ".\($0)" }))
      return
    }
    guard !wanted.contains(own) else { return }
    problems.add(pointer, "the film's name ends in .\(own), which is not among them: add \"\(own)\"")
  }
}
