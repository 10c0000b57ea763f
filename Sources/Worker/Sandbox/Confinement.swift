import CSandbox
import Glibc
import SystemSupport

/// What confines a process: a task process can read fonts and the data of libraries, and use what it is given.
struct Confinement: OptionSet, Sendable, Hashable {
  var rawValue: UInt32

  /// The kernel restricts which files can be opened.
  static let landlock = Confinement(rawValue: UInt32(SANDBOX_LANDLOCK))
  /// System calls are filtered.
  static let seccomp = Confinement(rawValue: UInt32(SANDBOX_SECCOMP))

  /// Where fonts, fontconfig's settings and caches, and libraries' data are. fontconfig's variables add its settings,
  /// and the folder of `FONTCONFIG_PATH`, in which fonts may be too.
  static var readable: [String] {
    standard + ["FONTCONFIG_FILE", "FONTCONFIG_PATH"].compactMap(ProcessEnvironment.value).filter { $0.hasPrefix("/") }
  }

  private static let standard = [
    "/usr/share", "/usr/local/share/fonts", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/fonts",
    "/var/cache/fontconfig", "/etc/ld.so.cache", "/dev/urandom",
  ]

  /// Confines the calling process and its children to these files, for good; before it has threads. Returns what is in
  /// force.
  static func confineFiles(usingLandlock: Bool = true) throws(SystemError) -> Confinement {
    let copies = readable.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let force = (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer {
      sandbox_confine_files(usingLandlock ? $0.baseAddress : nil)
    }
    guard force >= 0 else { throw SystemError(-force, "confining a task process") }
    return Confinement(rawValue: UInt32(force))
  }

  /// Takes the system calls that no task needs from the calling process, which `confineFiles` has confined. Returns all
  /// that is in force.
  func confineCalls() throws(SystemError) -> Confinement {
    let force = sandbox_confine_calls()
    guard force >= 0 else { throw SystemError(-force, "filtering a task process's system calls") }
    return union(Confinement(rawValue: UInt32(force)))
  }
}
