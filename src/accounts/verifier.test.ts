import { expect, test } from 'vitest';
import {
  type CallerClass,
  createPasswordVerifier,
  type Hasher,
  UNMATCHABLE_HASH,
  type VerifierOptions,
} from './password.ts';

/** A verifier over a counted fake in which the stored hash of a password p is `hash of p`. */
function counted(options: VerifierOptions = {}) {
  const calls: string[] = [];
  let running = 0;
  let most = 0;
  const matches = async (password: string, stored: string): Promise<boolean> => {
    calls.push(stored);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return stored === `hash of ${password}`;
  };
  return { calls, most: () => most, verify: verifierOf({ ...options, matches }) };
}

function verifierOf(options: VerifierOptions) {
  const verify = createPasswordVerifier(options);
  return (
    username: string,
    password: string,
    storedHash: string | undefined,
    caller: CallerClass = 'unknown',
    from = 'here',
  ) => verify({ username, password, storedHash, caller, from });
}

test('a right password is hashed once and then cached', async () => {
  const { verify, calls } = counted();
  expect(await verify('ada', 'secret', 'hash of secret')).toBe(true);
  expect(await verify('ada', 'secret', 'hash of secret')).toBe(true);
  expect(calls).toHaveLength(1);
});

test('a cached password is ignored once the stored hash has changed or the user is gone', async () => {
  const { verify, calls } = counted();
  await verify('ada', 'secret', 'hash of secret');
  expect(await verify('ada', 'secret', 'hash of changed')).toBe(false);
  expect(await verify('ada', 'secret', undefined)).toBe(false);
  expect(calls).toHaveLength(3);
});

test('a cached password counts only for its user, whatever characters both contain', async () => {
  const { verify, calls } = counted();
  await verify('a', 'b","c', 'hash of b","c');
  await verify('a","b', 'c', 'hash of b","c');
  expect(calls).toHaveLength(2);
});

test('a wrong password is never cached', async () => {
  const { verify, calls } = counted();
  expect(await verify('ada', 'wrong', 'hash of secret')).toBe(false);
  expect(await verify('ada', 'wrong', 'hash of secret')).toBe(false);
  expect(calls).toHaveLength(2);
});

test('an unknown user costs one hash, as a wrong password does', async () => {
  const { verify, calls } = counted();
  expect(await verify('nobody', 'secret', undefined)).toBe(false);
  expect(calls).toEqual([UNMATCHABLE_HASH]);
});

test('concurrent equal guesses are hashed once', async () => {
  const { verify, calls } = counted();
  const answers = await Promise.all(Array.from({ length: 64 }, () => verify('ada', 'secret', 'hash of secret')));
  expect(new Set(answers)).toEqual(new Set([true]));
  expect(calls).toHaveLength(1);
});

test('callers beyond the queue get 503, and the queue moves on', async () => {
  const { verify } = counted({ maxWaiting: 3 });
  const answers = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => verify(name, name, `hash of ${name}`)));
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
  expect(answers[3]).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 2 } });
  expect(await verify('d', 'd', 'hash of d')).toBe(true);
});

test('only the newest passwords are cached, up to the maximum', async () => {
  const { verify, calls } = counted({ maxRemembered: 2 });
  for (const name of ['a', 'b', 'c']) await verify(name, name, `hash of ${name}`);
  await verify('b', 'b', 'hash of b');
  await verify('c', 'c', 'hash of c');
  expect(calls).toHaveLength(3);
  await verify('a', 'a', 'hash of a');
  expect(calls).toHaveLength(4);
});

test('a cached password expires', async () => {
  const { verify, calls } = counted({ rememberMs: 0 });
  await verify('ada', 'secret', 'hash of secret');
  await verify('ada', 'secret', 'hash of secret');
  expect(calls).toHaveLength(2);
});

test('a failed hash fails its caller and frees its place', async () => {
  let broken = true;
  const matches = () => (broken ? Promise.reject(new Error('no memory')) : Promise.resolve(true));
  const verify = verifierOf({ maxWaiting: 1, matches });
  await expect(verify('ada', 'secret', 'h')).rejects.toThrow('no memory');
  broken = false;
  expect(await verify('ada', 'secret', 'h')).toBe(true);
});

test('a known caller goes first, and is served when the queue of unknown callers is full', async () => {
  const hashers: Hasher[] = [];
  const matches = async (_password: string, _stored: string, hasher: Hasher): Promise<boolean> => {
    hashers.push(hasher);
    await new Promise((resolve) => setImmediate(resolve));
    return true;
  };
  const verify = verifierOf({ maxWaiting: 1, matches });
  const answers = await Promise.allSettled([
    verify('a', 'a', 'h', 'unknown', 'there'),
    verify('b', 'b', 'h', 'unknown', 'elsewhere'),
    verify('c', 'c', 'h', 'known', 'home'),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(hashers).toEqual([
    { by: 'there', urgent: false },
    { by: 'home', urgent: true },
  ]);
});

test('onHash is called for each computed hash, and not for cached or shared ones', async () => {
  const verify = createPasswordVerifier({ matches: () => Promise.resolve(true) });
  let hashes = 0;
  const guess = {
    username: 'a',
    password: 'p',
    storedHash: 'h',
    caller: 'known',
    from: 'here',
    onHash: () => void hashes++,
  } as const;
  await Promise.all([verify(guess), verify(guess)]);
  await verify(guess);
  expect(hashes).toBe(1);
});

test('onGuess is called before a guess is checked, and networks share no hash', async () => {
  const { verify, calls } = counted();
  await Promise.all(['here', 'there', 'there'].map((from) => verify('a', 'p', 'hash of p', 'unknown', from)));
  expect(calls).toHaveLength(2);
  const announced: string[] = [];
  const remembering = createPasswordVerifier({ matches: () => Promise.resolve(true) });
  const guess = { username: 'a', password: 'p', storedHash: 'h', caller: 'unknown', from: 'here' } as const;
  await remembering(guess);
  await remembering({
    ...guess,
    onGuess: () => void announced.push('guess'),
    onHash: () => void announced.push('hash'),
  });
  expect(announced).toEqual(['guess']);
});

test('an error of onHash prevents the hash', async () => {
  const calls: string[] = [];
  const refusing = createPasswordVerifier({ matches: () => Promise.resolve(calls.push('computed') > 0) });
  const onHash = (): void => {
    throw new Error('spent');
  };
  const guess = { username: 'a', password: 'p', storedHash: 'h', caller: 'unknown', from: 'here', onHash } as const;
  await expect(refusing(guess)).rejects.toThrow('spent');
  expect(calls).toEqual([]);
});
