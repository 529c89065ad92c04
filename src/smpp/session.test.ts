import net, { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../../test/support/carriers/smpp-harness.ts';
import { type Script, type ScriptedPeer, startScriptedPeer } from '../../test/support/carriers/smpp-scripted-peer.ts';
import { encodePdu, type Pdu } from './pdu.ts';
import { type Answer, openSession, type SmppSession } from './session.ts';

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

/** Our side of a connection. */
type Client = {
  readonly session: SmppSession;
  request(frame: Buffer, timeoutMs: number): Promise<Answer>;
  readonly closed: Promise<string>;
};

function open(port: number): Client {
  const closed = Promise.withResolvers<string>();
  const session = openSession(
    net.connect(port, '127.0.0.1'),
    { serves: [], enquireMs: () => 60_000, unbindWait: { answersMs: 0, owedMs: 0 } },
    { request: () => undefined, closed: closed.resolve },
  );
  const sweeper = setInterval(session.sweep, 10);
  onTestFinished(() => {
    clearInterval(sweeper);
    session.destroy('the test is over');
  });
  const request = (frame: Buffer, timeoutMs: number): Promise<Answer> =>
    new Promise((resolve) => session.request(frame, timeoutMs, resolve));
  return { session, request, closed: closed.promise };
}

async function connect(script: Script = () => true): Promise<{ peer: ScriptedPeer; connection: Client }> {
  const peer = await startScriptedPeer({ script });
  onTestFinished(() => peer.close());
  const connection = open(peer.port);
  await until(() => peer.links.length === 1);
  return { peer, connection };
}

test('requests are numbered 1, 2, 3 and completed in any order of responses', async () => {
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
  while (connection.session.isWritable()) {
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
  while (connection.session.isWritable()) {
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
  await until(() => connection.session.isWritable());
});

test('a connection to a port without a listener closes with the reason', async () => {
  const peer = await startScriptedPeer();
  await peer.close();
  expect(await open(peer.port).closed).toContain('ECONNREFUSED');
});
