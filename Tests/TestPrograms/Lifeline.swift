import SystemSupport

/// Two ends of a connection. A program that has one as its standard input reads its end when the other is cut.
public struct Lifeline: Sendable {
  private let programSide: OpenFile
  private let testSide: OpenFile

  public init() throws {
    (programSide, testSide) = try OpenFile.socketPair()
  }

  /// A descriptor for the program. It is closed with the last copy of this value.
  public var programEnd: Int32 { programSide.descriptor }

  public func cut() {
    testSide.shutDown()
  }
}
