import SystemSupport
import Testing

@testable import Wire

struct AddressTests {
  @Test(arguments: [
    ("farm.example:7433", WireAddress(host: "farm.example", port: 7433)),
    ("farm", WireAddress(host: "farm", port: 7433)),
    ("127.0.0.1:0", WireAddress(host: "127.0.0.1", port: 0)), ("[::1]:80", WireAddress(host: "::1", port: 80)),
    ("[::1]", WireAddress(host: "::1", port: 7433)), ("::1", WireAddress(host: "::1", port: 7433)),
    ("[fe80::1%eth0]:80", WireAddress(host: "fe80::1%eth0", port: 80)),
    ("bücher.example", WireAddress(host: "bücher.example", port: 7433)),
    ("sheaf_1.local:1", WireAddress(host: "sheaf_1.local", port: 1)),
  ])
  func `every notation of an address is read`(text: String, address: WireAddress) {
    #expect(WireAddress(text) == address)
    #expect(WireAddress(address.description) == address)
  }

  @Test(arguments: [
    "", ":80", "host:", "host:x", "host:65536", "host:-1", "[::1", "[::1]80", "::::", "[::::]:80", "a:b:c", "1:2:3",
    "http://farm:7433", "farm/jobs", "a b", "[farm]extra", "user@farm", "fe80::1%", "::1:7433:zz", "[]:80",
  ])
  func `text that is not an address is rejected`(text: String) {
    #expect(WireAddress(text) == nil)
  }

  @Test func `several addresses stand between commas`() throws {
    #expect(
      try WireAddress.list(setting: "a, b:80,[::1]:7433", example: "farm:1")
        == [WireAddress(host: "a"), WireAddress(host: "b", port: 80), WireAddress(host: "::1")])
    for (text, message) in [
      ("a,,b", "\"\" is not an address"), ("a,", "\"\" is not an address"), ("a b,c", "\"a b\" is not an address"),
      ("a,b:0", "1 to 65535"), (Array(repeating: "a", count: 17).joined(separator: ","), "at most 16"),
    ] {
      let error = #expect(throws: SettingError.self) { try WireAddress.list(setting: text, example: "farm:1") }
      #expect(error?.description.contains(message) == true, "\(text): \(String(describing: error))")
    }
  }

  @Test func `only this machine is loopback`() {
    for host in ["localhost", "127.0.0.1", "127.1.2.3", "::1"] { #expect(WireAddress(host: host).isLoopback) }
    for host in ["0.0.0.0", "::", "10.0.0.1", "127.example.com", "farm"] {
      #expect(!WireAddress(host: host).isLoopback)
    }
  }
}
