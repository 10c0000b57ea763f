"""Receives webhooks on loopback, and checks each with the verifier of the Standard Webhooks specification.

usage: receiver.py SECRET ... Prints its port, then for each request one line of JSON. The path is the status of its
answer, such as /204.
"""

import http.server
import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

secrets = sys.argv[1:]


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        verified = []
        for secret in secrets:
            try:
                Webhook(secret).verify(body, dict(self.headers.items()))
                verified.append(True)
            except WebhookVerificationError:
                verified.append(False)
        status = int(self.path.split("?")[0].strip("/"))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/204")
        if status == 503:
            self.send_header("Retry-After", "77")
        # More than a sender has any use for.
        long = bytes(3 << 20) if "long" in self.path else b""
        self.send_header("Content-Length", str(len(long)))
        self.end_headers()
        try:
            self.wfile.write(long)
        except ConnectionError:
            pass
        print(json.dumps({"path": self.path, "verified": verified, "id": self.headers["webhook-id"],
                          "body": json.loads(body), "type": self.headers["Content-Type"]}), flush=True)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
