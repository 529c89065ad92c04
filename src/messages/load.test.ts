import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage } from '../../test/support/queue.ts';
import type { Resolver, StoredContent } from '../templates/content.ts';
import { loadJobs } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';

const { pool } = testDatabase();

async function load(messages: readonly Partial<NewMessage>[], resolver?: Resolver) {
  const stored = messages.map(newMessage);
  await insertMessages(pool, stored);
  const chunk = { id: 1, accountId: 1, priority: 0, round: 0, attempt: 0, tries: 0, alternates: [], intent: 0 };
  const ids = stored.map((message) => message.id);
  const [jobs] = await loadJobs(pool, [{ ...chunk, onUnknown: 'hold', campaignId: 9, ids }], resolver);
  return jobs ?? [];
}

const WHOLE: StoredContent = { channel: 'RCS', message: { text: 'Olá “tudo” \\u0000\n' } };
const TEMPLATE: StoredContent = { channel: 'WHATSAPP', template: '17', values: { 'firstName|friend': 'Ana' } };

test('a whole content goes to the carrier as it was stored, with channel and campaign', async () => {
  const rich = { channel: 'RCS', content: WHOLE, campaignId: 9, keepsReserve: true } as const;
  const [job, plain] = await load([rich, {}]);
  expect(job).toMatchObject(rich);
  expect(job?.refusal).toBeUndefined();
  expect(plain).toMatchObject({ channel: 'SMS', campaignId: null, keepsReserve: false });
  expect(plain && 'content' in plain).toBe(false);
});

test('templates are read once per batch and filled in for each message', async () => {
  const loaded: unknown[] = [];
  const message = { type: 'template' };
  const resolver: Resolver = {
    load: (wanted) => Promise.resolve(void loaded.push(wanted.map(({ accountId, content }) => [accountId, content]))),
    resolve: () => ({ channel: 'WHATSAPP', message }),
  };
  const template = { channel: 'WHATSAPP', content: TEMPLATE } as const;
  const jobs = await load([template, {}, template], resolver);
  expect(jobs.map((job) => job?.content)).toEqual([
    { channel: 'WHATSAPP', message },
    undefined,
    { channel: 'WHATSAPP', message },
  ]);
  expect(loaded).toEqual([
    [
      [1, TEMPLATE],
      [1, TEMPLATE],
    ],
  ]);
});

test('a template that may not be sent any more is refused as ERROR with the code TEMPLATE', async () => {
  const [job] = await load([{ channel: 'WHATSAPP', content: TEMPLATE }]);
  expect(job?.refusal).toMatchObject({ kind: 'refused', status: 'ERROR', code: 'TEMPLATE' });
  expect(job?.content).toBeUndefined();
});
