import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { systemAuthor } from '../accounts/audit.ts';
import { silentLog } from '../core/log.ts';
import { createSecretKey } from '../core/secrets.ts';
import { KEYWORD_RULES } from '../messages/keyword-routes.ts';
import { keywordReply } from '../messages/keywords.ts';
import { threadAnswers } from './reply.ts';

const INBOX = '/api/partner-gateway/v1/inbox';
const PERSON = '393333100001';
const COLLEAGUE = '+393333100002';

let inbox: TestInbox;
beforeAll(async () => {
  inbox = await openTestInbox();
});
afterAll(() => inbox[Symbol.asyncDispose]());

async function get(path: string) {
  const answer = await inbox.app.inject({ url: `${INBOX}${path}`, headers: { 'x-api-key': inbox.account.apiKey } });
  return answer.json();
}

const carryOut = () => {
  const { accept, pool } = inbox.deps;
  const poster = { post: () => Promise.reject(new Error('nothing is posted')) };
  const deps = { pool, accept, poster, secretKey: createSecretKey(Buffer.alloc(32, 5)), log: silentLog };
  return runJobs(pool, keywordReply.using({ ...deps, onAnswer: threadAnswers }));
};

test('what a keyword answered is in the thread of the person, a copy to a colleague in none', async () => {
  const { accountId } = inbox.account;
  const texts = { keyword: 'hours', answer: 'We open at 8', forwardTo: COLLEAGUE };
  const rule = { ...texts, number: null, purpose: 'service', fault: null, faultAt: null } as const;
  await KEYWORD_RULES.add(inbox.deps.pool, systemAuthor(accountId), rule);
  await inbox.write('Hours?', { from: PERSON });
  expect(await carryOut()).toBe(2);
  const { data: conversations } = await get('/conversations');
  expect(conversations).toMatchObject([
    { channelIdentity: '4400', unreadCount: 1, lastMessage: { text: 'We open at 8', direction: 'OUTBOUND' } },
  ]);
  expect(await get(`/conversations/${conversations[0].chatId}/messages`)).toMatchObject([
    { direction: 'INBOUND', text: 'Hours?' },
    { direction: 'OUTBOUND', text: 'We open at 8', deliveryStatus: 'ACCEPTED' },
  ]);
});
