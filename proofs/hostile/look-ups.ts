import { once } from 'node:events';
import http from 'node:http';

/** A service that the gateway pays for each number that it asks about. */
type LookUps = {
  readonly url: string;
  /** Calls this for each number from now on. */
  follow(asked: () => void): void;
};

/** The network of every number; no route is for it. */
const ANSWER = JSON.stringify({ line_type_intelligence: { mobile_country_code: '270', mobile_network_code: '01' } });

export async function startLookUps(): Promise<LookUps> {
  let onAsked = (): void => undefined;
  const server = http.createServer((_, response) => {
    onAsked();
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return { url: `http://127.0.0.1:${address.port}`, follow: (asked) => void (onAsked = asked) };
}
