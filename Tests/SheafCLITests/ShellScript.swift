import Foundation
import TestPrograms

/// A script of the shell that runs in a folder, and in which `sheaf` is the program that was built with the tests. Its
/// output is in the files `output` and `errors` of the folder.
struct ShellScript {
  struct Result {
    var status: Int32
    var output: String
    var errors: String
  }

  let program: RunningProgram
  private let folder: TemporaryFolder

  /// - Parameter environment: Beside the paths of programs and of the home, which is the folder.
  init(_ script: String, in folder: TemporaryFolder, _ environment: [String: String] = [:]) throws {
    self.folder = folder
    let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let own = ["PATH": products.path + ":/usr/local/bin:/usr/bin:/bin", "HOME": folder.url.path]
    let (output, errors) = (try folder.create("output"), try folder.create("errors"))
    program = try RunningProgram(
      "/bin/bash", ["-c", "cd '\(folder.url.path)' && \(script)"], environment: own.merging(environment) { $1 },
      streams: .init(output: output.fileDescriptor, errors: errors.fileDescriptor))
  }

  /// Waits for its end.
  func end() async throws -> Result {
    let status = await program.end()
    return Result(status: status, output: try folder.text("output"), errors: try folder.text("errors"))
  }
}

extension TemporaryFolder {
  func text(_ name: String) throws -> String {
    try String(decoding: Data(contentsOf: url.appending(path: name)), as: UTF8.self)
  }
}
