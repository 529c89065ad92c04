import { groupCommit } from '../../platform/db/group-commit.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { DEFAULT_NUMBER_RULES, type NumberRules } from '../../platform/lib/phone/number-rules.ts';
import { type ReadNumber, readNumber } from '../../platform/lib/phone/read-number.ts';
import { isUserId } from '../../platform/lib/phone/user-id.ts';
import { type Consent, listOptedOut } from './sql.ts';

/** Returns true if a number, in E.164, has opted out of messages on a channel. */
export type IsOptedOut = (channel: Channel, phoneNumber: string) => boolean;
type Sender = Pick<Actor, 'accountId' | 'hasOptOuts'> & Partial<Pick<Actor, 'numberRules'>>;

/** A message to a number: as its client wrote it or, if `isKnownNumber`, in E.164. */
type Destined = { readonly channel: Channel; readonly destination: string; readonly isKnownNumber?: boolean };

/**
 * Returns the recipient of a message: a number or, on WhatsApp, the user id of a person without a visible number, which
 * is unchanged.
 */
export const readDestination = ({ channel, destination, isKnownNumber }: Destined, rules: NumberRules): ReadNumber =>
  isKnownNumber || (channel === 'WHATSAPP' && isUserId(destination))
    ? { e164: destination }
    : readNumber(destination, rules);

const nobody: IsOptedOut = () => false;

/**
 * Creates a function that looks up which destinations of an account have opted out. Concurrent requests share one
 * statement. An account without any opt-out ever, according to its credentials (`hasOptOuts`), needs none.
 */
export function createConsentCheck(db: Db): (sender: Sender, to: readonly Destined[]) => Promise<IsOptedOut> {
  const find = groupCommit<readonly Consent[], ReadonlySet<string>>({
    maxItems: 200,
    async flush(asked) {
      const rows = new Map(asked.flat().map((row) => [keyOf(row), row]));
      const found = new Set((await listOptedOut(db, [...rows.values()])).map(keyOf));
      return asked.map(() => found);
    },
  });
  return async ({ accountId, hasOptOuts, numberRules = DEFAULT_NUMBER_RULES }, to) => {
    if (hasOptOuts === false) return nobody;
    const rows = to.flatMap((message) => {
      const read = readDestination(message, numberRules);
      return 'fault' in read ? [] : [{ accountId, channel: message.channel, phoneNumber: read.e164 }];
    });
    if (rows.length === 0) return nobody;
    const found = await find(rows);
    return (channel, phoneNumber) => found.has(keyOf({ accountId, channel, phoneNumber }));
  };
}

const keyOf = ({ accountId, phoneNumber, channel }: Consent): string => `${accountId}/${phoneNumber}/${channel}`;
