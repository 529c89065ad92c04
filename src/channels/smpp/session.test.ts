import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  bound,
  createTestHost,
  FAST,
  makeCarrier,
  submission,
  type TestHost,
  until,
} from '../../../test/support/carriers/smpp-harness.ts';
import {
  isBind,
  type Link,
  type Script,
  type ScriptedPeer,
  startScriptedPeer,
} from '../../../test/support/carriers/smpp-scripted-peer.ts';
import { COMMAND, type Pdu, RESPONSE_BIT } from '../../smpp/pdu.ts';
import { STATUS } from '../../smpp/status.ts';
import { NO_TLVS } from '../../smpp/wire.ts';
import type { Carrier } from '../carrier.ts';

const fixture = (name: string): string => readFileSync(new URL(`../../smpp/fixtures/${name}`, import.meta.url), 'utf8');
const TLS = { key: fixture('key.pem'), cert: fixture('cert.pem') };

/** Starts the carrier without waiting for a bind. */
function started(peer: ScriptedPeer, settings: object = {}, timing = FAST): { carrier: Carrier; host: TestHost } {
  const carrier = makeCarrier(peer, settings, timing);
  const host = createTestHost();
  onTestFinished(async () => {
    await carrier.stop(0);
    await peer.close();
  });
  carrier.start(host);
  return { carrier, host };
}

const commands = (link: Link | undefined): string[] => link?.received.map((pdu) => pdu.command) ?? [];
const refuseBinds =
  (status: number): Script =>
  (pdu, link) => {
    if (pdu.command !== 'bind_transceiver') return false;
    link.send({ command: 'bind_transceiver_resp', status, sequence: pdu.sequence, systemId: '', tlvs: NO_TLVS });
    return true;
  };
const silent: Script = (pdu) => !isBind(pdu);

describe('bind', () => {
  test('the bind has the fields of the settings', async () => {
    const { peer } = await bound(() => false, { systemType: 'VMA', addressRange: '^1', interfaceVersion: 0x50 });
    expect(peer.links[0]?.received[0]).toMatchObject({
      command: 'bind_transceiver',
      systemId: 'gw1',
      password: 'secret08',
      systemType: 'VMA',
      interfaceVersion: 0x50,
      addressRange: '^1',
    });
  });

  test('tx+rx makes pairs of binds, of which only the transmitters count and carry submits', async () => {
    const { carrier, peer } = await bound(() => false, { bind: 'tx+rx', binds: 2 });
    await until(() => peer.links.length === 4 && carrier.state().bindsUp === 2);
    expect(carrier.state()).toMatchObject({ up: true, bindsUp: 2, bindsWanted: 2 });
    await carrier.submit(submission());
    const firsts = peer.links.map((link) => commands(link)[0]);
    expect(firsts.toSorted()).toEqual(['bind_receiver', 'bind_receiver', 'bind_transmitter', 'bind_transmitter']);
    for (const link of peer.links) {
      if (commands(link).includes('submit_sm')) expect(commands(link)[0]).toBe('bind_transmitter');
    }
  });

  test('a receive-only carrier is up without ever having room', async () => {
    const peer = await startScriptedPeer();
    const { carrier } = started(peer, { bind: 'rx' });
    await until(() => carrier.state().up);
    expect(carrier.room()).toBe(0);
  });

  test.each([STATUS.ESME_RINVPASWD, STATUS.ESME_RINVSYSID, STATUS.ESME_RINVSYSTYP])(
    'status %i to the bind is a fault, and is tried again only after the long delay',
    async (status) => {
      const peer = await startScriptedPeer({ script: refuseBinds(status) });
      const since = performance.now();
      const { carrier, host } = started(peer, {}, { ...FAST, faultRetryMs: 150 });
      await until(() => carrier.state().fault !== null);
      expect(carrier.state()).toMatchObject({ up: false, bindsUp: 0, fault: expect.stringContaining('ESME_RINV') });
      expect(host.logs.some((line) => line.startsWith('error'))).toBe(true);
      expect(peer.links).toHaveLength(1);
      peer.script = () => false;
      await until(() => carrier.state().up);
      expect(performance.now() - since).toBeGreaterThan(145);
      expect(carrier.state().fault).toBeNull();
    },
  );

  test('any other refusal of the bind is not a fault and is retried soon', async () => {
    const peer = await startScriptedPeer({ script: refuseBinds(STATUS.ESME_RBINDFAIL) });
    const { carrier } = started(peer);
    await until(() => peer.links.length >= 3);
    expect(carrier.state()).toMatchObject({ up: false, fault: null });
  });

  test('responses of a header alone, without an error, are a bind and an accepted message without an id', async () => {
    const header = (command: number, sequence: number): Buffer => {
      const octets = Buffer.alloc(16);
      octets.writeUInt32BE(16, 0);
      octets.writeUInt32BE(command, 4);
      octets.writeUInt32BE(sequence, 12);
      return octets;
    };
    const { carrier } = await bound((pdu, link) => {
      void link.raw(header(COMMAND[pdu.command] + RESPONSE_BIT, pdu.sequence));
      return true;
    });
    expect(carrier.state()).toMatchObject({ up: true, bindsUp: 1 });
    expect(await carrier.submit(submission())).toEqual({ kind: 'accepted', carrierIds: [''] });
  });

  test('a bind without a response is given up after its timeout', async () => {
    const peer = await startScriptedPeer({ script: () => true });
    started(peer, { bindTimeoutSeconds: 0.1 });
    await until(() => peer.links.length >= 2);
  });

  test('a credential that does not fit the protocol is refused when the carrier is created', () => {
    expect(() => makeCarrier({ port: 1 }, { systemType: 'a\0b' })).toThrow(/systemType/);
  });
});

describe('reconnecting', () => {
  test('an unreachable peer is retried until it responds', async () => {
    const peer = await startScriptedPeer();
    await peer.close();
    const carrier = makeCarrier(peer);
    carrier.start(createTestHost());
    onTestFinished(() => carrier.stop(0));
    await until(() => !carrier.state().up);
    const back = await startScriptedPeer({ port: peer.port });
    onTestFinished(() => back.close());
    await until(() => carrier.state().up);
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
  });

  test('after a lost connection the carrier binds again and reports its room', async () => {
    const { carrier, peer, host } = await bound();
    peer.links[0]?.cut();
    await until(() => carrier.room() === 0);
    const before = host.changes;
    await until(() => carrier.room() === 10);
    expect(host.changes).toBeGreaterThan(before);
    expect(peer.links).toHaveLength(2);
  });

  test('reconnects back off: the delay grows with each attempt', async () => {
    const times: number[] = [];
    const peer = await startScriptedPeer({
      script: (_, link) => {
        times.push(performance.now());
        link.cut();
        return true;
      },
    });
    started(peer, {}, { ...FAST, reconnectBaseMs: 20, reconnectMaxMs: 10_000 });
    await until(() => times.length === 6);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // The fifth delay is at least half of 20 ms * 2^4, however busy the machine is; the first is at most 20 ms.
    expect(gaps[4]).toBeGreaterThanOrEqual(160);
  });

  test("the peer's unbind gets a response, nothing more is submitted on it, and the carrier binds again", async () => {
    const { carrier, peer } = await bound();
    peer.links[0]?.send({ command: 'unbind', status: 0, sequence: 77 });
    await until(() => peer.links.length === 2 && carrier.room() > 0);
    expect(peer.links[0]?.received.at(-1)).toMatchObject({ command: 'unbind_resp', sequence: 77 });
    await carrier.submit(submission());
    expect(commands(peer.links[0])).not.toContain('submit_sm');
  });

  test("responses that come after the peer's unbind still count", async () => {
    const { carrier } = await bound((pdu, link) => {
      if (pdu.command !== 'submit_sm') return false;
      link.send({ command: 'unbind', status: 0, sequence: 1 });
      const { sequence } = pdu;
      setImmediate(() => link.send({ command: 'submit_sm_resp', status: 0, sequence, messageId: 'a', tlvs: NO_TLVS }));
      return true;
    });
    expect(await carrier.submit(submission())).toEqual({ kind: 'accepted', carrierIds: ['a'] });
  });
});

describe('liveness', () => {
  test('an idle link is probed, and a peer that responds stays bound', async () => {
    const { carrier, peer } = await bound(() => false, { enquireSeconds: 0.05 });
    await until(() => commands(peer.links[0]).filter((command) => command === 'enquire_link').length >= 5);
    expect(carrier.state().up).toBe(true);
    expect(peer.links).toHaveLength(1);
  });

  test('a silent peer is dropped after two missed enquiries, and open messages are unknown', async () => {
    const { carrier, peer } = await bound(silent, { enquireSeconds: 0.05 });
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'unknown' });
    expect(commands(peer.links[0]).filter((command) => command === 'enquire_link')).toHaveLength(2);
    await until(() => peer.links.length >= 2);
  });

  test("a peer's enquiry gets a response, bound or not", async () => {
    const { peer } = await bound((pdu, link) => {
      if (isBind(pdu)) link.send({ command: 'enquire_link', status: 0, sequence: 5 });
      return false;
    });
    peer.links[0]?.send({ command: 'enquire_link', status: 0, sequence: 6 });
    await until(() => peer.links[0]?.received.length === 3);
    expect(peer.links[0]?.received.slice(1)).toMatchObject([
      { command: 'enquire_link_resp', sequence: 5 },
      { command: 'enquire_link_resp', sequence: 6 },
    ]);
  });
});

describe('a peer that breaks the protocol', () => {
  const received = (link: Link | undefined): Pdu[] => link?.received.filter((pdu) => !isBind(pdu)) ?? [];

  test.each(['0000000f000000150000000000000001', 'ffffffff000000150000000000000001'])(
    'a command_length of %s ends the connection with RINVCMDLEN',
    async (hex) => {
      const { carrier, peer } = await bound((pdu) => pdu.command === 'submit_sm');
      const open = carrier.submit(submission());
      await peer.links[0]?.raw(Buffer.from(hex, 'hex'));
      expect(await open).toMatchObject({ kind: 'unknown' });
      expect(received(peer.links[0]).at(-1)).toEqual({
        command: 'generic_nack',
        status: STATUS.ESME_RINVCMDLEN,
        sequence: 0,
      });
      await until(() => peer.links.length === 2 && carrier.state().up);
    },
  );

  test('an unknown command is nacked with its own sequence number, and the link stays up', async () => {
    const { carrier, peer } = await bound();
    await peer.links[0]?.raw(Buffer.from('00000010000002220000000000000009', 'hex'));
    await until(() => received(peer.links[0]).length === 1);
    expect(received(peer.links[0])).toEqual([{ command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: 9 }]);
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
  });

  test('a request that only a carrier may receive is nacked', async () => {
    const { peer } = await bound();
    peer.links[0]?.send({
      command: 'query_sm',
      status: 0,
      sequence: 4,
      messageId: 'a',
      sourceTon: 0,
      sourceNpi: 0,
      source: '',
    });
    await until(() => received(peer.links[0]).length === 1);
    expect(received(peer.links[0])).toMatchObject([{ command: 'generic_nack', sequence: 4 }]);
  });

  test('a response without a request is ignored, and is logged when the bind ends', async () => {
    const { carrier, peer, host } = await bound();
    const link = peer.links[0];
    link?.send({ command: 'submit_sm_resp', status: 0, sequence: 4711, messageId: 'a', tlvs: NO_TLVS });
    await link?.raw(Buffer.from('00000010800002220000000000000009', 'hex'));
    link?.send({ command: 'generic_nack', status: 3, sequence: 4712 });
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(received(link).map((pdu) => pdu.command)).toEqual(['submit_sm']);
    link?.cut();
    await until(() => host.logs.includes('warn: SMPP responses matched no request'));
  });

  test('PDUs that arrive octet by octet are understood', async () => {
    const { carrier } = await bound((pdu, link) => {
      if (pdu.command !== 'submit_sm') return false;
      const octets = Buffer.from('0000001380000004000000000000000061620000', 'hex').subarray(0, 19);
      octets.writeUInt32BE(pdu.sequence, 12);
      octets.forEach((_, index) => setImmediate(() => void link.raw(octets.subarray(index, index + 1))));
      return true;
    });
    expect(await carrier.submit(submission())).toEqual({ kind: 'accepted', carrierIds: ['ab'] });
  });
});

describe('stop', () => {
  test('stop waits for outstanding responses, then unbinds and does not reconnect', async () => {
    const open: { pdu: Pdu; link: Link }[] = [];
    const { carrier, peer } = await bound((pdu, link) => {
      if (pdu.command !== 'submit_sm') return false;
      open.push({ pdu, link });
      return true;
    });
    const outcome = carrier.submit(submission());
    await until(() => open.length === 1);
    const stopped = carrier.stop(5000);
    expect(carrier.room()).toBe(0);
    for (const { pdu, link } of open) {
      link.send({ command: 'submit_sm_resp', status: 0, sequence: pdu.sequence, messageId: 'late', tlvs: NO_TLVS });
    }
    await stopped;
    expect(await outcome).toEqual({ kind: 'accepted', carrierIds: ['late'] });
    expect(commands(peer.links[0])).toEqual(['bind_transceiver', 'submit_sm', 'unbind']);
    expect(carrier.state().up).toBe(false);
  });

  test('messages without a response by the deadline end as unknown, and the deadline holds', async () => {
    const { carrier } = await bound(silent);
    const outcome = carrier.submit(submission());
    const since = performance.now();
    await carrier.stop(100);
    expect(performance.now() - since).toBeLessThan(30_000);
    expect(await outcome).toMatchObject({ kind: 'unknown' });
  });

  test('a peer that does not respond to the unbind is disconnected at the deadline', async () => {
    const { carrier } = await bound(silent);
    const since = performance.now();
    await carrier.stop(100);
    expect(performance.now() - since).toBeLessThan(30_000);
  });

  test('a carrier that waits for its next attempt stops at once', async () => {
    const peer = await startScriptedPeer({ script: refuseBinds(STATUS.ESME_RINVPASWD) });
    const { carrier } = started(peer, {}, { ...FAST, faultRetryMs: 300_000 });
    await until(() => carrier.state().fault !== null);
    await carrier.stop(60_000);
  });
});

describe('TLS', () => {
  test('binds and submits over TLS when the given authority issued the certificate', async () => {
    const peer = await startScriptedPeer({ tls: TLS });
    const { carrier } = started(peer, { tls: true, tlsCa: TLS.cert, tlsServername: 'localhost' });
    await until(() => carrier.room() > 0);
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
  });

  test('an untrusted certificate, or one for another name, is a fault, and nothing is sent', async () => {
    for (const settings of [{}, { tlsCa: TLS.cert, tlsServername: 'smsc.example' }]) {
      const peer = await startScriptedPeer({ tls: TLS });
      const { carrier } = started(peer, { tls: true, ...settings });
      await until(() => carrier.state().fault !== null);
      expect(carrier.state().up).toBe(false);
      expect(peer.links.flatMap((link) => link.received)).toEqual([]);
    }
  });

  test('with tlsInsecure any certificate is accepted', async () => {
    const peer = await startScriptedPeer({ tls: TLS });
    const { carrier } = started(peer, { tls: true, tlsInsecure: true });
    await until(() => carrier.room() > 0);
  });
});
