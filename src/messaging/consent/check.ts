import { groupCommit } from '../../platform/db/group-commit.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import { type Consent, listOptedOut } from './sql.ts';

/** Whether a number, in E.164, has opted out of messages on a channel. */
export type IsOptedOut = (channel: Channel, phoneNumber: string) => boolean;
type Destined = { readonly channel: Channel; readonly destination: string };
type Sender = Pick<Actor, 'accountId' | 'hasOptOuts'>;

const nobody: IsOptedOut = () => false;

/**
 * Creates a function that looks up which destinations of an account have opted out. All requests of the moment share
 * one statement, and an account that has never had an opt-out, as its credentials say (`hasOptOuts`), needs none.
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
  return async ({ accountId, hasOptOuts }, to) => {
    if (hasOptOuts === false) return nobody;
    const rows = to.flatMap(({ channel, destination }) => {
      const phoneNumber = toE164(destination);
      return phoneNumber === null ? [] : [{ accountId, channel, phoneNumber }];
    });
    if (rows.length === 0) return nobody;
    const found = await find(rows);
    return (channel, phoneNumber) => found.has(keyOf({ accountId, channel, phoneNumber }));
  };
}

const keyOf = ({ accountId, phoneNumber, channel }: Consent): string => `${accountId}/${phoneNumber}/${channel}`;
