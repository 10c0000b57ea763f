import TestEdits
import Testing

@testable import EditDocument

@Suite struct JSONCommentsTests {
  @Test(arguments: [
    ("{}", "{}"), ("[1, 2,]", "[1, 2 ]"), ("{\"a\": 1,\n}", "{\"a\": 1 \n}"), ("1 // one", "1       "),
    ("1 // one\n2", "1       \n2"), ("1 // one\r\n2", "1       \r\n2"), ("/* a\nb */ 1", "    \n     1"),
    ("[1, // last\n]", "[1         \n]"),
    ("[1, /* ] */ 2]", "[1,         2]"), ("[1 /*,*/, ]", "[1        ]"), ("[[1,],]", "[[1 ] ]"),
    ("\"// no /* no */ ,] \"", "\"// no /* no */ ,] \""), ("\"a\\\"// b\" // c", "\"a\\\"// b\"     "),
    ("[\"a,\", ]", "[\"a,\"  ]"), ("/* never closed", "/* never closed"), ("[,]", "[ ]"), ("[1,,]", "[1, ]"),
    ("1 / 2", "1 / 2"), ("\"never closed // a", "\"never closed // a"), ("/*/ 1", "/*/ 1"), ("/**/1", "    1"),
    ("\"é\" // é\n1", "\"é\"      \n1"),
  ])
  func `comments and trailing commas become spaces`(text: String, blanked: String) {
    let found = JSONComments.blanked(Array(text.utf8))
    #expect(String(decoding: found, as: UTF8.self) == blanked)
    #expect(found.count == text.utf8.count)
  }

  @Test func `what is JSON stays as it is`() {
    let document = documentText(tracks: "[]", "")
    #expect(JSONComments.blanked(Array(document.utf8)) == Array(document.utf8))
  }

  @Test func `two commas are still a mistake`() {
    #expect(throws: JSONSyntaxError.self) { try JSONReader.read(JSONComments.blanked(Array("[1,,]".utf8))) }
  }
}
