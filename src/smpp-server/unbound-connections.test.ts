import { expect, test } from 'vitest';
import { type Admitted, limitUnboundConnections, type ConnectionBound, type UnboundConnections } from './server.ts';

const MINUTE_MS = 60_000;
const UNLIMITED = { attemptsPerMinute: 0 };

function admitted(place: Admitted | ConnectionBound): Admitted {
  if (typeof place === 'string') throw new Error(place);
  return place;
}

/** A clock that the test moves, and the bounds with 3 attempts a minute. */
function limited() {
  const clock = { ms: 0 };
  const connections = limitUnboundConnections({ attemptsPerMinute: 3, now: () => clock.ms });
  return { clock, ...connections };
}

/** Connects and ends this many times, and returns the result of the last attempt. */
function attempt({ admit }: UnboundConnections, address: string, times: number): Admitted | ConnectionBound {
  let last = admit(address);
  for (let n = 1; n < times && typeof last !== 'string'; n++) {
    last.ended();
    last = admit(address);
  }
  if (typeof last !== 'string') last.ended();
  return last;
}

test('one network has its limit of open connections, another one is admitted, and a place is free again once', () => {
  const { admit } = limitUnboundConnections({ ...UNLIMITED, perNetwork: 2, inAll: 10 });
  const first = admitted(admit('192.0.2.1'));
  admitted(admit('192.0.2.1'));
  expect(admit('192.0.2.1')).toBe('connections_of_network');
  admitted(admit('192.0.2.2'));
  first.bound();
  first.ended();
  admitted(admit('192.0.2.1'));
  expect(admit('192.0.2.1')).toBe('connections_of_network');
});

test('a network that bound before the start does not count as a new one', () => {
  const { admit } = limitUnboundConnections({ ...UNLIMITED, inAll: 1, known: ['192.0.2.1/32'] });
  admitted(admit('192.0.2.7'));
  expect(admit('192.0.2.8')).toBe('connections');
  admitted(admit('192.0.2.1'));
});

test('all addresses of an IPv6 /64 count as one network, and all networks have a limit together', () => {
  const { admit } = limitUnboundConnections({ ...UNLIMITED, perNetwork: 1, inAll: 2 });
  admitted(admit('2001:db8::1'));
  expect(admit('2001:db8::2')).toBe('connections_of_network');
  admitted(admit('2001:db8:0:1::1'));
  expect(admit('192.0.2.9')).toBe('connections');
});

test('a network whose connections do not bind has so many a minute, and its own again a minute later', () => {
  const { clock, ...connections } = limited();
  admitted(attempt(connections, '192.0.2.1', 3));
  expect(attempt(connections, '192.0.2.1', 1)).toBe('attempts_of_network');
  admitted(attempt(connections, '192.0.2.2', 1));
  clock.ms += MINUTE_MS;
  admitted(attempt(connections, '192.0.2.1', 3));
});

test('a bind is no attempt, unless there are very many', () => {
  const { admit } = limited();
  for (let n = 0; n < 15; n++) admitted(admit('192.0.2.1')).bound();
  for (let n = 0; n < 3; n++) admitted(admit('192.0.2.1')).bound();
  expect(admit('192.0.2.1')).toBe('attempts_of_network');
});

test('unbound connections of many networks have a limit together, and a customer binds next to them', () => {
  const { clock: _, ...connections } = limited();
  admitted(connections.admit('198.51.100.1')).bound();
  const met = Array.from({ length: 30 }, (_each, n) => attempt(connections, `203.0.113.${n}`, 2));
  expect(met.filter((place) => place === 'attempts')).toHaveLength(0);
  const later = Array.from({ length: 30 }, (_each, n) => attempt(connections, `203.0.113.${n}`, 1));
  expect(new Set(later)).toEqual(new Set(['attempts']));
  admitted(connections.admit('198.51.100.1'));
});

test('unbound connections cannot take the open places of networks that have bound', () => {
  const { admit } = limitUnboundConnections({ ...UNLIMITED, perNetwork: 5, inAll: 2 });
  admitted(admit('198.51.100.1')).bound();
  admitted(admit('192.0.2.1'));
  admitted(admit('192.0.2.2'));
  expect(admit('192.0.2.3')).toBe('connections');
  admitted(admit('198.51.100.1'));
});
