import CompositionModel

/// An asset as written: a name for a file.
struct AssetEntry: Sendable {
  var id: AssetID
  var path: String
  var pointer: JSONPointer
}

extension DocumentReader {
  /// Reads `assets` and declares their names.
  mutating func assets(_ value: JSONValue?) -> [AssetEntry] {
    var assets: [AssetEntry] = []
    for (id, value) in members(value, "paths by name, such as {\"beach\": \"media/beach.mov\"}") {
      if id.isEmpty { problems.addShape(value.pointer, "an asset needs a name that is not empty") }
      guard let path = name(value, "an asset's path") else {
        names.damagedAssets.insert(id)
        continue
      }
      assets.append(AssetEntry(id: id, path: path, pointer: value.pointer))
    }
    names.assets = assets.map(\.id)
    return assets
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

extension Lowering {
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
}
