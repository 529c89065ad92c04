import http, { type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Starts a loopback server for the callbacks: HOST may be an address that is not reachable from here, a certificate is
 * for another name than this machine's, and a proxy on this machine (TRUST_PROXY) must state that its clients use
 * HTTPS, which is assumed here for the sandbox. For that reason this server accepts nothing but callbacks, and no claim
 * about who sends them. The processes of one program share its port, as they share their address; alone, port 0 chooses
 * one.
 */
export async function startCallbackServer(
  program: RequestListener,
  wanted: number,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = http.createServer((request, response) => {
    if (!request.url?.startsWith('/api/callbacks/')) return void response.writeHead(404).end();
    delete request.headers['x-forwarded-for'];
    request.headers['x-forwarded-proto'] = 'https';
    program(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(wanted, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
