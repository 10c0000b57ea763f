// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "editing",
  dependencies: [.package(name: "sheaf", path: "../..")],
  targets: [
    .executableTarget(
      name: "EditTwoClips", dependencies: [.product(name: "Sheaf", package: "sheaf")], path: "Sources/EditTwoClips")
  ]
)
