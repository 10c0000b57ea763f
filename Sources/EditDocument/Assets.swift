import CompositionModel

/// An asset as written: a name for a file.
struct AssetEntry: Sendable {
  var id: AssetID
  var path: String
  var pointer: JSONPointer
}

/// An asset that is no file: a picture that is drawn.
struct PictureEntry: Sendable {
  var id: AssetID
  var picture: DrawnPicture
  var pointer: JSONPointer
}

extension Document {
  /// What an asset is.
  enum Asset: Hashable, Sendable {
    case file(String)
    case picture(DrawnPicture)
    case document(Nested)
  }

  /// What `assets` has.
  var allAssets: [AssetID: Asset] {
    assets.mapValues { .file($0) }.merging(pictures.mapValues { .picture($0) }) { file, _ in file }
      .merging(documents.mapValues { .document($0) }) { other, _ in other }
  }
}

extension DocumentReader {
  /// Reads `assets` and declares their names.
  mutating func assets(
    _ value: JSONValue?
  ) -> (files: [AssetEntry], pictures: [PictureEntry], nested: [NestedEntry]) {
    var (files, pictures, known): ([AssetEntry], [PictureEntry], [AssetID]) = ([], [], [])
    var nested: [NestedEntry] = []
    for (id, value) in members(value, "paths by name, such as {\"beach\": \"media/beach.mov\"}") {
      if id.isEmpty { problems.addShape(value.pointer, "an asset needs a name that is not empty") }
      if value.isObject, value.member(NestedKeys.document.name) != nil {
        guard let entry = self.nested(id, value) else {
          names.damagedAssets.insert(id)
          continue
        }
        nested.append(entry)
      } else if case .object = value.content, let picture = PictureKeys.form.read(&self, value) {
        pictures.append(PictureEntry(id: id, picture: picture, pointer: value.pointer))
      } else if !value.isObject, let path = name(value, "an asset's path") {
        files.append(AssetEntry(id: id, path: path, pointer: value.pointer))
      } else {
        names.damagedAssets.insert(id)
        continue
      }
      known.append(id)
    }
    names.assets = known
    for entry in nested {
      for file in files where entry.document.assetPaths.contains(where: { entry.name(of: $0.id) == file.id }) {
        problems.add(file.pointer, "the asset of this name of the document '\(entry.id.shortened)' has it already")
      }
    }
    return (files, pictures, nested)
  }

  /// A reference to an asset: the name of one that the document declares.
  mutating func asset(_ value: JSONValue?) -> AssetID? {
    guard let value, let id = string(value) else { return nil }
    if isOfPart || names.knownAssets.contains(id) {
      names.usedAssets.insert(id)
      return id
    }
    if !names.damagedAssets.contains(id) {
      let assets = names.assets
      problems.add(
        value.pointer, "there is no asset '\(id.shortened)' in 'assets'\(suggestion(for: id, amongDeclared: assets))")
    }
    return nil
  }
}

extension JSONValue {
  var isObject: Bool { if case .object = content { true } else { false } }

  /// In the order of their names.
  static func assets(_ assets: [AssetID: Document.Asset]) -> JSONValue {
    .object(
      assets.sorted { $0.key < $1.key }.map { id, asset in
        switch asset {
        case .file(let path): (id, .text(path))
        case .picture(let picture): (id, picture.json)
        case .document(let nested): (id, nested.json)
        }
      })
  }
}

extension Lowering {
  /// The size of a film of which nothing gives one: its pictures are drawn, and have none of their own.
  static let standardSize = PixelSize(width: 1920, height: 1080)

  /// Reports the assets that cannot be used.
  mutating func checkAssets(unreadable: [AssetID: String]) {
    for asset in document.assets {
      if let reason = unreadable[asset.id] {
        problems.add(asset.pointer, reason)
      } else if assets[asset.id] == nil {
        problems.add(asset.pointer, "'\(asset.path.shortened)' has not been probed")
      }
    }
  }

  /// Describes the pictures that are drawn, as far as the size of the film is known.
  mutating func describePictures() {
    let film = frameSize ?? document.videoComposition.renderSize ?? Self.standardSize
    for entry in document.pictures {
      // One of the size of the film becomes smaller with it.
      let picture = entry.picture.size == nil ? entry.picture.scaled(by: scale.approximate) : entry.picture
      assets[entry.id] = AssetDescription(picture, film: film)
    }
  }

  /// A shape of an overlay as an asset that the document does not name.
  mutating func addPicture(_ picture: DrawnPicture, at pointer: JSONPointer) -> AssetID {
    var id = "the shape \(pointer.text)"
    while assets[id] != nil { id += "'" }
    assets[id] = AssetDescription(picture, film: frameSize ?? Self.standardSize)
    return id
  }

  /// The descriptions of the pictures that are drawn, and of captions that are listed.
  var drawnAssets: [AssetID: AssetDescription]? {
    let drawn = assets.filter {
      $0.value.defaultTrack(.video)?.video?.drawn != nil || $0.value.container == ListedCaptions.container
    }
    return drawn.isEmpty ? nil : drawn
  }

  mutating func checkArea(of picture: DrawnPicture, at pointer: JSONPointer) {
    guard let size = picture.size, size.width * size.height > PixelSize.largestArea else { return }
    problems.add(
      pointer,
      "\(size.width)x\(size.height) has \(size.width * size.height) pixels; a picture has at most "
        + "\(PixelSize.largestArea)")
  }
}
