internal import CPango
package import Media

/// The part of the renderer's build that decides a task's output besides its payload and its inputs, to which the fonts
/// of its texts belong. The part of libav* is `MediaBuild`.
package enum RendererBuild {
  /// Incremented with every change that may change a picture or a sample by one bit.
  private static let version = 21

  /// Such as `renderer-2 pango-1.50.12 cairo-1.16.0 libraries-67-0b6d0f81086c1d5a`.
  /// - Parameter libraries: `LoadedLibraries.all()`.
  package static func identity(_ libraries: [LoadedLibrary]) -> String {
    let pango = String(cString: pango_version_string())
    let cairo = String(cString: cairo_version_string())
    return "renderer-\(version) pango-\(pango) cairo-\(cairo) \(LoadedLibraries.summary(libraries))"
  }
}
