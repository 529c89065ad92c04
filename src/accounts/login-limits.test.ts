import { expect, test } from 'vitest';
import { createRateLimiter } from '../core/limits.ts';
import { createLoginLimits } from './password.ts';

const MINUTE = 60_000;

function limitsAt() {
  let ms = 0;
  const limits = createLoginLimits(createRateLimiter({ now: () => ms, maxNames: 1_000_000 }));
  const pass = (by: number): void => void (ms += by);
  return { ...limits, pass };
}

const unknown = (n: number, username = 'ada') => ({ username, network: `10.0.${n >> 8}.${n & 255}/32`, known: false });
const owner = { username: 'ada', network: '198.51.100.7/32', known: true };
const SPENT = expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) });

/** Makes all attempts at the same time and returns the number that reached a hash. */
function guess(
  { countAttempt }: Pick<ReturnType<typeof limitsAt>, 'countAttempt'>,
  attempts: readonly Parameters<typeof countAttempt>[0][],
) {
  return attempts.filter((attempt) => {
    try {
      countAttempt(attempt);
      return true;
    } catch (error) {
      expect(error).toEqual(SPENT);
      return false;
    }
  }).length;
}

test('a thousand addresses together have twenty tries a minute for one user', () => {
  const limits = limitsAt();
  let tries = 0;
  for (let second = 0; second < 120; second++) {
    tries += guess(
      limits,
      Array.from({ length: 1000 }, (_, n) => unknown(n)),
    );
    limits.pass(1000);
  }
  expect(tries).toBe(40);
});

test('the limits of unknown networks and of the owner are separate', () => {
  const limits = limitsAt();
  for (let second = 0; second < 10; second++) {
    guess(
      limits,
      Array.from({ length: 100 }, (_, n) => unknown(n)),
    );
    limits.pass(1000);
  }
  limits.assertAllowed(owner);
  expect(
    guess(
      limits,
      Array.from({ length: 15 }, () => owner),
    ),
  ).toBe(10);
  expect(() => limits.assertAllowed(owner)).toThrow('Too many failed attempts');
  expect(guess(limits, [unknown(3, 'someone else')])).toBe(1);
});

test('the tries of one address are limited over all users, wrong keys included', () => {
  const limits = limitsAt();
  const attempts = Array.from({ length: 50 }, (_, n) => ({ ...unknown(1), username: `user ${n}` }));
  const network = unknown(1).network;
  const tries = Array.from({ length: 6 }, () => {
    limits.pass(1000);
    return guess(limits, attempts);
  });
  expect(tries).toEqual([50, 10, 0, 0, 0, 0]);
  expect(limits.failedKey(network)).toEqual(SPENT);
  expect(limits.failedKey('10.9.9.9/32')).toMatchObject({ code: 'unauthenticated' });
});

test('right credentials use up nothing', () => {
  const limits = limitsAt();
  for (let i = 0; i < 1000; i++) {
    limits.countAttempt(owner);
    limits.refund(owner);
    limits.countAttempt(unknown(1));
    limits.refund(unknown(1));
  }
  limits.assertAllowed(owner);
  limits.assertAllowed(unknown(1));
});

test('after a minute the limit is free again', () => {
  const limits = limitsAt();
  guess(
    limits,
    Array.from({ length: 100 }, () => owner),
  );
  limits.pass(MINUTE);
  expect(guess(limits, [owner])).toBe(1);
});

test('the response to a wrong password or key says how many failures are left', () => {
  const limits = limitsAt();
  limits.countAttempt(unknown(1));
  const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '60' };
  expect(limits.failedAttempt(unknown(1))).toMatchObject({ code: 'unauthenticated', headers });
  expect(limits.failedKey('10.9.9.9/32')).toMatchObject({ code: 'unauthenticated', headers });
});

test('the headers of failures are the same whether or not the user has logged in from there', () => {
  const limits = limitsAt();
  const { network } = owner;
  /** Tries until it is rejected, and returns the figures of each response. */
  const figures = (attempt: typeof owner, tries: number) =>
    Array.from({ length: tries }, () => {
      limits.pass(1000);
      limits.countAttempt(attempt);
      const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': left } = limits.failedAttempt(attempt).headers ?? {};
      return `${left} of ${limit}`;
    });
  const expected = (from: number) => Array.from({ length: 10 }, (_, n) => `${from - n} of 60`);
  expect(figures(owner, 10)).toEqual(expected(59));
  expect(figures({ username: 'nobody', network, known: false }, 10)).toEqual(expected(49));
  expect(figures(owner, 10)).toEqual(expected(39));
  const refusals = [owner, { username: 'nobody', network, known: false }].map((attempt) => {
    for (;;)
      try {
        limits.pass(250);
        limits.countAttempt(attempt);
        limits.failedAttempt(attempt);
      } catch (error) {
        return error;
      }
  });
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: 'rate_limited', headers: { 'x-ratelimit-limit': '60' } });
});
