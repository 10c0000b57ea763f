import ContentStorage
import Digest
import FarmAPI
import Jobs
import Runtime
import SystemSupport

/// How many bytes of the content store the jobs of an owner name: their inputs, results and films, each content once,
/// and not the files of the media root. Who has as many as it may have submits no more, and uploads nothing more.
///
/// It is a limit for who fills the store over time: two submissions at once may both be let in, what a job renders is
/// kept, and what was uploaded and no job names counts for nobody.
struct StorageQuota: Sendable {
  let store: any JobStore
  let content: ContentStore

  /// Throws `.tooMany` if the owner has no room for what it wants to add.
  /// - Parameters:
  ///   - owner: Nil: nobody.
  ///   - inputs: What a new job names.
  ///   - uploading: The bytes of an upload.
  func requireRoom(for owner: String?, adding inputs: [Content] = [], uploading: Int64 = 0) async throws {
    let storage: OwnerStorage?
    do {
      storage = try await store.storage(of: owner)
    } catch {
      throw FarmError(error)
    }
    guard let storage else { return }
    let named = Set(storage.contents + inputs)
    let stored = try await BlockingWork.run(.hashing) { [content] in
      named.reduce(into: uploading) { $0 += content.size(of: $1.digest) ?? 0 }
    }
    guard stored > storage.most else { return }
    throw FarmError(
      .tooMany,
      """
      with this the jobs of the owner would have \(ByteCount.text(stored)) in the content store, and they may have \
      \(ByteCount.text(storage.most)): delete jobs that have ended
      """)
  }
}
