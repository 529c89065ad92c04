import { expect, test } from 'vitest';
import { createRateLimiter } from '../../platform/lib/rate-limit.ts';
import { createLoginLimits } from './login-limits.ts';

const MINUTE = 60_000;

function limitsAt() {
  let ms = 0;
  const limits = createLoginLimits(createRateLimiter({ now: () => ms, maxNames: 1_000_000 }));
  const pass = (by: number): void => void (ms += by);
  return { ...limits, pass };
}

const stranger = (n: number, username = 'ada') => ({ username, network: `10.0.${n >> 8}.${n & 255}/32`, known: false });
const owner = { username: 'ada', network: '198.51.100.7/32', known: true };
const SPENT = expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) });

/** Tries as fast as may be; how many were let through to a hash. */
function guess(
  { begin }: Pick<ReturnType<typeof limitsAt>, 'begin'>,
  attempts: readonly Parameters<typeof begin>[0][],
) {
  return attempts.filter((attempt) => {
    try {
      begin(attempt);
      return true;
    } catch (error) {
      expect(error).toEqual(SPENT);
      return false;
    }
  }).length;
}

test('a thousand addresses together have twenty tries a minute at one user', () => {
  const limits = limitsAt();
  let tries = 0;
  for (let second = 0; second < 120; second++) {
    tries += guess(
      limits,
      Array.from({ length: 1000 }, (_, n) => stranger(n)),
    );
    limits.pass(1000);
  }
  expect(tries).toBe(40);
});

test('what strangers use up, the owner does not miss, and the other way round', () => {
  const limits = limitsAt();
  for (let second = 0; second < 10; second++) {
    guess(
      limits,
      Array.from({ length: 100 }, (_, n) => stranger(n)),
    );
    limits.pass(1000);
  }
  limits.refuseSpent(owner);
  expect(
    guess(
      limits,
      Array.from({ length: 15 }, () => owner),
    ),
  ).toBe(10);
  expect(() => limits.refuseSpent(owner)).toThrow('Too many failed attempts');
  expect(guess(limits, [stranger(3, 'someone else')])).toBe(1);
});

test('one address has so many tries at all users together, wrong keys included', () => {
  const limits = limitsAt();
  const attempts = Array.from({ length: 50 }, (_, n) => ({ ...stranger(1), username: `user ${n}` }));
  const network = stranger(1).network;
  const tries = Array.from({ length: 6 }, () => {
    limits.pass(1000);
    return guess(limits, attempts);
  });
  expect(tries).toEqual([50, 10, 0, 0, 0, 0]);
  expect(limits.wrongKey(network)).toEqual(SPENT);
  expect(limits.wrongKey('10.9.9.9/32')).toMatchObject({ code: 'unauthenticated' });
});

test('who is right uses up nothing', () => {
  const limits = limitsAt();
  for (let i = 0; i < 1000; i++) {
    limits.begin(owner);
    limits.giveBack(owner);
    limits.begin(stranger(1));
    limits.giveBack(stranger(1));
  }
  limits.refuseSpent(owner);
  limits.refuseSpent(stranger(1));
});

test('after a minute all is as before', () => {
  const limits = limitsAt();
  guess(
    limits,
    Array.from({ length: 100 }, () => owner),
  );
  limits.pass(MINUTE);
  expect(guess(limits, [owner])).toBe(1);
});

test('a refusal says how many failures are left, a wrong password and a wrong key alike', () => {
  const limits = limitsAt();
  limits.begin(stranger(1));
  const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '60' };
  expect(limits.wrong(stranger(1))).toMatchObject({ code: 'unauthenticated', headers });
  expect(limits.wrongKey('10.9.9.9/32')).toMatchObject({ code: 'unauthenticated', headers });
});
