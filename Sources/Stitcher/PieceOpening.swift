import Media

/// Opening pieces, and saying which one could not be read.
enum PieceOpening {
  static func open(_ source: any ByteSource, piece: Int) throws(StitchError) -> PieceReader {
    do {
      return try PieceReader(source: source, name: "piece \(piece)")
    } catch {
      throw fault(error, piece: piece)
    }
  }

  /// A piece that was cut off or is none at all is rendered again, as one whose frames are wrong.
  static func fault(_ error: MediaError, piece: Int) -> StitchError {
    switch error.code {
    case .outOfSpace, .outOfMemory, .io: StitchError(.infrastructure, piece: piece, "\(error)")
    case .invalidPiece: StitchError(.piece, piece: piece, error.message)
    default: StitchError(.media(error), piece: piece, "cannot be read")
    }
  }
}
