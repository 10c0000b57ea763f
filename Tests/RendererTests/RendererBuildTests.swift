import Glibc
import Media
import Testing

@testable import Renderer

@Suite struct RendererBuildTests {
  @Test func `every library that decides pictures or samples is in the identity`() throws {
    let libraries = try LoadedLibraries.all()
    // As the loader names them in /proc/self/maps.
    let maps = try #require(fopen("/proc/self/maps", "r"))
    defer { fclose(maps) }
    var mapped: Set<String> = []
    var line = [CChar](repeating: 0, count: 4096)
    while fgets(&line, Int32(line.count), maps) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if let name = text.split(separator: "/").last { mapped.insert(name.trimmed) }
    }
    for name in [
      "libavcodec", "libavfilter", "libavformat", "libavutil", "libswresample", "libswscale", "libx264", "libx265",
      "libdav1d", "librubberband", "libz", "libpng16", "libpango-1.0", "libpangoft2-1.0", "libpangocairo-1.0",
      "libcairo", "libpixman-1", "libfontconfig", "libfreetype", "libharfbuzz", "libfribidi", "libm",
    ] {
      #expect(mapped.contains { $0.hasPrefix("\(name).so") }, "\(name) is not loaded")
      #expect(libraries.contains { $0.name.hasPrefix("\(name).so") && $0.identity.count >= 32 }, "\(name)")
    }
  }

  @Test func `another build of a library of the same name is another identity`() throws {
    var libraries = try LoadedLibraries.all()
    let identity = RendererBuild.identity(libraries)
    #expect(identity == RendererBuild.identity(try LoadedLibraries.all()))
    for index in libraries.indices {
      let old = libraries[index].identity
      libraries[index].identity = String(old.reversed())
      #expect(RendererBuild.identity(libraries) != identity, "\(libraries[index].name)")
      libraries[index].identity = old
    }
    #expect(identity.contains("pango-1.") && identity.contains("cairo-1."))
  }

  @Test(arguments: [
    ("libz.so.1", true), ("libzmq.so.5", false), ("libm.so.6", true), ("libmd.so.0", false),
    ("libSvtAv1Enc.so.1", true), ("libssl.so.3", false), ("ld-linux-x86-64.so.2", false),
  ])
  func `a library counts if it decides pictures or samples`(name: String, counts: Bool) {
    #expect(LoadedLibraries.decidesOutput(name) == counts)
  }
}

extension Substring {
  /// Without the line feed at the end.
  fileprivate var trimmed: String { String(last == "\n" ? dropLast() : self) }
}
