import type { Pool } from 'pg';
import { type FindSticky, NO_STICKY, type SenderRules } from '../../network/sender-rules/rules.ts';
import { createStickyLookup } from '../../network/sender-rules/sticky.ts';
import { DEFAULT_NUMBER_RULES } from '../../platform/lib/phone/number-rules.ts';
import { readDestination } from '../consent/check.ts';
import type { Draft } from './draft.ts';
import type { Requester } from './prepare.ts';

type Deps = { readonly pool: Pool; readonly tables: { readonly senderRules: SenderRules } };

/**
 * Creates a function that looks up which recipients of these drafts keep the number of a pool that they know. While no
 * recipient does in any pool, nothing is read, not even the numbers of the recipients.
 */
export function createKnownSenders({ pool, tables: { senderRules } }: Deps) {
  const find = createStickyLookup(pool, senderRules);
  return async (by: Requester, drafts: readonly Draft[]): Promise<FindSticky> => {
    if (!senderRules.anySticky()) return NO_STICKY;
    const { accountId, numberRules = DEFAULT_NUMBER_RULES } = by;
    return find(
      drafts.flatMap((draft) => {
        const read = draft.channel === 'SMS' ? readDestination(draft, numberRules) : null;
        return read === null || 'fault' in read ? [] : [{ accountId, destination: read.e164, sender: draft.sender }];
      }),
    );
  };
}
