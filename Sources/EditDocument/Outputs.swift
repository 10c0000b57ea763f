public import CompositionModel

/// One of `export.outputs` as written.
struct OutputEntry: Sendable {
  var name: String
  var container: Container
  /// The size of its pictures, in pixels. Nil: the film's, or that which `height` gives.
  var size: PixelSize?
  /// The height of its pictures, in pixels; the width follows. Nil: the film's, or that of `size`.
  var height: Int?
  /// As the document has it.
  var written: Document.Output
  /// The whole of `export` with what the output sets in it.
  var export: ExportEntry
  var pointer: JSONPointer

  var hasPictures: Bool { !export.video.isNone && !container.videoCodecs.isEmpty }

  static let instead: [String: String] = {
    let ofFilm = "all outputs have it in common: give it in 'export'"
    let others = [
      "timeRange", "metadata", "carryMetadata", "metadataFilter", "chapters", "artwork",
    ]
    var instead = Dictionary(uniqueKeysWithValues: others.map { ($0.lowercased(), ofFilm) })
    instead["to"] =
      "an output's file has its 'name' and the extension of its 'container', in the folder of 'to' of 'export'"
    instead["preset"] = "give the output's 'height', and its codec and quality in 'video'"
    instead["width"] = "the width follows from 'height'"
    instead["rendersize"] = "did you mean 'size'?"
    instead["format"] = "did you mean 'container'?"
    instead["id"] = "did you mean 'name'?"
    return instead
  }()

  /// What an output has of `export.video` if it has a codec of its own.
  static let videoKeysOfAnyCodec = VideoKeys.table.keyNames(ofKind: nil).filter { $0 != VideoKeys.codec.name }
  /// What an output has of `export.audio` then.
  static let audioKeysOfAnyCodec = AudioKeys.table.keyNames(ofKind: nil).filter { $0 != AudioKeys.codec.name }
}

extension DocumentReader {
  /// Reads `export.outputs`.
  /// - Parameters:
  ///   - base: `export` without its outputs, video and audio.
  ///   - video: As written in `export`; the same holds for `audio`.
  mutating func outputs(
    _ value: JSONValue, of base: ExportEntry, video: JSONValue?, audio: JSONValue?
  ) -> [OutputEntry] {
    let counts = EditOutput.counts
    if case .array(let items) = value.content, !counts.contains(items.count) {
      problems.addShape(
        value.pointer,
        "there are \(items.count) outputs; there should be \(counts.lowerBound) to \(counts.upperBound)")
      return []
    }
    var names: [String: JSONPointer] = [:]
    var entries: [OutputEntry] = []
    for item in items(value, "outputs") {
      guard let fields = fields(item, OutputKeys.table) else { continue }
      let name = read(fields, OutputKeys.name)
      if let name, let place = fields["name"]?.pointer,
        let other = names.updateValue(place, forKey: name.lowercased())
      {
        problems.add(place, "the output '\(name)' has the name of \(other.text)")
      }
      let named = read(fields, OutputKeys.container)
      let container = rendition(named, at: fields["container"], of: base)
      checkRendition(name, at: fields["name"], of: base)
      var export = base
      export.outputPointer = item.pointer
      if let name, let container { export.to = "\(name).\(container.rawValue)" }
      let (picture, sound) = (VideoCodec.standard(in: container).rawValue, AudioCodec.standard(in: container).rawValue)
      let (usualPicture, usualSound) = (VideoCodec.standard(in: .mp4).rawValue, AudioCodec.standard(in: .mp4).rawValue)
      // Settings that all outputs have in common are none of one that has sound alone.
      let isOfPictures = fields.has("video") || named?.videoCodecs.isEmpty != true
      if !isOfPictures, container?.isPlaylist == true { export.video = .none }
      if isOfPictures,
        let video = merged(
          fields["video"], video, picture, usual: usualPicture, keeping: OutputEntry.videoKeysOfAnyCodec, in: container)
      {
        export.video = ofOutput(fields["video"], VideoKeys.sharedForm) { $0.videoChoice(video, container, nil) }
      }
      if let audio = merged(
        fields["audio"], audio, sound, usual: usualSound, keeping: OutputEntry.audioKeysOfAnyCodec, in: container)
      {
        export.audio = ofOutput(fields["audio"], AudioKeys.sharedForm) { $0.audioChoice(audio, container, nil) }
      }
      var written = Document.Output(name ?? "", named ?? .mp4)
      read(fields, OutputKeys.properties, into: &written) { key in
        ![OutputKeys.name.name, OutputKeys.container.name].contains(key.name)
      }
      written.video = unreported(fields["video"], VideoKeys.sharedForm)
      written.audio = unreported(fields["audio"], AudioKeys.sharedForm)
      if let flag = written.optimizeForNetworkUse { export.optimizeForNetworkUse = flag }
      guard let name, let container else { continue }
      entries.append(
        OutputEntry(
          name: name, container: container, size: written.size, height: written.height, written: written,
          export: export,
          pointer: item.pointer))
    }
    return entries
  }

  /// Reads an output's settings together with those that all outputs have in common. What is wrong with the settings
  /// together, but not with its own, is no problem of their shape.
  private mutating func ofOutput<Value, Settings>(
    _ own: JSONValue?, _ form: Form<Value>, _ read: (inout DocumentReader) -> Settings
  ) -> Settings {
    let before = problems.shapeCount
    let settings = read(&self)
    problems.shapeCount = before
    if let own, !accepts(own, form) { problems.shapeCount += 1 }
    return settings
  }

  mutating func outputName(_ value: JSONValue) -> String? {
    guard let name = string(value) else { return nil }
    let isSafe =
      (1...EditOutput.greatestName).contains(name.utf8.count) && !name.hasPrefix(".")
      && name.utf8.allSatisfy { byte in
        let character = Character(Unicode.Scalar(byte))
        return byte < 128 && (character.isLetter || character.isNumber || "-_.".contains(character))
      }
    guard isSafe else {
      problems.addShape(
        value.pointer,
        "\(value.shown) cannot be the name of a file: 1 to \(EditOutput.greatestName) letters, digits, '-', '_' and '.', "
          + "which is not first")
      return nil
    }
    return name
  }

  private static let rateControls: Set = ["quality", "bitRate", "targetQuality"]

  /// The video or the audio of an output: that of `export`, with what the output sets in its place.
  /// - Parameters:
  ///   - standard: The codec of an output for which none is named.
  ///   - usual: The codec that the settings of `export` are for if they name none.
  ///   - keys: What is taken from `export` if the output has another codec.
  ///   - container: Takes from `export` what it can have.
  private func merged(
    _ own: JSONValue?, _ base: JSONValue?, _ standard: String, usual: String, keeping keys: [String],
    in container: Container?
  ) -> JSONValue? {
    guard let base, case .object(let given) = base.content else { return own ?? base }
    var set: [(key: String, value: JSONValue)] = []
    if let own {
      guard case .object(let members) = own.content else { return own }
      set = members
    }
    func codec(_ members: [(key: String, value: JSONValue)]) -> String? {
      guard case .string(let name)? = members.first(where: { $0.key == "codec" })?.value.content else { return nil }
      return name
    }
    let ownKeys = Set(set.map(\.key))
    let chosen = codec(set) ?? codec(given) ?? standard
    let hasOwnCodec = chosen != codec(given) ?? usual
    let isIntraOnly = VideoCodec(rawValue: chosen)?.definition.isIntraOnly == true
    var members = set
    for (key, value) in given where !ownKeys.contains(key) {
      if hasOwnCodec, !keys.contains(key) || isIntraOnly && key == "keyframeInterval" { continue }
      if container?.hasTrackLabels == false, TrackLabel.keys.contains(key) { continue }
      // They exclude each other.
      if Self.rateControls.contains(key), !ownKeys.isDisjoint(with: Self.rateControls) { continue }
      members.append((key, value))
    }
    return JSONValue(content: .object(members), pointer: own?.pointer ?? base.pointer)
  }
}

extension ExaminedDocument {
  /// The documents of the outputs: as if each was the only one.
  private var outputDocuments: [(output: OutputEntry, document: ExaminedDocument)] {
    export.outputs.map { output in
      var document = self
      document.export = output.export
      document.export.size = (output.size, output.height)
      document.export.siblings = export.outputs
      return (output, document)
    }
  }

  /// The edit of a document with several outputs, which is that of the first one with pictures, with what each output
  /// has of its own.
  func lowerOutputs(
    assets: [AssetID: AssetDescription], unreadable: [AssetID: String]
  ) throws(DocumentError) -> (edit: Edit, warnings: [Problem], times: FilmTimes) {
    var found = ProblemUnion()
    var warnings = ProblemUnion()
    var edits: [(output: OutputEntry, edit: Edit)] = []
    // All outputs have the same clips, and overlays if they have pictures.
    var times: (times: FilmTimes, hasVideo: Bool)?
    for (output, document) in outputDocuments {
      var lowering = Lowering(document, assets: assets, output: nil, unreadable: unreadable)
      let edit = lowering.edit()
      found.add(lowering.problems.problems)
      guard let edit, lowering.problems.count == 0 else { continue }
      edits.append((output, edit))
      warnings.add(lowering.warnings(edit))
      let hasVideo = edit.export.video != nil
      if times == nil || hasVideo && times?.hasVideo == false { times = (lowering.times(edit), hasVideo) }
    }
    found.add(differences(edits))
    guard found.problems.isEmpty, let main = edits.first(where: { $0.edit.export.video != nil }) ?? edits.first
    else { throw DocumentError(problems: found.problems.isEmpty ? problems : found.problems) }
    var edit = main.edit
    edit.export.size = nil
    edit.outputs = edits.map { EditOutput(name: $0.output.name, export: $0.edit.export, captions: $0.edit.captions) }
    return (edit, warnings.problems, times?.times ?? FilmTimes())
  }

  /// The size of the film's frames, whatever else is wrong with the document. Nil if it is not known.
  public func frameSize(assets: [AssetID: AssetDescription], output: String?) -> PixelSize? {
    // A file that is not described may be the one that gives the size.
    if videoComposition.renderSize == nil, !self.assets.allSatisfy({ assets[$0.id] != nil }) { return nil }
    let shown = outputDocuments.first { !$0.document.export.video.isNone }?.document
    var lowering = Lowering(shown ?? self, assets: assets, output: output, unreadable: [:])
    _ = lowering.edit()
    return lowering.frameSize
  }

  /// Problems with what the outputs do not have in common.
  private func differences(_ edits: [(output: OutputEntry, edit: Edit)]) -> [Problem] {
    let shown = edits.filter { $0.edit.export.video != nil }
    guard let first = shown.first, let common = first.edit.export.video else { return [] }
    // Every frame of the others is a keyframe.
    let spaced = shown.first { $0.edit.export.video?.codec.definition.isIntraOnly == false }
    var problems: [Problem] = []
    for (output, edit) in shown.dropFirst() {
      guard let video = edit.export.video else { continue }
      let pointer = output.pointer.key("video")
      func refuse(_ key: String, _ value: String, _ other: String, of name: String = first.output.name) {
        problems.append(
          Problem(
            pointer: pointer.key(key).text,
            message: "'\(key)' is \(value) here and \(other) in the output '\(name)': all outputs with "
              + "pictures have it in common, so give it in 'video' of 'export'"))
      }
      if video.pixelFormat != common.pixelFormat {
        refuse("pixelFormat", "\(video.pixelFormat)", "\(common.pixelFormat)")
      } else if edit.videoComposition != first.edit.videoComposition || video.colour != common.colour {
        problems.append(
          Problem(
            pointer: output.pointer.text,
            message: "its pictures are not those of the output '\(first.output.name)': all outputs have the same"))
      }
      if !video.codec.definition.isIntraOnly, let spaced, let other = spaced.edit.export.video,
        (video.keyframeInterval, video.keyframeGrid) != (other.keyframeInterval, other.keyframeGrid)
      {
        refuse("keyframeInterval", video.keyframeText, other.keyframeText, of: spaced.output.name)
      }
      if video.sceneCuts != common.sceneCuts {
        refuse("sceneCuts", "\(video.sceneCuts ?? true)", "\(common.sceneCuts ?? true)")
      }
    }
    return problems
  }
}

extension VideoSettings {
  /// What the outputs of an edit have in common of their keyframes.
  fileprivate var keyframeText: String {
    guard let grid = keyframeGrid else { return keyframeInterval == 1 ? "1 frame" : "not given" }
    return grid.denominator == 1 ? "\(grid.numerator) frames" : "\(grid.numerator)/\(grid.denominator) frames"
  }
}

/// Problems of several passes, each once.
private struct ProblemUnion {
  private var seen: Set<Problem> = []
  private(set) var problems: [Problem] = []

  mutating func add(_ others: [Problem]) {
    for problem in others where seen.insert(problem).inserted { problems.append(problem) }
  }
}

extension Lowering {
  /// Whether this output is without what all have in common because its container cannot have it: another one has it.
  func isLeftToOtherOutputs(_ has: (Container) -> Bool) -> Bool {
    document.export.siblings.contains { has($0.container) }
  }

  /// The size of the pictures of an output. Nil: the film's, or it is wrong.
  /// - Parameter film: The film's.
  mutating func outputSize(_ film: PixelSize, _ pixelFormat: PixelFormat) -> PixelSize? {
    guard let pointer = document.export.outputPointer, !document.export.video.isNone else { return nil }
    let step = (across: 1 << pixelFormat.chromaShift.horizontal, down: 1 << pixelFormat.chromaShift.vertical)
    func width(_ height: Int) -> Int { pixelFormat.width(nearest: film.width, height, film.height) }
    let (written, height) = document.export.size
    if let height {
      let even = max(step.down, height / step.down * step.down)
      guard even == height else {
        problems.add(
          pointer.key("height"),
          "\(height) is odd, which \(pixelFormat) cannot store; the nearest that it can is \(even)")
        return nil
      }
      return checked(PixelSize(width: width(height), height: height), pointer.key("height"))
    }
    guard let written else { return nil }
    let place = pointer.key("size")
    let even = PixelSize(
      width: max(step.across, written.width / step.across * step.across),
      height: max(step.down, written.height / step.down * step.down))
    guard even == written else {
      problems.add(
        place,
        "\(written.width)x\(written.height) has an odd side, which \(pixelFormat) cannot store; the nearest that it can "
          + "is \(even.width)x\(even.height)")
      return nil
    }
    let right = width(written.height)
    let high = pixelFormat.height(nearest: film.height, written.width, film.width)
    // What rounding to even numbers can change.
    guard abs(right - written.width) <= 2 || abs(high - written.height) <= 2 else {
      problems.add(
        place,
        "\(written.width)x\(written.height) has other proportions than the film's pictures of "
          + "\(film.width)x\(film.height); \(right)x\(written.height) or \(written.width)x\(high) has the same")
      return nil
    }
    return checked(written, place)
  }

  private mutating func checked(_ size: PixelSize, _ pointer: JSONPointer) -> PixelSize? {
    let greatest = PixelSize.largestSide
    guard size.width <= greatest, size.width * size.height <= PixelSize.largestArea else {
      problems.add(pointer, "\(size.width)x\(size.height) is larger than a frame can be")
      return nil
    }
    return size
  }

  /// A warning about an output whose pictures are larger than the film's.
  func addOutputEnlargement(_ edit: Edit, to warnings: inout ProblemList) {
    let film = edit.videoComposition.renderSize
    guard let pointer = document.export.outputPointer, let size = edit.export.size, size.height > film.height else {
      return
    }
    warnings.add(
      pointer.key(document.export.size.height == nil ? "size" : "height"),
      "the film's pictures of \(film.width)x\(film.height) are enlarged to \(size.width)x\(size.height)")
  }
}
