/// An edit as its author wrote it: the JSON document of `docs/document.md`, read but not yet held against its media.
public struct Document: Sendable {
  /// What reading found wrong. Empty in a document that `parse` returned.
  public let problems: [Problem]

  let assets: [AssetEntry]
  let tracks: [TrackEntry]
  /// Nothing that was wrong in them makes the place of a clip unsure.
  let hasSureTimes: Bool
  let videoComposition: VideoCompositionEntry
  let audioMix: [(track: TrackID, ramps: [RampEntry])]
  let export: ExportEntry
  let problemList: ProblemList

  /// Reads a document. Throws every problem that can be seen without its media.
  public static func parse(_ bytes: [UInt8]) throws(DocumentError) -> Document {
    let document = try examine(bytes)
    guard document.problems.isEmpty else { throw DocumentError(problems: document.problems) }
    return document
  }

  /// Reads a document as far as it can be read and keeps its problems, so that `lower` can tell them together with
  /// those that only its media show. Throws where there is nothing to go on with: the bytes are not a JSON object.
  public static func examine(_ bytes: [UInt8]) throws(DocumentError) -> Document {
    let root: (value: JSONValue, duplicates: [JSONPointer])
    do {
      root = try JSONReader.read(bytes)
    } catch {
      let place = "line \(error.line), column \(error.column): "
      throw DocumentError(problems: [Problem(pointer: "", message: "not JSON at \(place)\(error.message)")])
    }
    var reader = DocumentReader()
    for duplicate in root.duplicates { reader.problems.add(duplicate, "this key stands twice in its object") }
    guard let document = reader.document(root.value) else {
      throw DocumentError(problems: reader.problems.problems)
    }
    return document
  }

  /// The files that the document names, in its order.
  ///
  /// `path` is as written: a relative one is relative to the document. `pointer` is where, for a problem with the file.
  public var assetPaths: [(id: AssetID, path: String, pointer: String)] {
    assets.map { ($0.id, $0.path, $0.pointer.text) }
  }

  /// The edit that the document means, every default filled in: the input of planning.
  ///
  /// - Parameters:
  ///   - assets: what is in each file of `assetPaths`.
  ///   - output: the path that the command line names; it overrides the document's own `to` and picks the container.
  ///   - unreadable: for each asset that has no description, why. Nothing else is said of such an asset.
  /// - Throws: every problem, those that `examine` kept and those that the media show.
  public func lower(
    assets: [AssetID: AssetDescription], output: String?, unreadable: [AssetID: String] = [:]
  ) throws(DocumentError) -> Edit {
    var lowering = Lowering(self, assets: assets, output: output, unreadable: unreadable)
    let edit = lowering.edit()
    guard let edit, lowering.problems.count == 0 else {
      throw DocumentError(problems: lowering.problems.problems)
    }
    return edit
  }

  /// The output's path as the document gives it, if it does.
  public var outputPath: String? { export.to }
}
