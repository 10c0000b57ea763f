@_exported public import SheafCompositing
import Worker

@_exported public import struct CompositionModel.ColourTags
@_exported public import struct CompositionModel.MediaTime
@_exported public import enum CompositionModel.MetadataValue
@_exported public import enum CompositionModel.PixelFormat
@_exported public import struct CompositionModel.PixelSize

/// A worker with compositors of your own. The whole of its program is
///
///     import SheafWorker
///
///     WorkerMain.run(compositors: [DiagonalBlinds.self])
///
/// Its command line is that of `sheaf-worker`.
public enum WorkerMain {
  /// Runs the command that the process's arguments name, and ends the process: the worker itself, the fork server that
  /// the worker starts from its own executable, or the report of what confines task processes.
  ///
  /// It must be the first that the program does: the fork server may have one thread only.
  public static func run(compositors: [any VideoCompositing.Type] = []) -> Never {
    WorkerProgram.run(compositors: compositors)
  }
}
