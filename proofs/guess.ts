import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../test/support/client.ts';
import { between, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './proof.ts';
import { type Account, openStage } from './stage.ts';

type Size = { readonly guesses: number; readonly addresses: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { guesses: 2_000, addresses: 200 },
  quick: { guesses: 10_000, addresses: 1_000 },
  full: { guesses: 100_000, addresses: 1_000 },
};
const GUESSERS = 64;
const OWNER_EVERY_MS = 50;
const KEYS = '/api/partner-gateway/v1/authentication?limit=1';
const SESSION = '/api/partner-gateway/v1/session';
/** The gateway takes this machine for a proxy, so that every address can be played from here. */
const PROXY = '127.0.0.1';
const OWNERS_ADDRESS = '198.51.100.7';
/** Strangers have 20 tries a minute, and 10 more where a process has not heard yet of what the other one let through. */
const TRIES_IN_HALF_A_MINUTE = 30;

export const guess: Proof = {
  promise: 'Guessing passwords gets nowhere, and locks nobody out.',
  sabotage: {
    fault: "the limit is the user's, wherever the request comes from",
    file: new URL('./sabotage/guess.ts', import.meta.url),
  },
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

  // The owner was here before, on one of the processes.
  const { username, password } = owner;
  const first = await login(username, password, OWNERS_ADDRESS);
  const counts = { tries: 0, refused: 0, busy: 0, hits: 0, other: 0, triesAtNobody: 0 };
  const start = performance.now();
  let attacking = true;
  const owning = comeInAgainAndAgain(
    () => oneOf(run, [login, signIn])(username, password, OWNERS_ADDRESS),
    owner,
    () => attacking,
  );
  let next = 0;
  // Their list holds the right word, once. Not in the smallest run, where one in a hundred would find it by luck.
  const lucky = run.mode === 'tiny' ? -1 : between(run, Math.floor(guesses / 2), guesses - 1);
  const guesser = async (): Promise<void> => {
    for (let n = next++; n < guesses; n = next++) {
      const name = n === lucky || n % 2 === 0 ? username : 'nobody';
      const guessIt = oneOf(run, [login, signIn]);
      const { status } = await guessIt(name, n === lucky ? password : `word ${n}`, addressOf(n % addresses));
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
  const most = Math.max(seconds, TRIES_IN_HALF_A_MINUTE);
  const figures = { guesses, addresses, attackSeconds: Math.round(seconds), ...counts, ...owned };
  return judge(figures, {
    'no guess was right': counts.hits === 0,
    'strangers have at most one try a second at a user, over half a minute or more': counts.tries <= most,
    'a user who does not exist is no easier and no harder to guess':
      counts.triesAtNobody <= most && counts.triesAtNobody > 0,
    'every other guess was refused unread': counts.other === 0 && counts.refused > 0,
    'the owner came in every time': first.status === 200 && owned.ownerLogins > 0 && owned.ownerRefused === 0,
    'keys went on working': owned.keyCalls > 0 && owned.keyRefused === 0,
  });
}

/** The owner's program, which sends the password with every request or signs in with it, and another one with a key. */
async function comeInAgainAndAgain(
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
    await delay(OWNER_EVERY_MS);
  }
  return counts;
}

const addressOf = (n: number): string => `203.0.${113 + (n >> 8)}.${n & 255}`;

const proxied = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });

/** As our own page signs people in. */
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
