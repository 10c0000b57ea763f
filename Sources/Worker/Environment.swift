import Glibc

/// Options that an environment variable can say, too; the command line goes first.
enum Environment {
  /// Nil where the variable is unset or empty, as compose leaves those that nobody set.
  static func value(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// A folder of this user's for what can be made again.
  static var cacheFolder: String {
    if let folder = value("XDG_CACHE_HOME"), folder.hasPrefix("/") { return "\(folder)/sheaf" }
    if let home = value("HOME"), home.hasPrefix("/") { return "\(home)/.cache/sheaf" }
    return "/var/tmp/sheaf-\(getuid())"
  }

  /// This machine's name.
  static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "worker" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The first line of a file.
  static func secret(in path: String) throws(SystemError) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(errno, "opening the token file \(path)") }
    let file = OpenFile(owning: descriptor)
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(file.descriptor, &buffer, buffer.count)
    guard count >= 0 else { throw SystemError(errno, "reading the token file \(path)") }
    return String(decoding: buffer[..<count].prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
  }
}
