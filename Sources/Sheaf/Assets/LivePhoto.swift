public import FoundationEssentials
import Glibc
import SystemSupport

extension Asset {
  /// The most bytes of a photo that are looked at.
  private static let greatestPhoto = 256 << 20
  /// The name under which both files of a live photo have what ties them together.
  private static let contentIdentifier = "com.apple.quicktime.content.identifier"

  /// The movie of a live photo: PhotoKit's `PHAssetResourceType.pairedVideo`. It is the file beside the photo that has
  /// its name and ends in `.mov`, in upper or lower case, as cameras store it and computers copy it.
  ///
  ///     let movie = try await Asset.pairedVideo(ofLivePhoto: URL(fileURLWithPath: "IMG_0001.HEIC"))
  /// - Parameters:
  ///   - photo: The picture of the live photo, such as a HEIC or a JPEG. It is not decoded.
  ///   - renderer: Where the movie is probed.
  /// - Throws: `.invalidMedia` if there is no such movie, if it cannot be read, or if it states that it is the movie of
  ///   another photo.
  public static func pairedVideo(
    ofLivePhoto photo: URL, renderer: LocalRenderer = LocalRenderer()
  ) async throws(SheafError) -> Asset {
    let folder = photo.deletingLastPathComponent().path
    let name = photo.deletingPathExtension().lastPathComponent
    let paths = ["MOV", "mov", "Mov"].map { "\(folder)/\(name).\($0)" }
    guard let found = paths.first(where: { path in access(path, R_OK) == 0 }) else {
      throw SheafError(.invalidMedia, "there is no movie \(name).mov beside \(photo.path), so it is no live photo")
    }
    let movie = Asset(path: found, renderer: renderer)
    // A movie that was converted may state nothing.
    guard let identifier = try await movie.contents.metadata[contentIdentifier], !identifier.isEmpty else {
      return movie
    }
    let bytes: [UInt8]
    do {
      bytes = try OpenFile.contents(of: photo.path, limit: greatestPhoto)
    } catch {
      throw SheafError(.invalidMedia, "\(error)")
    }
    // The maker's notes of the photo have it as text.
    guard bytes.contains(Array(identifier.utf8)) else {
      throw SheafError(.invalidMedia, "\(found) is not the movie of \(photo.path), but of another live photo")
    }
    return movie
  }
}
