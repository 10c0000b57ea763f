import CSandbox
import Glibc

/// What a task process may still do: read fonts and what libraries keep beside their code, and use what it is given.
enum Confinement {
  /// Where fonts, fontconfig's settings and caches, and libraries' data lie.
  static let readable = [
    "/usr/share", "/usr/local/share/fonts", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/fonts",
    "/var/cache/fontconfig", "/etc/ld.so.cache", "/dev/urandom",
  ]

  /// Confines the calling process and its children to these files, for good, before it has threads. Returns `CSandbox`'s
  /// flags of what is in force.
  static func enterFiles(usingLandlock: Bool = true) throws(SystemError) -> UInt8 {
    let copies = readable.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let force = (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer {
      sandbox_confine_files(usingLandlock ? $0.baseAddress : nil)
    }
    guard force >= 0 else { throw SystemError(-force, "confining a task process") }
    return UInt8(force)
  }

  /// Takes the system calls that no task needs from the calling process; after `enterFiles`. Returns the flags of all
  /// that is in force.
  static func enterCalls(after files: UInt8) throws(SystemError) -> UInt8 {
    let force = sandbox_confine_calls()
    guard force >= 0 else { throw SystemError(-force, "filtering a task process's system calls") }
    return files | UInt8(force)
  }
}
