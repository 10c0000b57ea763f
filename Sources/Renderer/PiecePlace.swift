import Media

/// Where a piece is written.
enum PiecePlace {
  /// The descriptor of an empty file.
  case file(Int32)
  case part(Int, of: PackageParts)

  /// Begins the piece.
  func writer(_ header: PieceHeader) throws(MediaError) -> PieceWriter {
    switch self {
    case .file(let descriptor): try PieceWriter(descriptor: descriptor, header: header)
    case .part(let part, let package): try PieceWriter(part: part, of: package, header: header)
    }
  }

  /// Removes what was written, for a piece that is made again.
  func clear() throws(MediaError) {
    switch self {
    case .file(let descriptor): try PieceWriter.clear(descriptor)
    case .part(let part, let package): package.clear(part)
    }
  }
}
