internal import CMedia

/// What of this build decides how media is read and written.
package enum MediaBuild {
  /// Rises when the same request makes other bytes than before for a reason that no library's version tells.
  private static let revision = 2

  /// The libraries' versions as they run, this module's own revision, and the kind of processor.
  package static var identity: String {
    let versions = [
      ("avformat", avformat_version()), ("avcodec", avcodec_version()), ("swscale", swscale_version()),
      ("swresample", swresample_version()), ("avutil", avutil_version()),
    ]
    let libraries = versions.map { "\($0) \($1 >> 16).\($1 >> 8 & 255).\($1 & 255)" }
    return (["media \(revision)", "ffmpeg \(String(cString: av_version_info()))"] + libraries + [processor])
      .joined(separator: ", ")
  }

  /// What libavcodec and libswresample compute floating-point sound with. They round a sum otherwise with each of these, so
  /// an mp3 decoded on two kinds of processor differs in its last bits; pictures do not. Processors of the last ten years
  /// are one kind: AVX-512 changes nothing here.
  private static var processor: String {
    let flags = Int32(av_get_cpu_flags())
    #if arch(x86_64)
      let kinds = [
        ("avx", AV_CPU_FLAG_AVX), ("avx2", AV_CPU_FLAG_AVX2), ("fma3", AV_CPU_FLAG_FMA3), ("fma4", AV_CPU_FLAG_FMA4),
      ]
      return (["x86-64"] + kinds.filter { flags & $0.1 != 0 }.map(\.0)).joined(separator: " ")
    #else
      return "processor \(flags)"
    #endif
  }
}
