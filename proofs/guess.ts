import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../test/support/client.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { type Account, openStage } from './lib/stage.ts';

type Size = { readonly guesses: number; readonly addresses: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { guesses: 2_000, addresses: 200 },
  quick: { guesses: 10_000, addresses: 1_000 },
  full: { guesses: 100_000, addresses: 1_000 },
};
const GUESSERS = 64;
const OWNER_INTERVAL_MS = 50;
const KEYS = '/api/partner-gateway/v1/authentication?limit=1';
const SESSION = '/api/partner-gateway/v1/session';
/** The gateway treats this machine as a proxy, so that requests can claim any address. */
const PROXY = '127.0.0.1';
const OWNER_ADDRESS = '198.51.100.7';
/** Strangers have 20 tries a minute, and 10 more for processes that have not yet heard of each other's tries. */
const MAX_TRIES_PER_HALF_MINUTE = 30;

export const guess: Proof = {
  promise: 'Guessing passwords never succeeds, and locks nobody out.',
  sabotage: {
    fault: 'the limit is counted by user alone, wherever the request comes from',
    file: new URL('./sabotage/guess.ts', import.meta.url),
    breaks: ['the owner signed in every time'],
    mode: 'tiny',
  },
  timed: true,
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { guesses, addresses } = SIZES[run.mode];
  const environment = { TRUST_PROXY: PROXY };
  await using stage = await openStage(run, { gateway: 'api', environment });
  const processes = [stage.gateway, await stage.startApi()];
  const clients = processes.map((process) => createClient(() => String(process.ready['address']), ''));
  const owner = await stage.newAccount({ plan: 'unlimited' });
  const login = (username: string, password: string, address: string) =>
    oneOf(run, clients).request('GET', KEYS, { headers: asFrom(address, username, password) });
  const signIn = (username: string, password: string, address: string) =>
    oneOf(run, clients).request('POST', SESSION, { headers: atConsole(address), body: { username, password } });

  // The owner has signed in before, on one of the processes.
  const { username, password } = owner;
  const first = await login(username, password, OWNER_ADDRESS);
  const counts = { tries: 0, refused: 0, busy: 0, hits: 0, other: 0, triesAtNobody: 0 };
  const start = performance.now();
  let attacking = true;
  const owning = runOwner(
    () => oneOf(run, [login, signIn])(username, password, OWNER_ADDRESS),
    owner,
    () => attacking,
  );
  let next = 0;
  // The list of guesses holds the right password once. Not in the smallest run, where one run in a hundred would find
  // it by luck.
  const lucky = run.mode === 'tiny' ? -1 : between(run, Math.floor(guesses / 2), guesses - 1);
  const guesser = async (): Promise<void> => {
    for (let n = next++; n < guesses; n = next++) {
      const name = n === lucky || n % 2 === 0 ? username : 'nobody';
      const attempt = oneOf(run, [login, signIn]);
      const { status } = await attempt(name, n === lucky ? password : `guess ${n}`, addressOf(n % addresses));
      if (status === 200) counts.hits++;
      else if (status === 429) counts.refused++;
      else if (status === 503) counts.busy++;
      else if (status !== 401) counts.other++;
      else counts[name === username ? 'tries' : 'triesAtNobody']++;
    }
  };
  await Promise.all(Array.from({ length: GUESSERS }, guesser));
  const seconds = (performance.now() - start) / 1000;
  attacking = false;
  const owned = await owning;
  const maxTries = Math.max(seconds, MAX_TRIES_PER_HALF_MINUTE);
  const figures = { guesses, addresses, attackSeconds: Math.round(seconds), ...counts, ...owned };
  return judge(figures, {
    'no guess succeeded': counts.hits === 0,
    'strangers have at most one try per second and user, over half a minute or more': counts.tries <= maxTries,
    'a user who does not exist is limited in the same way':
      counts.triesAtNobody <= maxTries && counts.triesAtNobody > 0,
    'every other guess was refused unchecked': counts.other === 0 && counts.refused > 0,
    'the owner signed in every time': first.status === 200 && owned.ownerLogins > 0 && owned.ownerRefused === 0,
    'API keys kept working': owned.keyCalls > 0 && owned.keyRefused === 0,
  });
}

/** The owner's clients: one that signs in or sends the password with every request, and one that uses a key. */
async function runOwner(
  login: () => Promise<{ status: number }>,
  { client }: Account,
  attacked: () => boolean,
): Promise<{ ownerLogins: number; ownerRefused: number; keyCalls: number; keyRefused: number }> {
  const counts = { ownerLogins: 0, ownerRefused: 0, keyCalls: 0, keyRefused: 0 };
  while (attacked()) {
    counts.ownerLogins++;
    if ((await login()).status !== 200) counts.ownerRefused++;
    counts.keyCalls++;
    const { status } = await client.request('GET', KEYS, { headers: proxied(addressOf(0)) });
    if (status !== 200) counts.keyRefused++;
    await delay(OWNER_INTERVAL_MS);
  }
  return counts;
}

const addressOf = (n: number): string => `203.0.${113 + (n >> 8)}.${n & 255}`;

const proxied = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });

/** The headers that the console sends with a sign-in. */
const atConsole = (address: string) => ({
  ...proxied(address),
  'x-api-key': '',
  'x-heliograph-console': '1',
  'sec-fetch-site': 'same-origin',
});

const asFrom = (address: string, username: string, password: string) => ({
  ...proxied(address),
  'x-api-key': '',
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
});
