import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from '../../src/platform/config.ts';
import { loadSecretKey } from '../../src/platform/secret-key.ts';
import { createLinkSigner, type LinkTarget } from '../../src/platform/storage/signed-links.ts';
import { until } from '../../test/support/until.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { mutate } from './mutate.ts';
import { type Findings, judge, type Mode, oneOf, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Account, type Stage } from '../lib/stage.ts';
import { uploadPicture } from '../tenants/things.ts';

const MUTATIONS: Readonly<Record<Mode, number>> = { tiny: 300, quick: 4000, full: 20_000 };
const FILES: Readonly<Record<Mode, number>> = { tiny: 2, quick: 5, full: 20 };
const CONCURRENCY = 8;
const PG = '/api/partner-gateway/v1';

export const links: Proof = {
  promise: 'A link opens one file until it expires or is revoked, and no other link can be derived from it.',
  sabotage: {
    fault: 'the signature covers the path alone',
    file: new URL('../sabotage/links.ts', import.meta.url),
    breaks: ['no mutation of a link is served'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await using stage = await openStage(run, { gateway: 'serve' });
  const owner = await stage.newAccount({ plan: 'unlimited' });
  const stranger = await stage.newAccount({ plan: 'unlimited' });
  const files = await makeFiles(run, owner, stage);
  const others = [...files, ...(await makeFiles(run, stranger, stage))].flatMap((file) => file.links);
  const follow = followerOf(stage);
  const own = files.flatMap((file) => file.links);
  const validServed = await countServed(follow, own);
  const mutationsServed = await tryMutations(run, follow, own, others);
  const edges = await watchExpiry(stage, follow, files);
  const endedServed = await tryEnded(follow, files);
  return judge(
    {
      links: own.length,
      validServed,
      mutations: MUTATIONS[run.mode],
      mutationsServed,
      ...edges,
      endedServed,
    },
    {
      'every valid link is served': validServed === own.length,
      'no mutation of a link is served': mutationsServed === 0,
      'a link is served until a second before it expires, and not from a second after':
        edges.early === 0 && edges.late === 0,
      'no link is served once it is revoked or its file is deleted': endedServed === 0,
    },
  );
}

/** A file, how to end its links, and the links: paths with their queries. */
type File = {
  readonly links: readonly string[];
  readonly target: LinkTarget;
  readonly path: string;
  end(): Promise<unknown>;
};
type Follow = (link: string, method?: string) => Promise<number>;

/** Returns a function that requests a link without credentials, and resolves with the status. */
function followerOf(stage: Stage): Follow {
  const origin = String(stage.gateway.ready['address']);
  return async (link, method = 'GET') => {
    const response = await fetch(origin + link, { method, redirect: 'manual' });
    await response.arrayBuffer();
    return response.status;
  };
}

const isServed = (status: number): boolean => status < 300;

async function countServed(follow: Follow, paths: readonly string[]): Promise<number> {
  const statuses = await Promise.all(paths.map((path) => follow(path)));
  return statuses.filter(isServed).length;
}

async function makeFiles(run: Run, account: Account, stage: Stage): Promise<File[]> {
  const files = [await makeExport(account)];
  for (let i = 0; i < FILES[run.mode]; i++) files.push(await makePicture(account, stage));
  return files;
}

const withoutOrigin = (url: unknown): string => {
  const { pathname, search } = new URL(String(url));
  return pathname + search;
};

async function makePicture({ client, accountId }: Account, { pool }: Stage): Promise<File> {
  const id = Number(await uploadPicture({ client, accountId, token: 'links', pool, things: new Map() }));
  const { body } = await client.request('GET', `${PG}/media/${id}`);
  const both = [fieldOf(body, 'url'), fieldOf(body, 'thumbnailUrl')].map(withoutOrigin);
  const path = String(both[0]?.split('?', 1)[0]);
  const target: LinkTarget = { kind: 'media', accountId, id: path.split('/').at(-1) ?? '', version: 1 };
  const ends = [
    () => client.request('POST', `${PG}/media/${id}/revoke-links`),
    () => client.request('DELETE', `${PG}/media/${id}`),
  ];
  return { links: both, path, target, end: ends[id % 2] ?? (() => Promise.resolve()) };
}

async function makeExport({ client, accountId }: Account): Promise<File> {
  const { body } = await client.request('POST', `${PG}/exports/contacts`, { body: {} });
  const id = String(fieldOf(body, 'exportId'));
  const findUrl = async (): Promise<string | undefined> => {
    const url = fieldOf((await client.request('GET', `${PG}/exports/${id}`)).body, 'downloadUrl');
    return typeof url === 'string' ? url : undefined;
  };
  const url = await until('the export', findUrl);
  const link = withoutOrigin(url);
  const path = String(link.split('?', 1)[0]);
  const version = Number(new URLSearchParams(link.split('?')[1]).get('version'));
  const target: LinkTarget = { kind: 'export', accountId, id, version };
  return { links: [link], path, target, end: () => client.request('DELETE', `${PG}/exports/${id}`) };
}

const fieldOf = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;

/** Requests mutated links; returns how many were served. */
async function tryMutations(
  run: Run,
  follow: Follow,
  own: readonly string[],
  others: readonly string[],
): Promise<number> {
  const report = createFaultLog(run);
  let [left, served] = [MUTATIONS[run.mode], 0];
  async function work(): Promise<void> {
    while (left-- > 0) {
      const mutation = mutate(run, oneOf(run, own), others);
      const status = await follow(mutation, run.random.chance(0.1) ? 'HEAD' : 'GET');
      if (isServed(status)) {
        served++;
        report('served', `${mutation} answers ${status}`);
      }
      if (left > 0 && left % 2000 === 0) run.log(`${left} mutations to go`);
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return served;
}

const LIFETIME_MS = 4000;

/** Signs links that expire during the run, with the program's key, and checks both sides of their expiry. */
async function watchExpiry({ environment }: Stage, follow: Follow, files: readonly File[]) {
  const { sign } = createLinkSigner(await loadSecretKey(loadConfig(environment)));
  const end = Math.floor((Date.now() + LIFETIME_MS) / 1000) * 1000;
  const ending = files.map(({ path, target }) => `${path}?${sign(target, new Date(end))}`);
  const gone = files.map(({ path, target }) => `${path}?${sign(target, new Date(Date.now() - 1000))}`);
  const early = await countServed(follow, ending);
  const inTime = Date.now() <= end - 1000;
  await delay(Math.max(0, end + 1000 - Date.now()));
  const late = (await countServed(follow, ending)) + (await countServed(follow, gone));
  // If the links were answered too late on a slow machine, the check before their expiry is skipped.
  return { early: inTime ? ending.length - early : 0, late };
}

/** Deletes the files or revokes their links; returns how many links are still served. */
async function tryEnded(follow: Follow, files: readonly File[]): Promise<number> {
  await Promise.all(files.map((file) => file.end()));
  return countServed(
    follow,
    files.flatMap((file) => file.links),
  );
}
