import { execFile } from 'node:child_process';
import { copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const modules = join(root, 'node_modules');

/**
 * Creates a folder outside of the repository with the packed client in its node_modules. Writes nothing to the
 * repository.
 */
async function installed(): Promise<string> {
  const folder = await temporaryFolder('heliograph-test-client-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const [source, home] = [join(folder, 'source'), join(folder, 'node_modules', '@heliograph')];
  await mkdir(source);
  await mkdir(home, { recursive: true });
  await run(process.execPath, [join(root, 'scripts', 'build-client.ts'), join(source, 'dist')]);
  for (const file of ['package.json', 'README.md']) await copyFile(join(root, 'client', file), join(source, file));
  const { stdout } = await run('npm', ['pack', '--offline', '--json', '--pack-destination', folder], { cwd: source });
  const [{ filename }] = JSON.parse(stdout);
  await run('tar', ['-xzf', join(folder, filename), '-C', home]);
  await run('mv', [join(home, 'package'), join(home, 'client')]);
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers'])
    await symlink(join(modules, name), join(folder, 'node_modules', name));
  return folder;
}

const PROGRAM = `
import { createHeliograph, HeliographError, verifyWebhook, WebhookError } from '@heliograph/client';
const heliograph = createHeliograph({ baseUrl: 'http://127.0.0.1:9', apiKey: 'x', retries: 0 });
const failure = await heliograph.get('/api/partner-gateway/v1/contacts').catch((error) => error);
const refused = await verifyWebhook({}, '{}', 'whsec_AAAA').catch((error) => error);
console.log(failure instanceof HeliographError, refused instanceof WebhookError);
`;

const TYPED = `
import { createHeliograph, type Item, verifyWebhook } from '@heliograph/client';
const heliograph = createHeliograph({ baseUrl: '', username: 'a', password: 'b' });
const CONTACTS = '/api/partner-gateway/v1/contacts';

const sent = await heliograph.post('/api/message-server/sms/send', { body: { phoneNumber: '+39', message: 'x' } });
export const id: string | null = sent.messageId;
const page = await heliograph.get(CONTACTS);
export const total: number = page.total;
export const gone: undefined = await heliograph.delete('/api/partner-gateway/v1/messages/{messageId}', {
  params: { path: { messageId: 'x' } },
});
export const names: string[] = [];
for await (const contact of heliograph.each(CONTACTS, { params: { query: { search: 'x' } } })) names.push(contact.name);
type Recipient = Item<'/api/partner-gateway/v1/campaigns/{id}/recipients'>;
export const numberOf = (recipient: Recipient): string => recipient.phoneNumber;
const event = await verifyWebhook(new Headers(), '', '');
if (event.eventType === 'INBOUND') names.push(event.text);
else if (event.eventType === undefined) names.push(event.status);
else names.push(event.messageId);
await heliograph.post(CONTACTS + '/upload' as '/api/partner-gateway/v1/contacts/upload', { body: { file: new Blob() } });

// @ts-expect-error a path that is not there
await heliograph.get('/api/partner-gateway/v1/nothing');
// @ts-expect-error a path with a parameter needs it
await heliograph.get('/api/partner-gateway/v1/contacts/{id}');
// @ts-expect-error a number is a text
await heliograph.post('/api/message-server/sms/send', { body: { phoneNumber: 39, message: 'x' } });
// @ts-expect-error a filter that is not there
await heliograph.get(CONTACTS, { params: { query: { serch: 'x' } } });
// @ts-expect-error a contact is no list
heliograph.each('/api/partner-gateway/v1/contacts/{id}');
// @ts-expect-error the history wants a channel and a time
heliograph.each('/api/partner-gateway/v1/messages/history');
// @ts-expect-error pages are counted by each()
heliograph.each(CONTACTS, { params: { query: { page: 1 } } });
// @ts-expect-error a read event has no text
if (event.eventType === 'READ') names.push(event.text);
// @ts-expect-error credentials are required
createHeliograph({ baseUrl: '' });
`;

const STRICT = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable', '--types', ''];

test('runs the packed client with plain Node, and compiles against its types', async () => {
  const folder = await installed();
  await writeFile(join(folder, 'main.mjs'), PROGRAM);
  const plain = await run(process.execPath, ['--no-strip-types', join(folder, 'main.mjs')]);
  expect(plain.stdout).toBe('true true\n');

  await writeFile(join(folder, 'typed.mts'), TYPED);
  const tsc = join(modules, '.bin', 'tsc');
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    const options = [...STRICT, '--module', module, '--moduleResolution', resolution];
    const compiled = await run(tsc, [...options, 'typed.mts'], { cwd: folder }).catch((error: unknown) => error);
    expect(Object(compiled).stdout).toBe('');
  }
});
