import { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../../../test/support/carriers/smpp-harness.ts';
import {
  type Script,
  type ScriptedPeer,
  startScriptedPeer,
} from '../../../test/support/carriers/smpp-scripted-peer.ts';
import { encodePdu, type Pdu } from '../../smpp/pdu.ts';
import { type Answer, type Connection, openConnection } from './connection.ts';

const query = (bytes = 0): Buffer =>
  encodePdu({
    command: 'data_sm',
    status: 0,
    sequence: 0,
    serviceType: '',
    sourceTon: 0,
    sourceNpi: 0,
    source: '',
    destTon: 0,
    destNpi: 0,
    destination: '',
    esmClass: 0,
    registeredDelivery: 0,
    dataCoding: 0,
    tlvs: new Map([[0x0424, Buffer.alloc(bytes)]]),
  });

async function connect(script: Script = () => true): Promise<{ peer: ScriptedPeer; connection: Connection }> {
  const peer = await startScriptedPeer({ script });
  const connection = openConnection(
    { host: '127.0.0.1', port: peer.port, tls: null, connectTimeoutMs: 1000, enquireMs: 60_000, sweepMs: 10 },
    { request: () => undefined, drained: () => undefined },
  );
  onTestFinished(async () => {
    connection.close('the test is over', 0);
    await peer.close();
  });
  expect(await connection.opened).toBe(true);
  await until(() => peer.links.length === 1);
  return { peer, connection };
}

test('requests are numbered 1, 2, 3 and answered in any order of responses', async () => {
  const held: Pdu[] = [];
  const { peer, connection } = await connect((pdu) => held.push(pdu) > 0);
  const answers = [connection.request(query(), 1000), connection.request(query(), 1000)];
  await until(() => held.length === 2);
  expect(held.map((pdu) => pdu.sequence)).toEqual([1, 2]);
  for (const { sequence } of held.toReversed()) {
    peer.links[0]?.send({ command: 'data_sm_resp', status: 0, sequence, messageId: `m${sequence}`, tlvs: new Map() });
  }
  const messageIds = (await Promise.all(answers)).map((answer) => answer.kind === 'response' && answer.pdu);
  expect(messageIds).toMatchObject([{ messageId: 'm1' }, { messageId: 'm2' }]);
});

test('the requests of one tick are sent in one write', async () => {
  const { peer, connection } = await connect();
  const write = vi.spyOn(Socket.prototype, 'write');
  onTestFinished(() => write.mockRestore());
  for (let count = 0; count < 100; count += 1) void connection.request(query(), 1000);
  await until(() => peer.links[0]?.received.length === 100);
  expect(write).toHaveBeenCalledTimes(1);
});

test('each request times out after its own timeout, and not before', async () => {
  const { connection } = await connect();
  const order: string[] = [];
  const since = performance.now();
  const ask = (name: string, timeoutMs: number): Promise<void> =>
    connection.request(query(), timeoutMs).then(({ kind }) => void order.push(`${name}: ${kind}`));
  await Promise.all([ask('late', 120), ask('early', 40)]);
  expect(order).toEqual(['early: timeout', 'late: timeout']);
  expect(performance.now() - since).toBeGreaterThanOrEqual(119);
});

test('after a cut, data given to the socket counts as written, and data held back does not', async () => {
  const { peer, connection } = await connect();
  peer.links[0]?.pause(true);
  const given: Promise<Answer>[] = [];
  while (connection.writable()) {
    given.push(connection.request(query(60_000), 60_000));
    await new Promise(setImmediate);
  }
  const heldBack = [connection.request(query(), 60_000), connection.request(query(), 60_000)];
  peer.links[0]?.cut();
  for (const answer of await Promise.all(given)) expect(answer).toEqual({ kind: 'closed', written: true });
  for (const answer of await Promise.all(heldBack)) expect(answer).toEqual({ kind: 'closed', written: false });
  expect(await connection.request(query(), 1000)).toEqual({ kind: 'closed', written: false });
});

test('data held back is sent in order when the peer reads again', async () => {
  const { peer, connection } = await connect();
  peer.links[0]?.pause(true);
  let asked = 0;
  while (connection.writable()) {
    void connection.request(query(60_000), 60_000);
    asked += 1;
    await new Promise(setImmediate);
  }
  void connection.request(query(), 60_000);
  peer.links[0]?.pause(false);
  await until(() => peer.links[0]?.received.length === asked + 1);
  expect(peer.links[0]?.received.map((pdu) => pdu.sequence)).toEqual(
    Array.from({ length: asked + 1 }, (_, index) => index + 1),
  );
  await until(() => connection.writable());
});

test('a peer that sends requests without reading the answers is eventually not read any more', async () => {
  const { peer } = await connect();
  const link = peer.links[0];
  link?.pause(true);
  const enquiries = Buffer.concat(
    Array<Buffer>(4096).fill(encodePdu({ command: 'enquire_link', status: 0, sequence: 1 })),
  );
  let taken = 0;
  const pushing = (async () => {
    for (; taken < 512; taken += 1) await link?.raw(enquiries);
  })();
  const seen: number[] = [];
  await until(() => {
    seen.push(taken);
    return taken === 512 || (seen.length > 30 && new Set(seen.slice(-30)).size === 1);
  });
  expect(taken).toBeLessThan(512);
  link?.cut();
  await pushing;
});

test('a connection to a port without a listener closes before it is open', async () => {
  const peer = await startScriptedPeer();
  await peer.close();
  const connection = openConnection(
    { host: '127.0.0.1', port: peer.port, tls: null, connectTimeoutMs: 1000, enquireMs: 1000, sweepMs: 10 },
    { request: () => undefined, drained: () => undefined },
  );
  expect(await connection.opened).toBe(false);
  expect(await connection.closed).toMatchObject({ reason: expect.stringContaining('ECONNREFUSED'), untrusted: false });
});
