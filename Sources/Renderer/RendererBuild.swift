import CPango

/// What of the renderer decides the pictures of a task beside its payload and its media; libav's part is `MediaBuild`'s.
package enum RendererBuild {
  /// Raised with every change that may change a picture or a sound by one bit.
  private static let version = 1

  /// Such as `renderer-1 pango-1.50.12 cairo-1.16.0 fonts-430-9f86d081884c7d65`. Asks fontconfig for the installed fonts
  /// (some 10 ms), so it is for a worker's start and not for each task.
  package static var identity: String {
    let pango = String(cString: pango_version_string())
    let cairo = String(cString: cairo_version_string())
    return "renderer-\(version) pango-\(pango) cairo-\(cairo) \(FontFingerprint.installed)"
  }
}
