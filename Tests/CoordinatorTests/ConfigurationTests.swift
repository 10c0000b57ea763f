import Testing

@testable import Coordinator

struct ConfigurationTests {
  @Test func tokensAreComparedAsAWhole() {
    #expect(CoordinatorConfiguration.areEqual("secret", "secret"))
    for guess in ["", "s", "secre", "secret2", "Secret", "secretsecret"] {
      #expect(!CoordinatorConfiguration.areEqual("secret", guess))
    }
  }
}
