import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';

/** Treatment of SMS from senders that do not meet the obligation of a country. */
export const OBLIGATION_EFFECTS = ['blocked', 'labelled', 'replaced', 'filtered'] as const;

/** A country in which the senders of SMS must be registered, or have a certain form. */
export type SenderObligation = {
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  /** Calling code without the plus. */
  readonly prefix: string;
  /** First day, as YYYY-MM-DD; null if the networks brought it in step by step. */
  readonly from: string | null;
  readonly effect: (typeof OBLIGATION_EFFECTS)[number];
  /** `registry`: senders must be registered; `form`: they must have a certain form. */
  readonly kind: 'registry' | 'form';
  /** True if a registration holds only for the providers that it names. */
  readonly bindsProvider: boolean;
  readonly source: string;
};

/** Day on which the sources were read. */
export const OBLIGATIONS_READ_ON = '2026-11-29';

const IN_REGISTRY = { kind: 'registry', bindsProvider: false } as const;
const BOUND = { kind: 'registry', bindsProvider: true } as const;
const OF_FORM = { kind: 'form', bindsProvider: false } as const;

export const SENDER_OBLIGATIONS: readonly SenderObligation[] = [
  {
    country: 'AU',
    prefix: '61',
    from: '2026-07-01',
    effect: 'replaced',
    ...BOUND,
    source: 'https://www.infobip.com/docs/essentials/australia-registration/australia-registration-guidelines',
  },
  {
    country: 'ES',
    prefix: '34',
    from: '2026-09-15',
    effect: 'blocked',
    ...BOUND,
    source: 'https://www.telecomregistration.com/cnmc-alias-registration-spain.html',
  },
  {
    country: 'FR',
    prefix: '33',
    from: '2025-03-10',
    effect: 'blocked',
    ...OF_FORM,
    source: 'https://www.efidem.com/en/marketing-sms-sender-id-security',
  },
  {
    country: 'GB',
    prefix: '44',
    from: null,
    effect: 'filtered',
    ...OF_FORM,
    source: 'https://help.puzzel.com/node/3163',
  },
  {
    country: 'IE',
    prefix: '353',
    from: '2025-07-03',
    effect: 'labelled',
    ...BOUND,
    source:
      'https://irishtimes.com/business/2025/06/05/comreg-plans-overhaul-of-sms-text-message-system-to-help-block-scammers',
  },
  {
    country: 'IN',
    prefix: '91',
    from: '2024-12-01',
    effect: 'blocked',
    ...BOUND,
    source: 'https://docs.orbit.devotel.io/compliance/dlt-india',
  },
  {
    country: 'IT',
    prefix: '39',
    from: '2013-10-16',
    effect: 'blocked',
    ...IN_REGISTRY,
    source: 'https://www.agcom.it/node/1149/printable/print',
  },
  {
    country: 'SG',
    prefix: '65',
    from: '2023-01-31',
    effect: 'labelled',
    ...BOUND,
    source: 'https://www.imda.gov.sg/How-We-Can-Help/Anti-Scam-Measures',
  },
  {
    country: 'US',
    prefix: '1',
    from: null,
    effect: 'blocked',
    ...BOUND,
    source: 'https://telnyx.com/resources/unregistered-10dlc-is-ending',
  },
];

/** Days of traffic after which a country counts as served. */
export const SERVED_DAYS = 30;

const UNRULED = columns({ prefix: as<string>('d.country'), messages: as<number>('sum(d.messages)') });

/**
 * Lists those of these calling codes to which SMS went over a real carrier in the last days although no rule for senders
 * names them, with the number of messages.
 */
export async function listUnruled(
  db: Db,
  { prefixes }: { prefixes: readonly string[] },
): Promise<RowOf<typeof UNRULED>[]> {
  return many(
    db,
    sql`SELECT ${UNRULED} FROM margin_day d JOIN connection c ON c.id = d.connection_id AND NOT c.sandbox
        WHERE d.day > now() - ${SERVED_DAYS} * interval '1 day' AND d.country = ANY(${[...prefixes]}::text[])
          AND NOT EXISTS (SELECT FROM sender_rule r WHERE r.prefix <> '' AND r.prefix LIKE d.country || '%')
        GROUP BY d.country ORDER BY d.country`,
  );
}

/** Returns the obligations in force on a day, YYYY-MM-DD. */
export const obligationsOn = (day: string): readonly SenderObligation[] =>
  SENDER_OBLIGATIONS.filter(({ from }) => from === null || from <= day);
