import CompositionModel
import Digest
package import Media
package import RenderTasks

// The outputs of a film: each is stitched from its own pieces, which are in packages with those of the others.
extension OutputStitcher {
  /// Writes the outputs: as a package, or the one that has no name as it is. Every package of pieces is checked before
  /// it is used.
  /// - Parameters:
  ///   - inputs: The packages of the video by segment, then those of the audio by part, as in the task, then the file
  ///     of the artwork.
  ///   - descriptor: An empty file that can be read and can seek. The caller closes it.
  ///   - liveness: Advanced with every piece that is opened and every packet that is read or written.
  ///   - progress: Called with the number of bytes in the file, which only rises.
  /// - Returns: The damaged media that the outputs show.
  /// - Throws: As for one file. The piece of an error is the number of its package among the inputs.
  @discardableResult
  package static func stitch(
    _ task: StitchTask, inputs: [any ByteSource], to descriptor: Int32, liveness: Liveness? = nil,
    progress: (Int64) -> Void
  ) throws(StitchError) -> ShownDamage {
    let pieces = try PackagedPieces(task, inputs, liveness)
    var files: [(name: String, range: Range<Int64>)] = []
    var shown = ShownDamage()
    var position: Int64 = 0
    for output in task.outputs {
      let own = try pieces.pieces(of: output)
      let before = position
      let made: (damage: ShownDamage, size: Int64)
      do throws(StitchError) {
        made = try stitch(
          output.file, pieces: own.sources, to: descriptor, from: position, liveness: liveness
        ) { progress(before + $0) }
      } catch {
        // The error counts the output's own pieces.
        guard let piece = error.piece, own.places.indices.contains(piece) else { throw error }
        let place = output.name.map { "in the output \($0): " } ?? ""
        throw StitchError(error.code, piece: own.places[piece], place + error.message)
      }
      if let name = output.name { files.append((name, position..<(position + made.size))) }
      position += made.size
      // What two outputs show of a track is the same.
      shown.tracks += made.damage.tracks.filter { track in
        !shown.tracks.contains { $0.digest == track.digest && $0.track == track.track }
      }
    }
    if let package = task.playlists {
      let movies = try files.map { file throws(StitchError) in
        PartByteSource(try OutputCheck.source(ofWritten: descriptor), file.range)
      }
      for (name, bytes) in try PlaylistFiles(package, of: task, movies: movies).files {
        try mapErrors(to: StitchError.writing) { () throws(MediaError) in
          try ContentPackage.append(bytes, descriptor, at: position)
        }
        files.append((name, position..<(position + Int64(bytes.count))))
        position += Int64(bytes.count)
        liveness?.advance()
      }
    }
    if !files.isEmpty {
      try mapErrors(to: StitchError.writing) { () throws(MediaError) in
        try ContentPackage.complete(descriptor, files)
      }
    }
    return shown
  }
}

/// The inputs of a stitch task: the packages of its pieces, by segment and then those of the audio, and the artwork.
private struct PackagedPieces {
  private let task: StitchTask
  private let inputs: [any ByteSource]
  private let packages: [ContentPackage]

  /// Throws `.task` if the inputs are not as many as the task has, or its outputs cannot be made together.
  init(_ task: StitchTask, _ inputs: [any ByteSource], _ liveness: Liveness?) throws(StitchError) {
    let hasArtwork = task.artwork != nil
    let packageCount = inputs.count - (hasArtwork ? 1 : 0)
    let (segments, audios) = (task.segmentCount, task.audioPackageCount)
    guard segments >= 0, audios >= 0, packageCount >= segments, packageCount - segments == audios else {
      throw StitchError(
        .task,
        "\(inputs.count) inputs were given; the outputs have packages of \(segments) segments and \(audios) of audio, "
          + "and \(hasArtwork ? "artwork" : "no artwork")")
    }
    guard task.outputs.count == 1 || (!task.outputs.isEmpty && task.outputs.allSatisfy { $0.name != nil }) else {
      throw StitchError(.task, "\(task.outputs.count) outputs were given; there must be one, or several with names")
    }
    var packages: [ContentPackage] = []
    for (number, input) in inputs.prefix(packageCount).enumerated() {
      packages.append(
        try mapErrors(to: StitchError.reading(number)) { () throws(MediaError) in
          try ContentPackage.read(input, name: "piece \(number)")
        })
      liveness?.advance()
    }
    self.task = task
    self.inputs = inputs
    self.packages = packages
  }

  /// What an output's file is made of, in the order of `StitchedFile`, with the input of each piece.
  func pieces(of output: StitchTask.Output) throws(StitchError) -> (sources: [any ByteSource], places: [Int]) {
    var (sources, places): ([any ByteSource], [Int]) = ([], [])
    if let rendition = output.rendition {
      for segment in 0..<task.segmentCount {
        sources.append(try piece(segment, rendition))
        places.append(segment)
      }
    }
    if let sound = output.sound {
      guard task.hasAudio else { throw StitchError(.task, "an output has audio, and there is none") }
      let own = output.soundPackages ?? 0..<1
      guard own.lowerBound >= 0, own.upperBound <= task.audioPackageCount else {
        throw StitchError(.task, "an output has audio in the packages \(own) of \(task.audioPackageCount)")
      }
      for package in own {
        sources.append(try piece(task.segmentCount + package, sound))
        places.append(task.segmentCount + package)
      }
    }
    if output.file.artwork != nil { sources.append(inputs[packages.count]) }
    return (sources, places)
  }

  private func piece(_ input: Int, _ number: Int) throws(StitchError) -> any ByteSource {
    guard let file = packages[input].files.first(where: { $0.name == "\(number)" }) else {
      throw StitchError(.piece, piece: input, "its package has no piece \(number)")
    }
    return PartByteSource(inputs[input], file)
  }
}
