import { containsPattern } from '../../../platform/db/like.ts';
import { type Db, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

const SENDER = columns({
  id: as<number>('s.id'),
  channel: as<'RCS' | 'WHATSAPP'>('s.channel'),
  /** Null for an agent that was requested and is not registered yet. */
  identity: as<string | null>('s.identity'),
  name: as<string>('s.name'),
  connection: as<string | null>('c.name'),
  /** Null for a sender of all accounts. */
  accountId: as<number | null>('s.owner_id'),
  account: as<string | null>('a.name'),
  details: as<Record<string, unknown>>('s.details'),
  createdAt: as<Date>('s.created_at'),
});
export type SenderRow = RowOf<typeof SENDER>;
const SENDERS = sql`sender s LEFT JOIN connection c ON c.id = s.connection_id LEFT JOIN account a ON a.id = s.owner_id`;

type Filter = { readonly channel: Channel | null; readonly search: string | null };

const senders = ({ channel, search }: Filter) => sql`FROM ${SENDERS}
  WHERE (${channel}::text IS NULL OR s.channel = ${channel})
    AND (${search}::text IS NULL OR lower(s.name) LIKE ${containsPattern(search ?? '')} OR lower(s.identity) LIKE ${containsPattern(search ?? '')})`;

/** Lists a page of senders; agents that wait to be registered come first. */
export async function listSenderPage(
  db: Db,
  filter: Filter & { readonly limit: number; readonly offset: number },
): Promise<SenderRow[]> {
  return many(
    db,
    sql`SELECT ${SENDER} ${senders(filter)} ORDER BY s.identity IS NOT NULL, s.id
        LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countSenders(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${senders(filter)}`)).total;
}

export async function findSender(db: Db, { id }: { id: number }): Promise<SenderRow | undefined> {
  return maybeOne(db, sql`SELECT ${SENDER} FROM ${SENDERS} WHERE s.id = ${id}`);
}

const NUMBER = columns({
  number: as<string>('n.number'),
  connection: as<string>('c.name'),
  accountId: as<number>('n.account_id'),
  account: as<string>('a.name'),
  createdAt: as<Date>('n.created_at'),
});
export type NumberRow = RowOf<typeof NUMBER>;

const numbers = ({ connection }: { connection: string | null }) => sql`
  FROM inbound_number n JOIN connection c ON c.id = n.connection_id JOIN account a ON a.id = n.account_id
  WHERE ${connection}::text IS NULL OR c.name = ${connection}`;

export async function listNumberPage(
  db: Db,
  filter: { readonly connection: string | null; readonly limit: number; readonly offset: number },
): Promise<NumberRow[]> {
  return many(
    db,
    sql`SELECT ${NUMBER}
        ${numbers(filter)} ORDER BY c.name, n.number LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countNumbers(db: Db, filter: { readonly connection: string | null }): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${numbers(filter)}`)).total;
}

const TEMPLATE = columns({
  id: as<string>('t.id'),
  channel: as<'RCS' | 'WHATSAPP'>('t.channel'),
  name: as<string>('t.name'),
  language: as<string>('t.language'),
  category: as<string>('t.category'),
  status: as<string>('t.status'),
  reason: as<string | null>('t.reason'),
  connection: as<string | null>('c.name'),
  /** Null for a template of all accounts. */
  accountId: as<number | null>('t.owner_id'),
  account: as<string | null>('a.name'),
  updatedAt: as<Date>('t.updated_at'),
});
export type TemplateRow = RowOf<typeof TEMPLATE>;

type TemplateFilter = Filter & { readonly status: string | null };

const templates = ({ channel, status, search }: TemplateFilter) => sql`
  FROM template t LEFT JOIN connection c ON c.id = t.connection_id LEFT JOIN account a ON a.id = t.owner_id
  WHERE (${channel}::text IS NULL OR t.channel = ${channel}) AND (${status}::text IS NULL OR t.status = ${status})
    AND (${search}::text IS NULL OR lower(t.name) LIKE ${containsPattern(search ?? '')})`;

/** Lists a page of templates, most recently changed first. */
export async function listTemplatePage(
  db: Db,
  filter: TemplateFilter & { readonly limit: number; readonly offset: number },
): Promise<TemplateRow[]> {
  return many(
    db,
    sql`SELECT ${TEMPLATE}
        ${templates(filter)} ORDER BY t.updated_at DESC, t.channel, t.id
        LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countTemplates(db: Db, filter: TemplateFilter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${templates(filter)}`)).total;
}
