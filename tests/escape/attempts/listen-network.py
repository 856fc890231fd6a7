# Opens a port of its own.
from esc import *

import http.server
import socket

attempt("listen on 0.0.0.0", lambda: socket.create_server(("0.0.0.0", 0)))
attempt("listen on ::", lambda: socket.create_server(("::", 0), family=socket.AF_INET6))
attempt("a web server", http.server.HTTPServer, ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
