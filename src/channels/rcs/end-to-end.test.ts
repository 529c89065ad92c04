import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { connected, submission, until } from '../../../test/support/carriers/rcs-harness.ts';
import { createSlots } from '../../core/limits.ts';
import type { Carrier, Outcome, Receipt, Submission } from '../carrier.ts';
import { readRcsCallback } from './callbacks.ts';

/** A client's address that keeps the receipts of signed callbacks. */
async function receive(clientToken: string): Promise<{ url: string; receipts: Receipt[]; refused: () => number }> {
  const receipts: Receipt[] = [];
  let refused = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const signature = request.headers['x-goog-signature']?.toString();
      const callback = readRcsCallback({ rawBody: Buffer.concat(chunks), signature, clientToken });
      if (callback.kind === 'events') receipts.push(...callback.receipts);
      else if (callback.kind !== 'handshake') refused += 1;
      response.end(callback.kind === 'handshake' ? callback.text : '');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/`, receipts, refused: () => refused };
}

/** Delivers as the dispatcher does: a `retry` goes out again later, other outcomes are final. */
async function deliver(carrier: Carrier, message: Submission): Promise<Outcome> {
  for (;;) {
    await until(() => carrier.room() > 0);
    const outcome = await carrier.submit(message);
    if (outcome.kind !== 'retry') return outcome;
  }
}

test('over a network that throttles, fails, cuts and repeats, each message is taken once and its end is reported', async () => {
  const troubles = { throttleShare: 0.05, unavailableShare: 0.05, dropAnswerShare: 0.05, cutShare: 0.05 };
  const late = { doubleEventShare: 0.2, reorderEventShare: 0.2, reorderMs: 30, foreignEventShare: 0.1 };
  const fast = { outcomes: {}, otherwise: { steps: [{ event: 'DELIVERED', afterMs: 5 }] } as const, seed: 7 };
  const settings = { requestTimeoutSeconds: 2, concurrency: 40 };
  const { rbm, carrier } = await connected({ ...troubles, ...late, ...fast }, settings);
  const client = await receive(rbm.secrets.clientToken);
  expect(await rbm.setCallback(client.url)).toBe(true);

  const messages = Array.from({ length: 400 }, (_, index) =>
    submission({ messageId: crypto.randomUUID(), destination: `+35191${String(2_000_000 + index)}` }),
  );
  const slots = createSlots(settings.concurrency);
  const outcomes = await Promise.all(messages.map((message) => slots.run(() => deliver(carrier, message))));
  expect(outcomes.filter(({ kind }) => kind !== 'accepted' && kind !== 'unknown')).toEqual([]);
  const taken = rbm.ledger.messages().filter(({ status }) => status === 'OK');
  const ids = taken.map(({ messageId }) => messageId);
  expect(new Set(ids).size).toBe(ids.length);
  // A message in doubt may have been taken: its last request may have been too late, on a busy machine.
  const sure = messages.filter((_, index) => outcomes[index]?.kind === 'accepted');
  expect(sure.filter(({ messageId }) => !ids.includes(messageId))).toEqual([]);
  expect(sure.length).toBeGreaterThan(300);
  expect(rbm.ledger.counts().repeats).toBeGreaterThan(0);

  await until(() => rbm.waiting() === 0);
  const told = new Set(client.receipts.flatMap(({ carrierIds }) => carrierIds));
  expect(ids.filter((id) => !told.has(id))).toEqual([]);
  expect(client.receipts.length).toBeGreaterThan(ids.length);
  expect(client.refused()).toBe(0);
});
