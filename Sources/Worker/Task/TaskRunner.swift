import FoundationEssentials
import Glibc
import Media
import Renderer
import Segmenter
import Stitcher

/// Runs what a payload says, in the calling thread.
struct TaskRunner {
  struct Input {
    var digest: String
    /// For messages.
    var name: String
    var source: any ByteSource
  }

  let inputs: [Input]
  /// Opened for reading and writing; empty.
  let output: Int32

  /// - Parameter progress: Told frames, samples or bytes done.
  func run(_ payload: [UInt8], progress: (Int64) -> Void) throws(TaskFailure) {
    let task: TaskPayload
    do {
      task = try JSONDecoder().decode(TaskPayload.self, from: Data(payload))
    } catch {
      throw TaskFailure(cause: .document, message: "the task cannot be read by this version of the worker: \(error)")
    }
    switch task {
    case .describe: try describe()
    case .picture(let task):
      do {
        try VideoRenderer.render(task, inputs: sources, to: output, progress: progress)
      } catch {
        throw TaskFailure(error)
      }
    case .sound(let task):
      do {
        try AudioRenderer.render(task, inputs: sources, to: output, progress: progress)
      } catch {
        throw TaskFailure(error)
      }
    case .stitch(let task):
      do {
        try Stitcher.stitch(task, pieces: inputs.map(\.source), to: output, progress: progress)
      } catch {
        throw TaskFailure(error)
      }
    }
  }

  private var sources: [String: any ByteSource] {
    Dictionary(inputs.map { ($0.digest, $0.source) }) { first, _ in first }
  }

  private func describe() throws(TaskFailure) {
    guard let input = inputs.first, inputs.count == 1 else {
      throw TaskFailure(cause: .document, message: "a describe task has one input, not \(inputs.count)")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json: Data
    do {
      json = try encoder.encode(try AssetProbe.describe(input.source, name: input.name))
    } catch let error as MediaError {
      throw TaskFailure(describing: error)
    } catch {
      throw TaskFailure(cause: .media, message: "what is in \(input.name) cannot be written down: \(error)")
    }
    try write(json)
  }

  private func write(_ data: Data) throws(TaskFailure) {
    let failure: Int32 = data.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = Glibc.write(output, bytes.baseAddress! + done, bytes.count - done)
        if count > 0 { done += count } else if errno != EINTR { return errno }
      }
      return 0
    }
    if failure != 0 {
      let message = "the result cannot be written: \(String(cString: strerror(failure)))"
      throw TaskFailure(cause: .infrastructure, message: message)
    }
  }
}
