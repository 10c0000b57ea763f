import Glibc

/// `make quick`: the tests that need no ffmpeg, no database and no other program.
public enum QuickTests {
  public static let areRun = getenv("SHEAF_QUICK") != nil
}
