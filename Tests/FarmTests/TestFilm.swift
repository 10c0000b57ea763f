import Client
import CompositionModel
import ContentStorage
import FarmAPI
import Foundation
import LocalFarm
import SystemSupport

@testable import SheafCLI

/// A film that is made as `sheaf render` makes it, on a local farm that all tests of this process share: of tests of
/// what is in a film, not of the command, most of the time would be spent on starting programs.
struct TestFilm {
  /// The exit code that the command would have.
  var status: Int32
  /// What the command would print on standard error of the problems and the warnings.
  var errors = ""
  /// What the command would print with `--json`; empty if the film was not made.
  var output = ""

  /// - Parameters:
  ///   - edit: The path of the document.
  ///   - output: The film's path. Nil: the document's.
  ///   - worker: The farm's worker, among the products.
  static func render(
    _ edit: String, _ output: String? = nil, segmentDuration: String = "", worker: String = "sheaf-worker"
  ) async throws -> TestFilm {
    do {
      let file = try EditFile(edit, output: output)
      try file.checkOutput(output)
      guard let path = output ?? file.outputPath else {
        return TestFilm(status: 64, errors: "the document has no output")
      }
      let render = LocalRender(edit: file, output: path, options: RenderOptions(segmentDuration: segmentDuration))
      let configuration = try configuration(worker)
      let made = try await file.locating { try await render.render(configuration) { _ in } }
      var summary = RenderSummary(made.status, output: path, files: made.files)
      summary.warnings = file.located(summary.warnings)
      let warnings = summary.warnings.map { $0.text(in: edit, kind: "warning") }
      let damage = made.status.damage.map { "warning: \($0.text)" }
      return TestFilm(
        status: 0, errors: (warnings + damage).joined(separator: "\n"),
        output: String(decoding: try JSONCoding.encoder.encode(summary), as: UTF8.self))
    } catch {
      let failure = CommandFailure(error)
      let lines = [failure.message].filter { !$0.isEmpty } + failure.problems.map { $0.text(in: edit) }
      return TestFilm(status: failure.code.rawValue, errors: lines.joined(separator: "\n"))
    }
  }

  /// The description of a media file, as `sheaf probe` makes it; nil if it cannot be described.
  static func probe(_ path: String) async throws -> AssetDescription? {
    try await FileInspection([path], configuration("sheaf-worker")).reply.descriptions[path]
  }

  /// The configuration of a worker's farm, which stays while tests go on.
  private static func configuration(_ worker: String) throws -> LocalFarm.Configuration {
    var configuration = try LocalFarm.Configuration(store: store.path("store-\(worker)"), slots: 3)
    configuration.workerExecutable = Place.products.appendingPathComponent(worker).path
    configuration.idleTime = .seconds(30)
    return configuration
  }

  /// Removed when the tests end.
  private static let store: Workspace = {
    do {
      let made = try Workspace()
      atexit { TestFilm.store.remove() }
      return made
    } catch {
      fatalError("no folder for the store of the tests: \(error)")
    }
  }()
}
