import Glibc

/// Two ends of a connection. A program that has one as its standard input sees its end when the other is cut.
public struct Lifeline: Sendable {
  public let programEnd: Int32
  private let ownEnd: Int32

  public struct Failure: Error {
    public var errno: Int32
  }

  public init() throws {
    // Close-on-exec from the first: another program that is started meanwhile would keep the end that is cut.
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Failure(errno: errno)
    }
    (programEnd, ownEnd) = (ends[0], ends[1])
  }

  public func cut() {
    close(ownEnd)
    close(programEnd)
  }
}
