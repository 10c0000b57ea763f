import Client
package import ContentStorage
package import FarmAPI

/// What a local farm finds in media files. It starts while the files are read for their digests.
package struct FileInspection: Sendable {
  /// The files that could be read, with their paths as IDs.
  package private(set) var assets: [SubmittedAsset] = []
  /// The others, in the order of the paths.
  package private(set) var unread: [(path: String, error: ContentStoreError)] = []
  /// The coordinator's answer; empty if no file could be read.
  package private(set) var reply = InspectionReply()

  /// Throws as `LocalInspection.run` does.
  package init(_ paths: [String], _ configuration: LocalFarm.Configuration) async throws {
    if paths.contains(where: AssetFile.canBeOpened) {
      self = try await LocalFarm.run(configuration) { farm in
        var found = try await FileInspection(reading: paths, configuration)
        let inspection = LocalInspection(edit: nil, assets: found.assets)
        if !found.assets.isEmpty { found.reply = try await inspection.ask(farm, configuration.contents) }
        return found
      }
    } else {
      self = try await FileInspection(reading: paths, configuration)
    }
  }

  private init(reading paths: [String], _ configuration: LocalFarm.Configuration) async throws {
    for path in paths {
      switch try await AssetFile.asset(path, configuration.contents) {
      case .success(let asset): assets.append(asset)
      case .failure(let error): unread.append((path, error))
      }
    }
  }
}
