import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { insertSender } from '../routing/senders.ts';
import { checkTemplate } from './change.ts';
import * as db from './store.ts';
import { createResolver, listTemplateVariables } from './store.ts';
import { receiveTemplateChanges } from './sync.ts';

const { pool } = testDatabase();

const noFollower = () => Promise.resolve();

let ours: number;
let theirs: number;
let connectionId: number;
let otherConnection: number;
beforeAll(async () => {
  ours = (await createAccount(pool, { name: 'Ours', plan: 'unlimited' })).accountId;
  theirs = (await createAccount(pool, { name: 'Theirs', plan: 'unlimited' })).accountId;
  const connect = async (name: string) =>
    (await insertConnection(pool, { name, kind: 'whatsapp', sandbox: false, settings: {} }))?.id ?? 0;
  connectionId = await connect('one');
  otherConnection = await connect('two');
  const sender = { channel: 'WHATSAPP', name: '', ownerId: ours } as const;
  await insertSender(pool, { ...sender, identity: '106', connectionId });
  await insertSender(pool, { ...sender, identity: '107', connectionId: otherConnection });
});
beforeEach(() => reset(pool, sql`TRUNCATE template`));

const BODY = [{ type: 'BODY', text: 'Hello {{1}}' }];
const add = (more: Partial<db.NewTemplate> = {}): Promise<boolean> =>
  db.insertTemplate(pool, {
    channel: 'WHATSAPP',
    id: '900',
    ownerId: ours,
    connectionId,
    name: 'offer',
    language: 'en',
    category: 'UTILITY',
    status: 'APPROVED',
    content: BODY,
    headerLink: null,
    named: false,
    variables: ['firstName|friend'],
    ...more,
  });
const RCS = { channel: 'RCS', connectionId: null, language: '', named: true } as const;

const fields = new Set(['firstName', 'city']);
const check = (more: Partial<Parameters<typeof checkTemplate>[1]> = {}) =>
  checkTemplate(pool, { accountId: ours, channel: 'WHATSAPP', templateId: '900', sender: '106', fields, ...more });

test('an approved template of this business account with contact fields may be sent', async () => {
  await add();
  expect(await check()).toEqual([]);
  expect(await check({ sender: null })).toEqual([]);
});

test('for another account, the template does not exist', async () => {
  await add();
  expect(await check({ accountId: theirs })).toEqual(['there is no template 900']);
  expect(await check({ templateId: '901' })).toEqual(['there is no template 901']);
  expect(await check({ channel: 'RCS' })).toEqual(['there is no template 900']);
});

test('each problem has its own sentence', async () => {
  await add({ status: 'APPROVED', variables: ['planet'] });
  await receiveTemplateChanges({ pool, onTemplatesChange: noFollower }, connectionId, [
    { id: '900', status: 'PAUSED', reason: 'FIRST_PAUSE', quality: null },
  ]);
  expect(await check({ sender: '107' })).toEqual([
    'the template offer is PAUSED (FIRST_PAUSE), not APPROVED',
    'the template does not belong to the business account of this phone number',
    "the template's variable planet is not a contact field",
  ]);
});

test('a new quality leaves the status and its reason as they are, also when both come in one callback', async () => {
  await add();
  const receive = (...changes: Parameters<typeof receiveTemplateChanges>[2][number][]) =>
    receiveTemplateChanges({ pool, onTemplatesChange: noFollower }, connectionId, changes);
  const rated = { id: '900', status: null, reason: null, quality: 'RED' };
  await receive({ id: '900', status: 'PAUSED', reason: 'FIRST_PAUSE', quality: null }, rated);
  expect(await find('900')).toMatchObject({ status: 'PAUSED', reason: 'FIRST_PAUSE', quality: 'RED' });
  await receive({ ...rated, quality: 'YELLOW' });
  expect(await find('900')).toMatchObject({ status: 'PAUSED', reason: 'FIRST_PAUSE', quality: 'YELLOW' });
});

test('a template cannot be sent without a field for each placeholder, or with a header that nothing fills', async () => {
  const header = [{ type: 'HEADER', format: 'IMAGE' }, ...BODY];
  await add({ variables: [], content: header });
  expect(await check()).toEqual([
    expect.stringContaining('has 1 placeholders (1) and 0 variables'),
    expect.stringContaining('headerLink'),
  ]);
  await add({ id: '901', variables: [], content: [{ type: 'HEADER', format: 'LOCATION' }] });
  expect(await check({ templateId: '901' })).toEqual([expect.stringContaining('location')]);
});

test('a callback about another business account changes nothing', async () => {
  await add();
  await receiveTemplateChanges({ pool, onTemplatesChange: noFollower }, otherConnection, [
    { id: '900', status: 'DISABLED', reason: null, quality: 'RED' },
  ]);
  expect(await check()).toEqual([]);
});

test('a campaign gets each variable that its messages need once', async () => {
  await add({ ...RCS, id: 'r', content: { text: '{{a}} {{b}} {{c}}' }, variables: ['city', 'firstName|x', 'city'] });
  const variables = (accountId: number) => listTemplateVariables(pool, { accountId, channel: 'RCS', templateId: 'r' });
  expect(await variables(ours)).toEqual(['city', 'firstName|x']);
  expect(await variables(theirs)).toBeUndefined();
});

test('stored values are composed into the content; a complete content is unchanged', async () => {
  await add();
  await add({ ...RCS, id: 'r', ownerId: null, content: { text: 'Hi {{name}}' }, variables: ['firstName'] });
  const sale = { content: { text: 'Sale' }, variables: [], trafficType: 'PROMOTION' } as const;
  await add({ ...RCS, id: 's', ownerId: null, ...sale });
  const { load, resolve } = createResolver(pool);
  const whatsapp = { template: '900', channel: 'WHATSAPP', values: { 'firstName|friend': 'Ana' } } as const;
  const rcs = { template: 'r', channel: 'RCS', values: { firstName: 'Ana' } } as const;
  const whole = { channel: 'RCS', message: { text: 'Hi' } } as const;
  const sold = { template: 's', channel: 'RCS', values: {} } as const;
  await load([whatsapp, rcs, sold, whole].map((content) => ({ accountId: ours, content })));
  expect(resolve(ours, whatsapp)?.message).toMatchObject({
    template: { name: 'offer', components: [{ type: 'body', parameters: [{ type: 'text', text: 'Ana' }] }] },
  });
  expect(resolve(theirs, rcs)).toEqual({ channel: 'RCS', message: { text: 'Hi Ana' } });
  expect(resolve(ours, sold)).toEqual({ channel: 'RCS', message: { text: 'Sale' }, trafficType: 'PROMOTION' });
  expect(resolve(ours, { ...sold, trafficType: 'TRANSACTION' })).toMatchObject({ trafficType: 'TRANSACTION' });
  expect(resolve(ours, whole)).toBe(whole);
});

test.each([
  ["is another account's", { ownerId: 'theirs' }],
  ['is paused', { status: 'PAUSED' }],
  ['wants a value that the message has not', { variables: ['city'] }],
  ['is gone', { id: '999' }],
])('a message whose template %s cannot be sent', async (_, { ownerId, ...more }: Record<string, unknown>) => {
  await add({ ...(more as Partial<db.NewTemplate>), ...(ownerId ? { ownerId: theirs } : {}) });
  const content = { template: '900', channel: 'WHATSAPP', values: { 'firstName|friend': 'Ana' } } as const;
  const { load, resolve } = createResolver(pool);
  await load([{ accountId: ours, content }]);
  expect(resolve(ours, content)).toBeNull();
});

test('a page lists own and shared templates by name, and counts them all', async () => {
  await add({ id: '1', name: 'c' });
  await add({ id: '2', name: 'a', ownerId: null, status: 'PENDING' });
  await add({ id: '3', name: 'b', ownerId: theirs });
  await add({ id: '4', name: 'd', status: 'DELETED' });
  const list = async (more: Partial<db.TemplateFilter> = {}, limit = 10) => {
    const filter = { accountId: ours, channel: 'WHATSAPP', status: null, search: null, ...more } as const;
    const rows = await db.listUsableTemplates(pool, filter, { limit, offset: 0 });
    return [rows.map(({ name }) => name).join(''), await db.countUsableTemplates(pool, filter)];
  };
  expect(await list()).toEqual(['ac', 2]);
  expect(await list({}, 1)).toEqual(['a', 2]);
  expect(await list({ status: 'PENDING' })).toEqual(['a', 1]);
  expect(await list({ status: 'DELETED' })).toEqual(['d', 1]);
  expect(await list({ search: 'C' })).toEqual(['c', 1]);
  expect(await db.countOwnTemplates(pool, { accountId: ours, channel: 'WHATSAPP' })).toBe(2);
});

test('a name finds the own template of a business account before the shared one', async () => {
  await add({ id: '1', ownerId: null });
  const find = async (name = 'offer', of = connectionId) =>
    (await db.findUsableTemplateByName(pool, { accountId: ours, connectionId: of, name, language: 'en' }))?.id;
  expect(await find()).toBe('1');
  await add({ id: '2' });
  expect(await find()).toBe('2');
  expect([await find('other'), await find('offer', otherConnection)]).toEqual([undefined, undefined]);
});

test('the second wall: an account reads its own and the shared templates, and writes only its own', async () => {
  await add({ id: '1' });
  await add({ id: '2', ownerId: theirs });
  await add({ id: '3', ownerId: null });
  const mine = tenant(pool, { accountId: ours });
  const rows = await mine.query<{ id: string }>({ text: 'SELECT id FROM template ORDER BY id', values: [] });
  expect(rows.rows.map(({ id }) => id)).toEqual(['1', '3']);
  const change = await mine.query({ text: `UPDATE template SET name = 'mine'`, values: [] });
  expect(change.rowCount).toBe(1);
  const gone = await mine.query({ text: 'DELETE FROM template', values: [] });
  expect(gone.rowCount).toBe(1);
  const common = `INSERT INTO template (channel, id, name, status, content) VALUES ('RCS', 'x', 'x', 'APPROVED', '{}')`;
  await expect(mine.query({ text: common, values: [] })).rejects.toThrow('row-level security');
});

const seen = (id: string, more: Partial<db.SyncedTemplate> = {}): db.SyncedTemplate => ({
  id,
  name: 'seen',
  language: 'en',
  category: 'UTILITY',
  status: 'APPROVED',
  reason: null,
  quality: 'UNKNOWN',
  content: BODY,
  named: false,
  variables: [],
  ...more,
});
const store = (...list: db.SyncedTemplate[]) =>
  db.insertSyncedTemplates(pool, { connectionId, ownerId: null, seen: list });
const find = (id: string) => db.findUsableTemplate(pool, { accountId: ours, channel: 'WHATSAPP', id });

test('the network’s list adds and changes templates, and keeps owners and what the account decides', async () => {
  await add({ headerLink: 'https://x.example/a.jpg' });
  expect(await store(seen('900', { status: 'REJECTED', reason: 'SCAM' }), seen('901'))).toEqual(['900', '901']);
  expect(await find('900')).toMatchObject({ ownerId: ours, status: 'REJECTED', reason: 'SCAM', name: 'seen' });
  expect(await find('900')).toMatchObject({ headerLink: 'https://x.example/a.jpg', variables: ['firstName|friend'] });
  expect(await find('901')).toMatchObject({ ownerId: null, connectionId });
  expect(await store(seen('900', { status: 'REJECTED', reason: 'SCAM' }), seen('901'))).toEqual([]);
});

test('templates that the network no longer has become DELETED, except those made after it was asked', async () => {
  await add({ id: '1' });
  await exec(pool, sql`UPDATE template SET created_at = now() - interval '1 second'`);
  const before = await db.findDatabaseTime(pool);
  await add({ id: '2' });
  await add({ id: '3', connectionId: otherConnection });
  expect(await db.moveTemplatesToDeleted(pool, { connectionId, present: ['9'], before })).toEqual(['1']);
  expect(await Promise.all(['1', '2', '3'].map(async (id) => (await find(id))?.status))).toEqual([
    'DELETED',
    'APPROVED',
    'APPROVED',
  ]);
  expect((await db.listTemplatesOfConnection(pool, { connectionId })).map(({ id }) => id)).toEqual(['2']);
});

test('only its owner changes or deletes a template', async () => {
  await add();
  const move = (accountId: number) =>
    db.updateTemplate(pool, { accountId, channel: 'WHATSAPP', id: '900', variables: ['city'], headerLink: null });
  expect([await move(theirs), await move(ours)]).toEqual([false, true]);
  expect(await find('900')).toMatchObject({ variables: ['city'], status: 'APPROVED' });
  const remove = (accountId: number) => db.deleteTemplate(pool, { accountId, channel: 'WHATSAPP', id: '900' });
  expect([await remove(theirs), await remove(ours)]).toEqual([false, true]);
});

test('shared templates are deleted by id, and those of accounts stay', async () => {
  await add({ id: '1', ownerId: null });
  await add({ id: '2' });
  expect(await db.deleteCommonTemplates(pool, { ids: ['1', '2'] })).toBe(1);
});

test('the templates of a business account move to its new owner, and those of others stay', async () => {
  await add({ id: '1', ownerId: null });
  await add({ id: '2' });
  expect(await db.updateTemplatesOwner(pool, { connectionId, from: null, to: theirs })).toBe(1);
  expect(await find('1')).toBeUndefined();
});
