import { once } from 'node:events';
import net from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../test/support/until.ts';
import { createLink, type LinkHandlers } from './link.ts';
import { encodePdu, type Pdu } from './pdu.ts';

const ENQUIRE = encodePdu({ command: 'enquire_link', status: 0, sequence: 7 });
const many = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => ENQUIRE));

/** A link over a real connection, and its peer. */
async function linked(pdu: (link: ReturnType<typeof createLink>, pdu: Pdu) => void) {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const accepted: Promise<net.Socket[]> = once(server, 'connection');
  const peer = net.connect(port, '127.0.0.1');
  const [socket] = await accepted;
  if (!socket) throw new Error('no connection');
  onTestFinished(() => {
    peer.destroy();
    socket.destroy();
    server.close();
  });
  const handlers: LinkHandlers = {
    pdu: (each) => pdu(link, each),
    broken: () => undefined,
    closed: () => undefined,
  };
  const link = createLink(socket, handlers);
  return { link, socket, peer };
}

test('a flood leaves the event loop to others after 64 PDUs, and none is lost', async () => {
  let [inAll, inTurn, most] = [0, 0, 0];
  const { peer } = await linked(() => {
    inAll += 1;
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    most = Math.max(most, ++inTurn);
  });
  peer.write(many(10_000));
  await until('all are handled', () => inAll === 10_000);
  // The end of one read and the beginning of the next one.
  expect(most).toBeLessThanOrEqual(128);
});

test('a held link passes on nothing, and everything afterwards', async () => {
  let handled = 0;
  const { link, peer } = await linked((each) => {
    handled += 1;
    if (handled === 1) each.hold(true);
  });
  peer.write(many(1000));
  await until('it is held', () => handled === 1);
  link.hold(false);
  await until('all are handled', () => handled === 1000);
});

test('a peer that does not read its responses is not read any more, until it does', async () => {
  let handled = 0;
  const { peer } = await linked((link, { sequence }) => {
    handled += 1;
    link.send({ command: 'enquire_link_resp', status: 0, sequence });
  });
  peer.pause();
  const all = 1_000_000;
  for (let sent = 0; sent < all; sent += 10_000) peer.write(many(10_000));
  const seen: number[] = [];
  await until('it is not read', () => {
    seen.push(handled);
    return handled === all || (seen.length > 30 && new Set(seen.slice(-30)).size === 1);
  });
  expect(handled).toBeLessThan(all);
  peer.resume();
  await until('everything is read', () => handled === all);
});
