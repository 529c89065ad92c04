import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { actor, draft } from '../../test/support/drafts.ts';
import { type InboundText, openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { runJobs } from '../../test/support/jobs.ts';
import type { Channel, Purpose } from '../core/channels.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { consentAnswer } from './consent-answers.ts';

const PG = '/api/partner-gateway/v1';

let inbox: TestInbox;
let people = 0;
beforeAll(async () => {
  inbox = await openTestInbox();
});
afterAll(() => inbox[Symbol.asyncDispose]());
beforeEach(() => exec(inbox.database.pool, sql`DELETE FROM consent_settings`));

async function call(method: 'GET' | 'PUT' | 'POST', path: string, body?: object) {
  const answer = await inbox.app.inject({
    method,
    url: `${PG}${path}`,
    headers: { 'x-api-key': inbox.account.apiKey, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: answer.json() };
}
const set = (settings: object) => call('PUT', '/consent/settings', settings);
const nextPerson = (): string => `39333${5_000_000 + people++}`;
const answer = (deps: Partial<TestInbox['deps']> = {}) =>
  runJobs(inbox.database.pool, consentAnswer.using({ ...inbox.deps, ...deps }));
const sentTo = (person: string) =>
  many<{ sender: string; body: string; purpose: string }>(
    inbox.database.pool,
    sql`SELECT sender, body, purpose FROM message WHERE destination = ${`+${person}`} ORDER BY id`,
  );
const send = async (person: string, purpose: Purpose = 'marketing', channel: Channel = 'SMS') => {
  const content =
    channel === 'SMS' ? null : ({ channel: 'WHATSAPP', message: { type: 'text', text: { body: 'Hi' } } } as const);
  const verdict = await inbox.deps.accept.one(
    { ...actor(inbox.account.accountId), hasOptOuts: true },
    draft({ destination: `+${person}`, purpose, channel, content }),
  );
  return verdict.kind === 'refused' ? verdict.refusal : verdict.kind;
};

const TEXTS = [
  { to: 'STOP', language: '*', text: 'No more messages. START undoes it.' },
  { to: 'STOP', language: 'it', text: 'Nessun altro messaggio.' },
  { to: 'START', language: '*', text: 'Welcome back.' },
  { to: 'HELP', language: '*', text: 'Acme, +39 02 1234567' },
];

test('ten STOPs in a row are answered once, whatever fails and however many workers try', async () => {
  await set({ answers: TEXTS });
  const person = nextPerson();
  await Promise.all(Array.from({ length: 5 }, () => inbox.write('STOP', { from: person, to: '390212345678' })));
  const dying = { once: () => Promise.reject(new Error('the worker was killed')) };
  await answer({ accept: { ...inbox.deps.accept, ...dying } }).catch(() => undefined);
  for (let n = 0; n < 5; n++) await inbox.write('stop!', { from: person, to: '390212345678' });
  await exec(inbox.database.pool, sql`UPDATE job SET run_at = now()`);
  await Promise.all([answer(), answer(), answer()]);
  await answer();
  expect(await sentTo(person)).toEqual([
    { sender: '+390212345678', body: 'No more messages. START undoes it.', purpose: 'service' },
  ]);
  expect(await send(person, 'service')).toBe('opted_out');
});

test('an answer is in the language of the word, for each kind of word, and a service gets none', async () => {
  await set({ answers: TEXTS });
  const [anna, robot] = [nextPerson(), '4711'];
  for (const text of ['Basta, grazie', 'HELP', 'START', 'hello']) await inbox.write(text, { from: anna });
  await inbox.write('STOP', { from: robot });
  await answer();
  expect((await sentTo(anna)).map(({ body }) => body).sort()).toEqual(
    ['Acme, +39 02 1234567', 'Nessun altro messaggio.', 'Welcome back.'].sort(),
  );
  expect(await many(inbox.database.pool, sql`SELECT FROM message WHERE destination LIKE '%4711'`)).toEqual([]);
});

test('without answers in the settings a STOP opts out and gets no reply', async () => {
  const person = nextPerson();
  await inbox.write('STOP', { from: person });
  await answer();
  expect([await sentTo(person), await send(person)]).toEqual([[], 'opted_out']);
});

test('own words count at their sender alone', async () => {
  await set({ words: [{ says: 'STOP', word: 'Niente più', language: 'it', sender: '+390212345678' }] });
  const person = nextPerson();
  await inbox.write('niente più', { from: person, to: '390299999999' });
  expect(await send(person)).toBe('accepted');
  await inbox.write('NIENTE PIÙ!', { from: person, to: '390212345678' });
  expect(await send(person)).toBe('opted_out');
});

test.each([
  [{ words: [{ says: 'START', word: 'Stop', language: 'en' }] }, ['words.0.word']],
  [
    {
      words: [
        { says: 'STOP', word: 'via', language: 'it' },
        { says: 'HELP', word: 'VIA!', language: 'it' },
      ],
    },
    ['words.1.word'],
  ],
  [{ words: [{ says: 'STOP', word: '...', language: 'it' }] }, ['words.0.word']],
  [{ answers: [{ to: 'STOP', language: '*', text: 'Bye. Deals: https://shop.example.com' }] }, ['answers.0.text']],
])('settings such as %j are rejected and change nothing', async (settings, fields) => {
  const before = (await call('GET', '/consent/settings')).body;
  const { status, body } = await set(settings);
  expect([status, body.details.map(({ field }: { field: string }) => field)]).toEqual([400, fields]);
  expect((await call('GET', '/consent/settings')).body).toEqual(before);
});

const onWhatsapp = (person: string): InboundText => ({ from: person, to: '100', rich: {} });

test('a STOP ends marketing on all channels with revokeAll, and on its own alone without', async () => {
  const [all, one] = [nextPerson(), nextPerson()];
  await set({ revokeAll: true });
  await inbox.write('STOP', { from: all });
  await set({ revokeAll: false });
  await inbox.write('STOP', { from: one });
  const both = (person: string) =>
    Promise.all([send(person), send(person, 'marketing', 'WHATSAPP'), send(person, 'service', 'WHATSAPP')]);
  expect(await both(all)).toEqual(['opted_out', 'marketing_stopped', 'accepted']);
  expect(await both(one)).toEqual(['opted_out', 'accepted', 'accepted']);
});

test('with the scope of a sender, STOP and START hold for the sender that they were sent to', async () => {
  await set({ scope: 'sender' });
  const person = nextPerson();
  const sendFrom = async (sender: string) => {
    const by = { ...actor(inbox.account.accountId), hasOptOuts: true };
    return (await inbox.deps.accept.one(by, draft({ destination: `+${person}`, sender }))).kind;
  };
  await inbox.write('STOP', { from: person, to: '4400' });
  expect([await sendFrom('4400'), await sendFrom('4500')]).toEqual(['refused', 'accepted']);
  await inbox.write('START', { from: person, to: '4400' });
  expect(await sendFrom('4400')).toBe('accepted');
});

test('a wish in other words holds marketing until a user decides, and asks once', async () => {
  const [leaving, staying] = [nextPerson(), nextPerson()];
  for (const person of [leaving, leaving, staying])
    await inbox.write("Please don't text me any more", { from: person, to: '4400' });
  await inbox.write('When does the sale end?', { from: nextPerson() });
  expect([await send(leaving), await send(leaving, 'service')]).toEqual(['stop_suspected', 'accepted']);
  const open = (await call('GET', '/consents/suspected')).body;
  expect(open.map(({ to, text }: { to: string; text: string }) => [to, text])).toEqual(
    [leaving, staying].map((person) => [`+${person}`, "Please don't text me any more"]),
  );
  const decide = (n: number, decision: string) =>
    call('POST', `/consents/suspected/${open[n].messageId}`, { decision });
  expect([(await decide(0, 'OPT_OUT')).status, (await decide(1, 'DISMISS')).status]).toEqual([200, 200]);
  expect((await decide(1, 'OPT_OUT')).status).toBe(404);
  expect([await send(leaving), await send(staying)]).toEqual(['opted_out', 'accepted']);
  expect((await call('GET', '/consents/suspected')).body).toEqual([]);
});

test('a hold ends after 48 hours', async () => {
  const person = nextPerson();
  await inbox.write('Bitte keine Nachrichten mehr!', onWhatsapp(person));
  expect(await send(person, 'marketing', 'WHATSAPP')).toBe('stop_suspected');
  await exec(inbox.database.pool, sql`UPDATE suspected_opt_out SET since = now() - interval '49 hours'`);
  expect(await send(person, 'marketing', 'WHATSAPP')).toBe('accepted');
});
