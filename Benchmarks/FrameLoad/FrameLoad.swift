import ArgumentParser
import CompositionModel
import EditDocument
import FoundationEssentials
import Glibc
import Media
import RenderTasks
import Renderer
import Segmenter
import SystemSupport

/// Makes the frames of an edit and encodes none, for the time of the compositor alone.
@main
struct FrameLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "FrameLoad", abstract: "Make the frames of an edit without encoding them.",
    discussion: """
      Prints the milliseconds of processor time that a frame takes. The first frames, with which the media are opened, are \
      not counted. Paths in the edit are absolute. Benchmarks/transitions runs this program.
      """)

  /// How many frames are made before time is counted.
  private static let uncounted = 3

  @Argument(help: "The edit's document.") var edit: String

  func run() throws {
    let document = try Document.parse(Array(try Data(contentsOf: URL(filePath: edit))))
    var descriptions: [AssetID: AssetDescription] = [:]
    var assets: [AssetID: PlannedAsset] = [:]
    var inputs: [String: any ByteSource] = [:]
    var files: [OpenFile] = []
    for (id, path, _) in document.assetPaths {
      let file = try OpenFile.open(path)
      files.append(file)
      let input = FileByteSource(descriptor: file.descriptor)
      let description = try AssetProbe.probe(input, name: path)
      descriptions[id] = description
      assets[id] = PlannedAsset(description: description, digest: id)
      inputs[id] = input
    }
    let lowered = try document.lower(assets: descriptions, output: nil)
    let whole = MediaTime(seconds: 100_000)
    let plan = try RenderPlanner.plan(lowered, assets: assets, segmentDuration: whole)
    guard plan.segments.count == 1, let task = plan.segments.first?.task, task.frameCount > Self.uncounted else {
      throw ValidationError("\(edit) must be one segment of more than \(Self.uncounted) frames")
    }
    let maker = try FrameMaker(task, inputs: inputs)
    for index in 0..<Self.uncounted { _ = try maker.frame(index) }
    let start = Self.processorTime
    for index in Self.uncounted..<task.frameCount { _ = try maker.frame(index) }
    print((Self.processorTime - start) * 1000 / Double(task.frameCount - Self.uncounted))
    withExtendedLifetime(files) {}
  }

  /// The processor time that this process has taken, in seconds.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
