import { fc } from '@fast-check/vitest';
import { expect, onTestFinished, test } from 'vitest';
import { type ConformancePeer, carrierConformance } from '../../../test/support/carriers/conformance.ts';
import {
  createTestHost,
  makeCarrier,
  submission,
  submitMany,
  until,
} from '../../../test/support/carriers/smpp-harness.ts';
import { startLibraryPeer } from '../../../test/support/carriers/smpp-library-peer.ts';
import {
  delivery,
  refuse,
  type Script,
  type ScriptedPeer,
  startScriptedPeer,
} from '../../../test/support/carriers/smpp-scripted-peer.ts';
import { runs } from '../../../test/support/runs.ts';
import { encodePdu, type Pdu } from '../../smpp/pdu.ts';
import { STATUS } from '../../smpp/status.ts';
import { NO_TLVS } from '../../smpp/wire.ts';

/** Long enough for a responsive peer, also on a busy machine. */
const CONFORMING = { submitTimeoutSeconds: 1, enquireSeconds: 0.4, bindTimeoutSeconds: 5, throttlePauseMs: 30 };
const QUICK = { submitTimeoutSeconds: 0.2, enquireSeconds: 0.1, bindTimeoutSeconds: 1, throttlePauseMs: 30 };

const SCRIPTS: Record<Parameters<ConformancePeer['behave']>[0], Script> = {
  accept: () => false,
  silent: (pdu) => pdu.command === 'submit_sm',
  refuse: refusing(STATUS.ESME_RINVDSTADR),
  busy: refusing(STATUS.ESME_RTHROTTLED),
};

function refusing(status: number): Script {
  return (pdu, link) => {
    if (pdu.command !== 'submit_sm') return false;
    link.send(refuse(pdu, status));
    return true;
  };
}

function conforming(peer: ScriptedPeer): ConformancePeer & { port: number } {
  async function report(carrierId: string): Promise<boolean> {
    const link = peer.links.at(-1);
    const sequence = link?.received.length ?? 0;
    const answer = (): Pdu | undefined =>
      link?.received.find((pdu) => pdu.command === 'deliver_sm_resp' && pdu.sequence === sequence);
    link?.send(delivery(sequence, `id:${carrierId} stat:DELIVRD`, { esmClass: 4 }));
    await until(() => answer() !== undefined);
    return answer()?.status === 0;
  }
  return {
    port: peer.port,
    behave: (how) => {
      peer.script = SCRIPTS[how];
    },
    seen: () => peer.submits().map((pdu) => pdu.destination),
    cut: () => {
      for (const link of peer.links) link.cut();
    },
    report,
    close: peer.close,
  };
}

carrierConformance({
  name: 'SMPP with our own codec at the other end',
  startPeer: async () => conforming(await startScriptedPeer()),
  makeCarrier: (peer) => makeCarrier(peer, CONFORMING),
});

carrierConformance({
  name: 'SMPP with the npm package smpp at the other end',
  startPeer: startLibraryPeer,
  makeCarrier: (peer) => makeCarrier(peer, CONFORMING),
});

/** Input of a broken or hostile peer: noise, real PDUs, and real PDUs with an octet changed. */
const sequences = fc.integer({ min: 0, max: 8 });
const realPdu: fc.Arbitrary<Pdu> = fc.oneof(
  sequences.map((sequence) => delivery(sequence, 'id:1 stat:DELIVRD', { esmClass: 4 })),
  sequences.map((sequence): Pdu => ({ command: 'submit_sm_resp', status: 0, sequence, messageId: 'a', tlvs: NO_TLVS })),
  fc.record({ command: fc.constant('generic_nack' as const), status: fc.nat(300), sequence: sequences }),
  sequences.map((sequence): Pdu => ({ command: 'unbind', status: 0, sequence })),
  sequences.map((sequence): Pdu => ({ command: 'enquire_link', status: 0, sequence })),
);
const mutated = fc.tuple(realPdu, fc.nat(), fc.nat(255)).map(([pdu, place, octet]) => {
  const octets = encodePdu(pdu);
  octets[place % octets.length] = octet;
  return octets;
});
const chunk: fc.Arbitrary<Uint8Array> = fc.oneof(fc.uint8Array({ maxLength: 100 }), realPdu.map(encodePdu), mutated);

test('whatever octets the peer sends, every submit has its outcome within a second and the carrier recovers', async () => {
  const peer = await startScriptedPeer();
  const carrier = makeCarrier(peer, QUICK);
  onTestFinished(async () => {
    await carrier.stop(0);
    await peer.close();
  });
  carrier.start(createTestHost());

  const survives = async (chunks: readonly Uint8Array[]): Promise<void> => {
    await until(() => carrier.room() >= 5);
    const rest = [...chunks];
    peer.script = (pdu, link) => {
      for (const octets of rest.splice(0)) void link.raw(octets);
      return pdu.command === 'submit_sm';
    };
    const since = performance.now();
    const outcomes = await Promise.all(submitMany(carrier, 5));
    expect(performance.now() - since).toBeLessThan(30_000);
    expect(outcomes).toHaveLength(5);
    peer.script = () => false;
    await until(() => carrier.room() > 0);
    expect((await carrier.submit(submission())).kind).toMatch(/accepted|retry|unknown/);
  };
  await fc.assert(fc.asyncProperty(fc.array(chunk, { minLength: 1, maxLength: 6 }), survives), { numRuns: runs(8) });
});
