import ArgumentParser
import Glibc
import Jobs
import Testing
import Wire

@testable import Coordinator

struct SettingTests {
  @Test func theCommandLineWinsOverTheEnvironment() throws {
    setenv("SHEAF_TEST_NUMBER", "7", 1)
    setenv("SHEAF_TEST_EMPTY", "", 1)
    #expect(try Setting.number(nil, "--n", "SHEAF_TEST_NUMBER", in: 1...9) == 7)
    #expect(try Setting.number(3, "--n", "SHEAF_TEST_NUMBER", in: 1...9) == 3)
    #expect(Setting.text(nil, "SHEAF_TEST_EMPTY") == nil)
    #expect(Setting.text("x", "SHEAF_TEST_NUMBER") == "x")
  }

  @Test func aNumberThatIsNoneIsAUsageError() {
    setenv("SHEAF_TEST_WORD", "many", 1)
    #expect(throws: ValidationError.self) { try Setting.number(nil, "--n", "SHEAF_TEST_WORD", in: 1...9) }
    #expect(throws: ValidationError.self) { try Setting.number(0, "--n", "SHEAF_TEST_ABSENT", in: 1...9) }
  }

  @Test func tokensAreComparedWhole() {
    #expect(Farm.Configuration.areEqual("secret", "secret"))
    for guess in ["", "s", "secre", "secret2", "Secret", "secretsecret"] {
      #expect(!Farm.Configuration.areEqual("secret", guess))
    }
  }

  @Test(arguments: [
    (CommandFailure(.document, "x") as any Error, 65), (WireError(.unreachable, "x"), 69),
    (WireError(.refused(.token), "x"), 69), (WireError(.content, "x"), 1), (VaultError(.outOfSpace, "x"), 1),
    (JobStoreError(.unavailable, "x"), 69), (CancellationError(), 1),
  ])
  func everyFailureHasItsExitCode(error: any Error, code: Int) {
    #expect(CommandFailure(error).code.rawValue == Int32(code))
  }
}
