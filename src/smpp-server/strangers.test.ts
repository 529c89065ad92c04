import { expect, test } from 'vitest';
import { type Admitted, createStrangers, type StrangerBound, type Strangers } from './server.ts';

const MINUTE_MS = 60_000;
const UNLIMITED = { attemptsPerMinute: 0 };

function admitted(place: Admitted | StrangerBound): Admitted {
  if (typeof place === 'string') throw new Error(place);
  return place;
}

/** A clock that the test moves, and the bounds with 3 attempts a minute. */
function limited() {
  const clock = { ms: 0 };
  const strangers = createStrangers({ attemptsPerMinute: 3, now: () => clock.ms });
  return { clock, ...strangers };
}

/** Connects and ends this many times, and returns the result of the last attempt. */
function attempt({ admit }: Strangers, address: string, times: number): Admitted | StrangerBound {
  let last = admit(address);
  for (let n = 1; n < times && typeof last !== 'string'; n++) {
    last.ended();
    last = admit(address);
  }
  if (typeof last !== 'string') last.ended();
  return last;
}

test('one network has its limit of open connections, another one is admitted, and a place is free again once', () => {
  const { admit } = createStrangers({ ...UNLIMITED, perNetwork: 2, inAll: 10 });
  const first = admitted(admit('192.0.2.1'));
  admitted(admit('192.0.2.1'));
  expect(admit('192.0.2.1')).toBe('connections_of_network');
  admitted(admit('192.0.2.2'));
  first.bound();
  first.ended();
  admitted(admit('192.0.2.1'));
  expect(admit('192.0.2.1')).toBe('connections_of_network');
});

test('a network from which somebody bound before the start is none of the new ones', () => {
  const { admit } = createStrangers({ ...UNLIMITED, inAll: 1, known: ['192.0.2.1/32'] });
  admitted(admit('192.0.2.7'));
  expect(admit('192.0.2.8')).toBe('connections');
  admitted(admit('192.0.2.1'));
});

test('all addresses of an IPv6 /64 count as one network, and all networks have a limit together', () => {
  const { admit } = createStrangers({ ...UNLIMITED, perNetwork: 1, inAll: 2 });
  admitted(admit('2001:db8::1'));
  expect(admit('2001:db8::2')).toBe('connections_of_network');
  admitted(admit('2001:db8:0:1::1'));
  expect(admit('192.0.2.9')).toBe('connections');
});

test('a network whose connections do not bind has so many a minute, and its own again a minute later', () => {
  const { clock, ...strangers } = limited();
  admitted(attempt(strangers, '192.0.2.1', 3));
  expect(attempt(strangers, '192.0.2.1', 1)).toBe('attempts_of_network');
  admitted(attempt(strangers, '192.0.2.2', 1));
  clock.ms += MINUTE_MS;
  admitted(attempt(strangers, '192.0.2.1', 3));
});

test('a bind is no attempt, unless there are very many', () => {
  const { admit } = limited();
  for (let n = 0; n < 15; n++) admitted(admit('192.0.2.1')).bound();
  for (let n = 0; n < 3; n++) admitted(admit('192.0.2.1')).bound();
  expect(admit('192.0.2.1')).toBe('attempts_of_network');
});

test('strangers of many networks have a limit together, and a customer binds beside them', () => {
  const { clock: _, ...strangers } = limited();
  admitted(strangers.admit('198.51.100.1')).bound();
  const met = Array.from({ length: 30 }, (_each, n) => attempt(strangers, `203.0.113.${n}`, 2));
  expect(met.filter((place) => place === 'attempts')).toHaveLength(0);
  const later = Array.from({ length: 30 }, (_each, n) => attempt(strangers, `203.0.113.${n}`, 1));
  expect(new Set(later)).toEqual(new Set(['attempts']));
  admitted(strangers.admit('198.51.100.1'));
});

test('strangers cannot take the open places of networks that have bound', () => {
  const { admit } = createStrangers({ ...UNLIMITED, perNetwork: 5, inAll: 2 });
  admitted(admit('198.51.100.1')).bound();
  admitted(admit('192.0.2.1'));
  admitted(admit('192.0.2.2'));
  expect(admit('192.0.2.3')).toBe('connections');
  admitted(admit('198.51.100.1'));
});
