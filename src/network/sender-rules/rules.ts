import type { Pool } from 'pg';
import { type PrefixTable, prefixTable } from '../../platform/lib/phone/prefix-table.ts';
import { pickNumber, poolNameOf } from './pick-number.ts';
import { listPools, listRegistered, listRules, type NumberPool, type SenderRule } from './sql.ts';

/** The sender to use in the country of a recipient, or an error. */
export type ChosenSender =
  | { readonly sender: string }
  /** The sender is not allowed there, or the pool does not exist or has no numbers. */
  | { readonly fault: 'sender_not_allowed' | 'no_pool' };

/** The account, the recipient (E.164), and the requested sender; '' lets the carrier choose. */
export type AskedSender = { readonly accountId: number; readonly destination: string; readonly sender: string };

/** Returns the number that a recipient keeps in a pool; undefined if the hash decides (`createStickyLookup`). */
export type FindSticky = (pool: string, destination: string) => string | undefined;

export type SenderRules = {
  /**
   * Returns the sender of an SMS: the requested one, the replacement by the rule of the country, or the recipient's
   * number of a pool.
   */
  choose(asked: AskedSender, findSticky: FindSticky): ChosenSender;
  /**
   * Returns the name of the pool whose recipients may keep other numbers, if `choose` would pick from it; else null.
   */
  stickyPoolOf(asked: AskedSender): string | null;
  /** Returns true if there is any such pool. */
  anySticky(): boolean;
};

/** Finder for recipients without a kept number. */
export const NO_STICKY: FindSticky = () => undefined;

/** Rules that allow every sender everywhere, without pools. */
export const NO_SENDER_RULES: SenderRules = {
  choose: ({ sender }) => (poolNameOf(sender) === null ? { sender } : { fault: 'no_pool' }),
  stickyPoolOf: () => null,
  anySticky: () => false,
};

type Tables = {
  readonly rules: PrefixTable<SenderRule>;
  /** Accounts that may use a sender, by prefix. */
  readonly registered: ReadonlyMap<string, readonly { readonly prefix: string; readonly ownerId: number | null }[]>;
  readonly pools: ReadonlyMap<string, NumberPool>;
  readonly isEmpty: boolean;
  readonly anySticky: boolean;
};

const EMPTY: Tables = {
  rules: prefixTable([]),
  registered: new Map(),
  pools: new Map(),
  isEmpty: true,
  anySticky: false,
};

/** Creates the rules in memory, because they are needed for every SMS; `reload` them after each change. */
export function createSenderRules(pool: Pool): SenderRules & { reload(): Promise<void> } {
  let tables = EMPTY;
  const target = (asked: AskedSender) => targetOf(asked, tables);
  return {
    choose(asked, findSticky) {
      if (tables.isEmpty) return NO_SENDER_RULES.choose(asked, findSticky);
      const found = target(asked);
      if (!('pool' in found)) return found;
      const { name, numbers } = found.pool;
      const kept = found.pool.sticky ? findSticky(name, asked.destination) : undefined;
      const sender = kept ?? pickNumber(numbers, asked.destination);
      return sender === undefined ? { fault: 'no_pool' } : { sender };
    },
    stickyPoolOf(asked) {
      if (tables.isEmpty) return null;
      const found = target(asked);
      return 'pool' in found && found.pool.sticky ? found.pool.name : null;
    },
    anySticky: () => tables.anySticky,
    async reload() {
      const [rules, registered, pools] = await Promise.all([listRules(pool), listRegistered(pool), listPools(pool)]);
      tables = {
        rules: prefixTable(rules.map((rule) => ({ group: '', prefix: rule.prefix, value: rule }))),
        registered: Map.groupBy(registered, ({ sender }) => sender.toLowerCase()),
        pools: new Map(pools.map((each) => [poolKey(each.name, each.ownerId), each])),
        isEmpty: rules.length === 0 && pools.length === 0,
        anySticky: pools.some(({ sticky }) => sticky),
      };
    },
  };
}

const poolKey = (name: string, ownerId: number | null): string => `${name}/${ownerId ?? ''}`;

type Target = ChosenSender | { readonly pool: NumberPool };

/** Applies the rules to a sender, before a pool picks a number. */
function targetOf(asked: AskedSender, tables: Tables): Target {
  const { accountId, destination, sender } = asked;
  const name = poolNameOf(sender);
  if (name !== null) return poolNamed(name, accountId, tables);
  const rule = sender === '' ? undefined : tables.rules.find('', destination);
  if (rule === undefined || passes(asked, rule, tables)) return { sender };
  if (rule.replacement === null) return { fault: 'sender_not_allowed' };
  const replacing = poolNameOf(rule.replacement);
  return replacing === null ? { sender: rule.replacement } : poolNamed(replacing, accountId, tables);
}

/** Finds a pool; the account's own goes before one of all accounts. */
function poolNamed(name: string, accountId: number, { pools }: Tables): Target {
  const pool = pools.get(poolKey(name, accountId)) ?? pools.get(poolKey(name, null));
  return pool ? { pool } : { fault: 'no_pool' };
}

const HAS_LETTERS = /[^+0-9]/;

function passes({ accountId, destination, sender }: AskedSender, rule: SenderRule, { registered }: Tables): boolean {
  const isAllowed = !rule.registeredOnly && (rule.alphanumeric === 'allowed' || !HAS_LETTERS.test(sender));
  if (isAllowed) return true;
  return (registered.get(sender.toLowerCase()) ?? []).some(
    ({ prefix, ownerId }) => destination.startsWith(`+${prefix}`) && (ownerId === null || ownerId === accountId),
  );
}
