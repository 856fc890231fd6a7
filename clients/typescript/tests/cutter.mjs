// A TCP proxy that does to connections what networks do.
import { connect, createServer } from "node:net";

/** `down`: how many bytes from the server each connection lets through before it is reset, one entry a connection, then all.
 * `up`: how many bytes of a request it takes before it stands still. */
export async function cutter(url, { down = [], up = Infinity } = {}) {
  const target = new URL(url);
  const open = new Set();
  const state = { connections: 0, cuts: 0, taken: 0 };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const limit = state.connections < down.length ? down[state.connections] : Infinity;
    let sent = 0, isCut = false;
    state.connections++;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.unref(); // a check that fails leaves it as it is
      socket.on("error", () => {});
      socket.on("close", () => [client, upstream].forEach((s) => { s.destroy(); open.delete(s); }));
    }
    client.on("data", (chunk) => {
      state.taken += chunk.length;
      upstream.write(chunk);
      if (state.taken > up) client.pause();
    });
    upstream.on("data", (chunk) => {
      if (isCut) return;
      const rest = limit - sent;
      sent += chunk.length;
      if (chunk.length < rest) return void client.write(chunk);
      isCut = true;
      state.cuts++;
      client.write(chunk.subarray(0, rest), () => client.resetAndDestroy());
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  state.url = `http://127.0.0.1:${server.address().port}`;
  state.close = () => {
    server.close();
    open.forEach((s) => s.destroy());
  };
  return state;
}
