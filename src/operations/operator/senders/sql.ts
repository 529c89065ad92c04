import { containsPattern } from '../../../platform/db/like.ts';
import { type Db, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

export type SenderRow = {
  id: number;
  channel: 'RCS' | 'WHATSAPP';
  identity: string | null;
  name: string;
  connection: string | null;
  accountId: number | null;
  account: string | null;
  details: Record<string, unknown>;
  createdAt: Date;
};

const SENDER = sql`s.id, s.channel, s.identity, s.name, c.name AS connection, s.owner_id AS "accountId",
  a.name AS account, s.details, s.created_at AS "createdAt"`;
const SENDERS = sql`sender s LEFT JOIN connection c ON c.id = s.connection_id LEFT JOIN account a ON a.id = s.owner_id`;

type Filter = { readonly channel: Channel | null; readonly search: string | null };

const senders = ({ channel, search }: Filter) => sql`FROM ${SENDERS}
  WHERE (${channel}::text IS NULL OR s.channel = ${channel})
    AND (${search}::text IS NULL OR lower(s.name) LIKE ${containsPattern(search ?? '')} OR lower(s.identity) LIKE ${containsPattern(search ?? '')})`;

/** Those that wait to be registered first. */
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

export type NumberRow = { number: string; connection: string; accountId: number; account: string; createdAt: Date };

const numbers = ({ connection }: { connection: string | null }) => sql`
  FROM inbound_number n JOIN connection c ON c.id = n.connection_id JOIN account a ON a.id = n.account_id
  WHERE ${connection}::text IS NULL OR c.name = ${connection}`;

export async function listNumberPage(
  db: Db,
  filter: { readonly connection: string | null; readonly limit: number; readonly offset: number },
): Promise<NumberRow[]> {
  return many(
    db,
    sql`SELECT n.number, c.name AS connection, n.account_id AS "accountId", a.name AS account,
               n.created_at AS "createdAt"
        ${numbers(filter)} ORDER BY c.name, n.number LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countNumbers(db: Db, filter: { readonly connection: string | null }): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${numbers(filter)}`)).total;
}

export type TemplateRow = {
  id: string;
  channel: 'RCS' | 'WHATSAPP';
  name: string;
  language: string;
  category: string;
  status: string;
  reason: string | null;
  connection: string | null;
  accountId: number | null;
  account: string | null;
  updatedAt: Date;
};

type TemplateFilter = Filter & { readonly status: string | null };

const templates = ({ channel, status, search }: TemplateFilter) => sql`
  FROM template t LEFT JOIN connection c ON c.id = t.connection_id LEFT JOIN account a ON a.id = t.owner_id
  WHERE (${channel}::text IS NULL OR t.channel = ${channel}) AND (${status}::text IS NULL OR t.status = ${status})
    AND (${search}::text IS NULL OR lower(t.name) LIKE ${containsPattern(search ?? '')})`;

/** Those that changed last first. */
export async function listTemplatePage(
  db: Db,
  filter: TemplateFilter & { readonly limit: number; readonly offset: number },
): Promise<TemplateRow[]> {
  return many(
    db,
    sql`SELECT t.id, t.channel, t.name, t.language, t.category, t.status, t.reason, c.name AS connection,
               t.owner_id AS "accountId", a.name AS account, t.updated_at AS "updatedAt"
        ${templates(filter)} ORDER BY t.updated_at DESC, t.channel, t.id
        LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countTemplates(db: Db, filter: TemplateFilter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${templates(filter)}`)).total;
}
