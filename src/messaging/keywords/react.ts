import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';
import { consentWordOf } from '../consent/words.ts';
import { findRule } from './match.ts';
import * as db from './sql.ts';
import { kindOfTarget } from './target.ts';

/** A whole message from a person to a number of an account. */
export type Received = {
  readonly accountId: number;
  readonly id: string;
  readonly channel: Channel;
  /** The person, and the number that they wrote to, both as the carrier writes them, without a plus. */
  readonly source: string;
  readonly destination: string;
  readonly body: string;
};

/** Messages that keywords make for one person and number in an hour: stops two machines that reply to each other. */
export const MAX_PER_HOUR = 5;

/**
 * Queues the replies and copies that inbound messages request by their keywords, in the transaction that stores them. A
 * STOP message has no keyword: it gets no reply. Replies go to SMS from numbers only.
 */
export async function reactToKeywords(tx: Db, received: readonly Received[], now = new Date()): Promise<void> {
  const accountIds = [...new Set(received.map(({ accountId }) => accountId))];
  if (accountIds.length === 0) return;
  const rules = Map.groupBy(await db.listRulesOf(tx, { accountIds }), ({ accountId }) => accountId);
  if (rules.size === 0) return;
  const actions = received.flatMap((message) => actionsOf(message, rules.get(message.accountId) ?? []));
  const allowed = await withinLimit(tx, actions, now);
  if (allowed.length > 0)
    await db.insertActions(
      tx,
      allowed.map(({ action }) => action),
    );
}

type Wanted = { readonly action: db.NewAction; readonly pair: db.Pair };

function actionsOf(message: Received, rules: readonly db.KeywordRule[]): Wanted[] {
  const { accountId, id: inboundId, channel, source, destination: number, body } = message;
  if (consentWordOf(body) === 'stop') return [];
  const rule = findRule(rules, { number, text: body });
  if (rule === undefined) return [];
  const { id: ruleId, keyword, answer, forwardTo } = rule;
  const common = { accountId, inboundId, ruleId, keyword };
  const person = toE164(source);
  const isAnswered = answer !== null && channel === 'SMS' && person !== null;
  // A copy to the sender would come back.
  const isCopied = forwardTo !== null && forwardTo !== person;
  const pair = { accountId, number, person: source };
  return [
    ...(isAnswered ? [{ pair, action: { ...common, kind: 'answer' as const, target: person, answer } }] : []),
    ...(isCopied
      ? [{ pair, action: { ...common, kind: kindOfTarget(forwardTo), target: forwardTo, answer: null } }]
      : []),
  ];
}

/** True if an action sends a message, to which a machine may reply. */
const isMessage = ({ action }: Wanted): boolean => action.kind === 'answer' || action.kind === 'sms';

/** Omits messages beyond the limit of their pair. All count, so that workers need not wait for one another. */
async function withinLimit(tx: Db, wanted: readonly Wanted[], now: Date): Promise<Wanted[]> {
  const counted = Map.groupBy(wanted.filter(isMessage), ({ pair }) => keyOf(pair));
  if (counted.size === 0) return [...wanted];
  const hour = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
  const own = [...counted.values()].flatMap((list) => {
    const [first] = list;
    return first ? [{ ...first.pair, messages: list.length }] : [];
  });
  const counts = await db.insertCounts(tx, { counts: own.toSorted(byKey), hour });
  const left = new Map(
    counts.map((row) => {
      const before = row.messages - (counted.get(keyOf(row))?.length ?? 0);
      return [keyOf(row), MAX_PER_HOUR - before];
    }),
  );
  return wanted.filter((one) => {
    if (!isMessage(one)) return true;
    const rest = left.get(keyOf(one.pair)) ?? 0;
    left.set(keyOf(one.pair), rest - 1);
    return rest > 0;
  });
}

const byKey = (a: db.Pair, b: db.Pair): number => (keyOf(a) < keyOf(b) ? -1 : 1);

const keyOf = ({ accountId, number, person }: db.Pair): string => JSON.stringify([accountId, number, person]);
