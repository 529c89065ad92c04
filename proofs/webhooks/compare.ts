import { Webhook } from 'standardwebhooks';
import type { Received } from '../../test/support/http/receiver.ts';
import type { Behaviour, ReceivedEvent } from './receivers.ts';

/** A message and the status codes of its events, in order. */
export type Expected = { readonly behaviour: Behaviour; readonly messageId: string; readonly codes: readonly number[] };

/** An event that a receiver should have accepted. */
export type Undelivered = Expected & { readonly code: number };

type Body = { readonly messageId: string; readonly statusCode: number };

/** Compares what the receivers received with what happened. Returns counts, and the events that no receiver accepted. */
export function compare(
  expected: readonly Expected[],
  received: readonly ReceivedEvent[],
  secrets: Readonly<Record<Behaviour, string>>,
) {
  const bodies = received.map(({ request }): Body => JSON.parse(request.body));
  const acknowledged = new Map<string, number[]>();
  const ids = new Map<string, Set<string>>();
  bodies.forEach(({ messageId, statusCode }, i) => {
    const event = `${messageId}/${statusCode}`;
    ids.set(event, (ids.get(event) ?? new Set()).add(received[i]?.request.headers['webhook-id'] ?? ''));
    if (received[i]?.acknowledged !== true) return;
    const codes = acknowledged.get(messageId) ?? [];
    if (!codes.includes(statusCode)) codes.push(statusCode);
    acknowledged.set(messageId, codes);
  });
  const reachable = expected.filter(({ behaviour }) => behaviour !== 'hostile');
  const codesOf = ({ messageId }: Expected): readonly number[] => acknowledged.get(messageId) ?? [];
  const undelivered: Undelivered[] = reachable.flatMap((one) =>
    one.codes.filter((code) => !codesOf(one).includes(code)).map((code) => ({ ...one, code })),
  );
  const events = new Set(expected.flatMap(({ messageId, codes }) => codes.map((code) => `${messageId}/${code}`)));
  return {
    events: events.size,
    requests: received.length,
    acknowledgedTwice: received.filter((one) => one.acknowledged).length - acknowledged.values().reduce(sumOf, 0),
    undelivered,
    outOfOrder: reachable.filter((one) => !isInOrder(codesOf(one), one.codes)).length,
    invented: [...ids.keys()].filter((event) => !events.has(event)).length,
    withSeveralIds: [...ids.values()].filter((set) => set.size > 1).length,
    badSignatures: received.filter(({ request, behaviour }) => !isSigned(request, secrets[behaviour])).length,
  };
}

const sumOf = (sum: number, codes: readonly number[]): number => sum + codes.length;

const isInOrder = (codes: readonly number[], wanted: readonly number[]): boolean =>
  codes.every((code, i) => i === 0 || wanted.indexOf(codes[i - 1] ?? -1) < wanted.indexOf(code));

/** Difference of a timestamp that receivers tolerate. */
const TOLERANCE_MS = 300_000;

/** Verifies a signature with an independent library, as at the time of its arrival: a long run is judged at its end. */
export function isSigned({ body, headers, at }: Received, secret: string): boolean {
  const sentAt = new Date(Number(headers['webhook-timestamp']) * 1000);
  if (!(Math.abs(at - sentAt.getTime()) <= TOLERANCE_MS)) return false;
  const expected = new Webhook(secret).sign(String(headers['webhook-id']), sentAt, body);
  return String(headers['webhook-signature']).split(' ').includes(expected);
}
