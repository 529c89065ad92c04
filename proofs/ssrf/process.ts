// Posts to every target of the corpus with the program's own poster: `node proofs/ssrf/process.ts <port> <stride>`,
// where tripwires listen at the port. Prints that it is ready, and then what it saw. Nothing leaves this machine. With a
// third argument, addresses are checked only when a name is resolved.

import { createHash } from 'node:crypto';
import { createGuard, createResolve, type Guard } from '../../src/core/outbound.ts';
import { createPoster, type Poster, type PostResult } from '../../src/core/outbound-post.ts';
import { findUrlFault } from '../../src/webhooks/urls.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { startNameServer } from '../../test/support/http/name-server.ts';
import { startReceiver } from '../../test/support/http/receiver.ts';
import { readCorpus } from './corpus.ts';
import { spyOnDialling } from './spy.ts';

const CONCURRENCY = 100;

const [port = 0, stride = 1] = process.argv.slice(2).map(Number);
const isFaulty = process.argv.length > 4;
const corpus = readCorpus(stride);
const dialled = new Set<string>();
spyOnDialling((address) => dialled.add(address));

/** The addresses that the name server returns for each name now. */
const zone = new Map<string, readonly string[]>();
await using nameServer = await startNameServer((name) => zone.get(name) ?? []);
const resolve = createResolve({ servers: [nameServer.address] });

async function forEachConcurrently<T>(items: readonly T[], work: (item: T, n: number) => Promise<void>): Promise<void> {
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [n, item] of left) await work(item, n);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

const withFault = (guard: Guard): Guard => (isFaulty ? { ...guard, isAllowed: () => true } : guard);
const post = (poster: Poster, url: string): Promise<PostResult> => poster.post({ url, headers: {}, body: '{}' });
const urlOf = (host: string): string => `https://${host.includes(':') ? `[${host}]` : host}:${port}/`;
const nameOf = (addresses: readonly unknown[]): string =>
  `${createHash('sha256').update(JSON.stringify(addresses)).digest('hex').slice(0, 16)}.test`;

/** Posts to targets that a tenant may name, with the default settings apart from the port. */
async function postToForeignTargets() {
  const guard = withFault(createGuard({ allowedBlocks: [], ports: [port], resolve }));
  const poster = createPoster({ guard });
  const counts = { answered: 0, flips: 0 };
  const expectNoAnswer = async (url: string): Promise<void> => {
    if ((await post(poster, url)).kind === 'answered') counts.answered++;
  };
  await forEachConcurrently(corpus.public, (address) => expectNoAnswer(urlOf(address)));
  const named = corpus.public.map((address) => [address]);
  for (const addresses of [...named, ...corpus.answers]) zone.set(nameOf(addresses), addresses);
  await forEachConcurrently(named, (addresses) => expectNoAnswer(urlOf(nameOf(addresses))));
  const reached = new Set(dialled);
  dialled.clear();

  await forEachConcurrently(corpus.urls, (url) => expectNoAnswer(url.replaceAll('{port}', String(port))));
  await forEachConcurrently(corpus.answers, (addresses) => expectNoAnswer(urlOf(nameOf(addresses))));
  // A name that is good when it is registered, and for some posts, and then leads elsewhere.
  await forEachConcurrently(corpus.flips, async (answers) => {
    const name = nameOf(answers);
    zone.set(name, answers[0] ?? []);
    if ((await findUrlFault(guard, urlOf(name))) === null) counts.flips++;
    for (const addresses of answers) {
      zone.set(name, addresses);
      await expectNoAnswer(urlOf(name));
    }
  });
  await poster.close();
  const known = new Set(corpus.public);
  return {
    ...counts,
    publicRefused: corpus.public.filter((address) => !reached.has(address)).length,
    hostileDialled: [...dialled].filter((address) => !known.has(address)).length,
  };
}

/** Posts to an allowed receiver that redirects to the tripwires, which would be allowed as well. */
async function postToRedirects() {
  await using receiver = await startReceiver();
  const guard = createGuard({ allowedBlocks: ['127.0.0.1'], ports: [receiver.port, port], resolve });
  const poster = createPoster({ guard, ca: TEST_CERT });
  receiver.answer(({ path }) => {
    const [status, location] = corpus.redirects[Number(path.slice(1))] ?? [200, ''];
    return { status, headers: { location: location.replaceAll('{port}', String(port)) } };
  });
  let seen = 0;
  await forEachConcurrently(corpus.redirects, async ([status], n) => {
    const result = await post(poster, `${receiver.url}/${n}`);
    if (result.kind === 'answered' && result.status === status) seen++;
  });
  await poster.close();
  return { redirectsSeen: seen };
}

console.log(JSON.stringify({ ready: true }));
console.log(JSON.stringify({ ...(await postToForeignTargets()), ...(await postToRedirects()) }));
