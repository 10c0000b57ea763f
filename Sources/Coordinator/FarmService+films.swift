import CompositionModel
import ContentStorage
import Digest
import EditDocument
package import FarmAPI
package import FarmModel
import FoundationEssentials
import Jobs
import Runtime

// What can be fetched of a job: its film, its outputs, and still pictures of its composition.
extension FarmService {
  /// The files of a job that is done: one film, or its several outputs in the order of the document. Throws `.notFound`
  /// if there is no such job, `.conflict` if it is not done, `.lost` if its outputs are.
  package func films(of id: JobID) async throws -> [FilmFile] {
    guard try await sees(id) else { throw Self.absent(id) }
    return try await withStore {
      guard let found = try await coordinator.store.summary(of: id)?.job, found.purpose == .render else {
        throw Self.absent(id)
      }
      if let film = found.output, let files = coordinator.films.files(of: id, film) { return files }
      guard let job = try await coordinator.store.job(id) else { throw Self.absent(id) }
      guard let film = job.output else {
        throw FarmError(.conflict, "job \(id) is \(job.state.rawValue): only a job that is done has a film")
      }
      let request = job.request
      do {
        let files = try await BlockingWork.run(.planning) { [store = coordinator.content.store] in
          let request = try JobRequest(encoded: request)
          guard request.outputs == nil else { return try Self.outputs(of: film, store: store) }
          return [FilmFile(name: request.filmName, content: film, source: film.digest, offset: 0)]
        }
        coordinator.films.keep(files, of: id, film)
        return files
      } catch let error as ContentStoreError {
        throw FarmError(error)
      }
    }
  }

  private static func outputs(of film: Content, store: ContentStore) throws -> [FilmFile] {
    let length = min(film.size, Int64(ContentPackage.greatestEnd))
    let end = try store.read(film.digest, offset: film.size - length, length: Int(length))
    do throws(ContentPackage.Fault) {
      return try ContentPackage(end: end, of: film.size).files.map {
        FilmFile(name: $0.name, content: $0.content, source: film.digest, offset: $0.offset)
      }
    } catch {
      throw ContentStoreError(.missing, "the files of the outputs cannot be read: \(error)")
    }
  }

  /// The waveform of a job's film, which is a WAVE file. Throws as `films(of:)` does, and `.conflict` if the job has
  /// several outputs, `.invalid` if the film is no such file or would have too many points.
  package func waveform(of id: JobID, _ resolution: WaveformData.Resolution) async throws -> WaveformData {
    let files = try await films(of: id)
    guard let film = files.first, files.count == 1, film.source == film.content.digest else {
      throw FarmError(.conflict, "job \(id) has several outputs, and no waveform")
    }
    // The first read verifies what is not known to be whole.
    _ = try await read(film.source, offset: 0, length: 12)
    do {
      return try await BlockingWork.run(.hashing) { [store = coordinator.content.store] in
        try WaveformData(of: film.name, size: film.content.size, resolution) { offset, length in
          [UInt8](try store.read(film.source, offset: offset, length: length))
        }
      }
    } catch let failure as WaveformData.Failure {
      // The film is another thing than the request is for.
      if case .notSound(let reason) = failure { throw FarmError(.conflict, reason) }
      throw FarmError(.invalid, failure.description)
    } catch let error as ContentStoreError {
      throw FarmError(error)
    }
  }

  /// Makes still pictures of a job's composition. Nil: there is no such job.
  package func images(_ images: ImageRequest, of id: JobID) async throws -> InspectionReply? {
    guard try await sees(id, to: .see) else { return nil }
    return try await withStore {
      guard let job = try await coordinator.store.job(id), job.purpose == .render else { return nil }
      let encoded = job.request
      let inspected = try await BlockingWork.run(.planning) { () -> InspectionRequest in
        let request = try JobRequest(encoded: encoded)
        var inspected = InspectionRequest(
          document: Data(request.document.text.utf8),
          assets: try request.assets.map { try SubmittedAsset(id: $0.id, path: $0.path, content: $0.content, file: "") }
        )
        inspected.output = request.document.output ?? ""
        inspected.images = images
        return inspected
      }
      return try await Inspection(coordinator).answer(inspected)
    }
  }

  private static func absent(_ id: JobID) -> FarmError { FarmError(.notFound, "there is no job \(id)") }
}

extension JobRequest {
  /// The name of the one file that the job makes, without a folder.
  fileprivate var filmName: String {
    // It was read without a problem when it was submitted.
    let path = document.output ?? (try? document.read())?.outputPath ?? ""
    return path.split(separator: "/").last.map(String.init) ?? "film.mp4"
  }
}
