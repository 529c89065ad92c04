import type { NewPrice } from '../../src/money/prices.ts';

/** A row of the price list that the run sets up. */
export type Row = NewPrice & { readonly account?: 'own' };

const DAY_MS = 86_400_000;
const later = (days: number): Date => new Date(Date.now() + days * DAY_MS);
const kept = { refundUndelivered: false } as const;
const refunded = { refundUndelivered: true } as const;
const sms = (prefix: string, unitMicros: number) => ({ channel: 'SMS', prefix, unitMicros }) as const;
const rcs = (category: string, prefix: string, unitMicros: number) =>
  ({ channel: 'RCS', category, prefix, unitMicros }) as const;
const whatsapp = (category: string, prefix: string, unitMicros: number, window = '*') =>
  ({ channel: 'WHATSAPP', category, prefix, unitMicros, window }) as const;

/**
 * The price list: each amount differs from all others, so that a sum shows which one was charged. Rows that are `own`
 * are for the second account.
 */
export const PRICE_LIST: readonly Row[] = [
  { ...sms('', 50_021), ...kept },
  { ...sms('39', 35_003), ...kept },
  { ...sms('39', 36_007), ...kept, validFrom: later(-400) },
  { ...sms('39', 36_989), ...kept, validFrom: later(-30) },
  { ...sms('39', 41_011), ...kept, validFrom: later(1) },
  { ...sms('39347', 29_017), ...refunded },
  { ...sms('44', 40_009), ...refunded, perPart: false },
  { ...sms('39', 33_023), ...kept, account: 'own' },
  { ...sms('39', 34_031), ...refunded, account: 'own', validFrom: later(-2) },
  { ...sms('39', 38_039), ...kept, account: 'own', validFrom: later(1) },
  { ...sms('62', 60_013), ...refunded, account: 'own', perPart: false },
  { ...rcs('*', '', 15_013), ...kept },
  { ...rcs('basic', '', 11_027), ...kept },
  { ...rcs('single', '', 33_029), ...refunded },
  { ...rcs('rich', '1', 8_009), ...kept, perPart: true },
  { ...rcs('rich-media', '1', 44_041), ...refunded },
  { ...rcs('single', '39', 31_019), ...kept, account: 'own' },
  { ...whatsapp('marketing', '', 70_001), ...kept },
  { ...whatsapp('utility', '', 20_047), ...refunded },
  { ...whatsapp('utility', '', 5_051, 'IN_WINDOW'), ...kept },
  { ...whatsapp('authentication', '', 30_059), ...kept },
  { ...whatsapp('authentication-international', '62', 90_053), ...refunded },
  // The business is in this country: the price for businesses abroad is not for it.
  { ...whatsapp('authentication-international', '351', 99_991), ...kept },
  { ...whatsapp('service', '', 10_061), ...refunded },
  { ...whatsapp('service', '', 4_063, 'IN_WINDOW'), ...refunded },
  { ...whatsapp('service', '', 0, 'FREE_ENTRY'), ...kept },
  { ...whatsapp('marketing', '351', 1_069, 'FREE_ENTRY'), ...kept, account: 'own' },
  { ...whatsapp('*', '62', 18_071), ...refunded, account: 'own' },
];

/** Rows that other ones of the same place outdo for every message of a run. */
const OUTDONE: ReadonlySet<number> = new Set([35_003, 36_007, 33_023, 15_013, 99_991]);

/** The rows that some message of a run must cost. */
export const MUST_BE_CHARGED = PRICE_LIST.filter(({ unitMicros }) => !OUTDONE.has(unitMicros));

/** Everything about a message that its price may depend on. */
export type Asked = {
  readonly isOwn: boolean;
  readonly channel: Row['channel'];
  readonly destination: string;
  /** The categories in which its network may bill it, the first one preferred. */
  readonly categories: readonly string[];
  /** The windows that are open for its recipient, the first one preferred. */
  readonly windows: readonly string[];
  readonly at: Date;
};

/**
 * Returns the row that counts for a message by the rule of docs/billing.md, written once more: the account's own
 * before that for all, then the longest prefix, its category before any, its window before any, the newest valid one.
 * Throws if there is none.
 */
export function rowFor({ isOwn, channel, destination, categories, windows, at }: Asked): Row {
  const rank = (wanted: readonly string[], condition = '*'): number =>
    condition === '*' ? wanted.length : wanted.indexOf(condition);
  const ranked = PRICE_LIST.flatMap((row) => {
    const [category, window] = [rank(categories, row.category), rank(windows, row.window)];
    const since = row.validFrom?.getTime() ?? 0;
    const applies =
      row.channel === channel &&
      (row.account === undefined || isOwn) &&
      destination.startsWith(`+${row.prefix}`) &&
      category >= 0 &&
      window >= 0 &&
      since <= at.getTime();
    return applies ? [{ row, order: [row.account ? 0 : 1, -row.prefix.length, category, window, -since] }] : [];
  });
  const [best] = ranked.sort((a, b) => a.order.map((n, i) => n - (b.order[i] ?? 0)).find((n) => n !== 0) ?? 0);
  if (!best) throw new Error(`the list has no price for ${channel} to ${destination}`);
  return best.row;
}
