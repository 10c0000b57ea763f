import Media
import PieceFiles

/// The place of a piece in the package that a task makes.
struct PackagedPiece {
  /// The piece's number, which is its name in the package.
  let number: Int
  let package: PackageParts

  /// Begins the piece.
  func writer(_ header: PieceHeader) throws(MediaError) -> PieceWriter {
    try PieceWriter(part: number, of: package, header: header)
  }

  /// Removes what was written, for a piece that is made again.
  func clear() { package.clear(number) }
}
