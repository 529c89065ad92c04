import { expect, test } from 'vitest';
import { submission } from '../../../test/support/carriers/smpp-harness.ts';
import { bound } from '../../../test/support/carriers/whatsapp-harness.ts';
import type { Submission } from '../carrier.ts';
import type { OwnFile } from '../settings.ts';

const NUMBERS = ['100000000000001', '100000000000002'];
const PNG = Buffer.from('a picture');
const LINK = 'https://gateway.example/api/files/1';

/** A file whose copies are kept in memory; `reads` counts how often its content is read. */
function ownFile(more: Partial<OwnFile> = {}) {
  const copies = new Map<string, string>();
  const counts = { reads: 0 };
  const file: OwnFile = {
    key: '1/1',
    mimeType: 'image/png',
    name: 'a.png',
    read: async () => {
      counts.reads += 1;
      return PNG;
    },
    findCopy: async (sender) => copies.get(sender) ?? null,
    saveCopy: async ({ sender, networkId }) => void copies.set(sender, networkId),
    forgetCopy: async ({ sender }) => void copies.delete(sender),
    ...more,
  };
  return { file, copies, counts };
}

const message = { type: 'image', image: { link: LINK, caption: 'A' } };
const withFile = (file: OwnFile, sender = NUMBERS[0] ?? ''): Submission =>
  submission({ sender, content: { channel: 'WHATSAPP', message }, file });

const started = () => bound({ numbers: NUMBERS.map((id) => ({ id, displayNumber: `+${id}`, verifiedName: 'A' })) });

test('a file is uploaded once for each number, however many messages have it, and sent by its id', async () => {
  const { graph, carrier } = await started();
  const { file, copies, counts } = ownFile();
  await Promise.all([1, 2, 3].map(() => carrier.submit(withFile(file))));
  await carrier.submit(withFile(file, NUMBERS[1]));
  expect(counts.reads).toBe(2);
  const [first, second] = NUMBERS.map((sender) => copies.get(sender));
  expect(graph.ledger.messages().map(({ content }) => content)).toEqual(
    [first, first, first, second].map((id) => ({ id, caption: 'A' })),
  );
  expect(first).not.toBe(second);
});

test('a copy that another process has saved is used', async () => {
  const { graph, carrier } = await started();
  const { file, copies, counts } = ownFile();
  copies.set(NUMBERS[0] ?? '', graph.media.put({ bytes: PNG, mimeType: 'image/png' }));
  expect(await carrier.submit(withFile(file))).toMatchObject({ kind: 'accepted' });
  expect(counts.reads).toBe(0);
  expect(graph.ledger.messages()[0]?.content).toMatchObject({ id: copies.get(NUMBERS[0] ?? '') });
});

test('a copy that the network no longer has is forgotten: this message has the link, the next one a new copy', async () => {
  const { graph, carrier } = await started();
  const { file, copies } = ownFile();
  copies.set(NUMBERS[0] ?? '', '999');
  expect(await carrier.submit(withFile(file))).toMatchObject({ kind: 'accepted' });
  await carrier.submit(withFile(file));
  const taken = graph.ledger.messages().filter(({ code }) => code === 0);
  expect(taken.map(({ content }) => content)).toEqual([
    { link: LINK, caption: 'A' },
    { id: copies.get(NUMBERS[0] ?? ''), caption: 'A' },
  ]);
});

test.each([
  ['the network does not take', { mimeType: 'image/gif' }],
  ['cannot be read', { read: () => Promise.reject(new Error('gone')) }],
  ['cannot be looked up', { findCopy: () => Promise.reject(new Error('no database')) }],
])('a file that %s is sent by its link, and not tried for each message', async (_, more) => {
  const { graph, carrier } = await started();
  let tries = 0;
  const { file } = ownFile(more);
  const counted: OwnFile = { ...file, findCopy: (sender) => ((tries += 1), file.findCopy(sender)) };
  for (let n = 0; n < 3; n += 1) expect(await carrier.submit(withFile(counted))).toMatchObject({ kind: 'accepted' });
  expect(graph.ledger.messages().map(({ content }) => content)).toEqual(Array(3).fill(message.image));
  expect(tries).toBe(1);
});

test('a message that is refused for another reason is not sent twice', async () => {
  const { graph, carrier } = await started();
  const { file } = ownFile();
  graph.script.refuse = 131026;
  expect(await carrier.submit(withFile(file))).toMatchObject({ kind: 'refused', code: '131026' });
  expect(graph.ledger.messages()).toHaveLength(1);
});
