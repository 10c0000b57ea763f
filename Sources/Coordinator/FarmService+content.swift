package import CompositionModel
import ContentStorage
package import Digest
import EditDocument
package import FarmAPI
import FarmModel
package import FoundationEssentials
import Runtime

/// A document that is submitted, which is read once for all that a request needs of it.
package struct SubmittedText: Sendable {
  let text: DocumentText

  /// - Parameter output: As of `Submission`.
  package init(_ document: [UInt8], output: String) {
    text = DocumentText(String(decoding: document, as: UTF8.self), output: output)
  }
}

// Content of the farm: what a client reads of it, uploads to it, and names by its path.
extension FarmService {
  /// The files of a document, each with its content: those that the sources name, and for the others the files at their
  /// paths in the document, which may be under the media root.
  /// - Returns: With a problem for each file that is not there. Empty if the document cannot be read: whoever submits
  ///   it learns why.
  package func assets(
    of document: SubmittedText, _ sources: [AssetSource]
  ) async throws -> (assets: [SubmittedAsset], problems: [Problem]) {
    try require(.submit)
    let examined = try await BlockingWork.run(.planning) { try? document.text.read() }
    guard let examined else { return ([], []) }
    var places: [AssetID: AssetSource.Place] = [:]
    var problems: [Problem] = []
    let named = examined.assetPaths
    let ids = Set(named.map(\.id))
    for source in sources {
      if places.updateValue(source.place, forKey: source.id) != nil {
        problems.append(Problem(pointer: "", message: "the request names the asset '\(source.id)' twice"))
      }
      if !ids.contains(source.id) {
        problems.append(
          Problem(pointer: "", message: "the request names an asset '\(source.id)' that the document lacks"))
      }
    }
    var assets: [SubmittedAsset] = []
    for asset in named {
      try Task.checkCancellation()
      do {
        assets.append(try await self.asset(asset.id, written: asset.path, places[asset.id]))
      } catch let error as FarmError {
        problems.append(Problem(pointer: asset.pointer, message: error.message))
      }
    }
    return (assets, problems)
  }

  /// - Parameter place: Nil: where the document says.
  private func asset(_ id: AssetID, written: String, _ place: AssetSource.Place?) async throws -> SubmittedAsset {
    switch place {
    case .content(let content):
      let isThere = try await BlockingWork.run(.hashing) { [locator = coordinator.content] in
        locator.has(content, hint: written)
      }
      guard isThere else { throw FarmError(.lost, "the content \(content.digest) of \(written) was not uploaded") }
      return SubmittedAsset(id: id, path: written, content: content, file: written)
    case .path(let path): return try await asset(id, path: path, written: written)
    case nil:
      do {
        return try await asset(id, path: written, written: written)
      } catch let error as FarmError {
        throw FarmError(error.code, "\(error); the request can name its content by digest and size")
      }
    }
  }

  /// A file under the media root, as an asset of a submission. Reads it for its digest, unless it was read since it
  /// changed.
  /// - Parameter path: Absolute, or relative to the media root.
  package func asset(_ id: AssetID, path: String, written: String) async throws -> SubmittedAsset {
    try require(.submit)
    do {
      return try await BlockingWork.run(.hashing) { [locator = coordinator.content] in
        let (content, file) = try locator.content(ofFile: path)
        return SubmittedAsset(id: id, path: written, content: content, file: file)
      }
    } catch let error as ContentStoreError {
      throw FarmError(.invalid, error.description)
    }
  }

  /// Up to `length` bytes of content; fewer only at its end. What is damaged is removed, so that the next job that
  /// needs it makes it again.
  package func read(_ digest: SHA256Digest, offset: Int64, length: Int) async throws -> Data {
    try require(.see)
    let data = try await readChecked(digest, offset: offset, length: length)
    coordinator.counts.sent(data.count, to: .http)
    return data
  }

  func readChecked(_ digest: SHA256Digest, offset: Int64, length: Int) async throws -> Data {
    let content = coordinator.content
    let part = { @Sendable (isVerifying: Bool) throws(ContentStoreError) -> Data in
      try content.readChecked(digest, offset: UInt64(offset), length: length, verifying: isVerifying)
    }
    do {
      do {
        return try await BlockingWork.run(.transfers) { try part(false) }
      } catch let error as ContentStoreError where error.code == .unverified {
        try await content.verifications.run(digest) {
          try await BlockingWork.run(.hashing) { try content.verify(digest) }
        }
        return try await BlockingWork.run(.hashing) { try part(true) }
      }
    } catch let error as ContentStoreError where error.code == .mismatch {
      let wasDamaged = try await BlockingWork.run(.hashing) { try content.removeIfDamaged(digest) }
      throw FarmError(.lost, wasDamaged ? "\(error), and was removed" : "\(error)")
    } catch let error as ContentStoreError {
      throw FarmError(try await explained(error))
    }
  }

  /// How much of some content the farm has: all of it, what an interrupted upload left, or nothing.
  package func received(_ digest: SHA256Digest) async throws -> (bytes: Int64, isComplete: Bool) {
    try require(.submit)
    return try await BlockingWork.run { [store = coordinator.content.store] in
      if let size = store.size(of: digest) { return (size, true) }
      return (store.partialSize(of: digest), false)
    }
  }

  /// Begins an upload, or goes on where an interrupted one of the same content ended. Nil: the farm has the content.
  /// Throws `.full` if there is too little space for it, `.tooMany` if the owner may store no more.
  package func upload(_ announced: Content) async throws -> FarmUpload? {
    try require(.submit)
    let (store, minimumFree) = (coordinator.content.store, coordinator.configuration.minimumFree)
    try await quota.requireRoom(for: caller.owner, uploading: announced.size)
    do {
      let upload = try await BlockingWork.run { () -> ContentUpload? in
        if store.contains(announced) { return nil }
        let upload = try store.upload(announced)
        if minimumFree > 0 { try upload.reserve(leaving: minimumFree) }
        return upload
      }
      if let upload, upload.resumed > 0 { try await BlockingWork.run(.storing) { try upload.resume() } }
      await coordinator.storage.uploadWaits(announced, nil)
      return upload.map { FarmUpload($0, self) }
    } catch let error as ContentStoreError {
      throw await refusal(of: announced, error)
    }
  }

  /// The error of an upload. One for which there is no room is shown as waiting.
  fileprivate func refusal(of content: Content, _ error: ContentStoreError) async -> FarmError {
    // Cancelled: nobody waits for the reason.
    let error = (try? await explained(error)) ?? error
    if error.code == .outOfSpace { await coordinator.storage.uploadWaits(content, error.description) }
    return FarmError(error)
  }

  private func explained(_ error: ContentStoreError) async throws -> ContentStoreError {
    try await BlockingWork.run(.files) { [store = coordinator.content.store] in store.explained(error) }
  }
}

/// Content that a client uploads. One task at a time uses it. One that is dropped is kept for the next upload of the
/// same content.
package final class FarmUpload: Sendable {
  private let upload: ContentUpload
  private let farm: FarmService

  fileprivate init(_ upload: ContentUpload, _ farm: FarmService) {
    self.upload = upload
    self.farm = farm
  }

  /// Bytes that the farm has of it.
  package var received: Int64 { upload.received }

  /// Appends bytes. Throws `.wrongContent` if there are more than announced, `.full` if the disk is.
  package func write(_ data: Data) async throws {
    try await run(.transfers) { [upload] in try upload.write(data) }
    farm.coordinator.counts.received(data.count, from: .http)
  }

  /// Checks size and digest, and stores the content. Throws `.wrongContent` if they are not as announced; then nothing
  /// is left of it.
  package func finish() async throws {
    try await run(.storing) { [upload] in try upload.finish() }
    try await farm.auditUpload(of: upload.content)
  }

  /// Keeps what was written, for the next upload of the same content.
  /// - Parameter isPromised: Whether its client counts on it, however little it is.
  package func keep(isPromised: Bool = false) async {
    // Not cancelled with the client's request, which has ended.
    let keeping = Task { [upload] in try await BlockingWork.run { upload.keep(isPromised: isPromised) } }
    // It cannot fail: the task is not cancelled.
    try? await keeping.value
  }

  private func run(_ pool: BlockingWork.Pool, _ body: @escaping @Sendable () throws -> Void) async throws {
    do {
      try await BlockingWork.run(pool, body)
    } catch let error as ContentStoreError {
      // Wrong bytes are of no use to a later upload.
      if error.code == .mismatch { try await BlockingWork.run { [upload] in upload.discard() } }
      throw await farm.refusal(of: upload.content, error)
    }
  }
}

extension FarmError {
  /// What a client receives when the content store could not carry out its request.
  init(_ error: ContentStoreError) {
    let code: Code =
      switch error.code {
      case .outOfSpace: .full
      case .tooLarge: .invalid
      case .mismatch: .wrongContent
      case .missing: .lost
      case .interrupted: .conflict
      case .unverified, .away, .system: .unavailable
      }
    self.init(code, "the coordinator's content store: \(error)")
  }
}
