internal import CMedia

/// What of this build decides how media is read and written.
package enum MediaBuild {
  /// Rises when the same request makes other bytes than before for a reason that no library's version tells.
  private static let revision = 1

  /// The libraries' versions as they run, and this module's own revision.
  package static var identity: String {
    let versions = [
      ("avformat", avformat_version()), ("avcodec", avcodec_version()), ("swscale", swscale_version()),
      ("swresample", swresample_version()), ("avutil", avutil_version()),
    ]
    let libraries = versions.map { "\($0) \($1 >> 16).\($1 >> 8 & 255).\($1 & 255)" }
    return (["media \(revision)", "ffmpeg \(String(cString: av_version_info()))"] + libraries).joined(separator: ", ")
  }
}
