import { type Db, many, type Sql, sql } from '../../../platform/db/query.ts';
import { type Plan, type RecipientRange, recipientsSql, type SkipReason } from '../audience/sql.ts';
import type { CustomField } from '../text/parse.ts';
import { renderSql, valuesSql } from '../text/sql.ts';

/** Somebody whom the campaign may be for, with what it would send. */
export type PreviewRow = {
  readonly phoneNumber: string | null;
  readonly contactId: number | null;
  /** Bits of the channels that would be tried. */
  readonly channels: number;
  readonly skip: SkipReason | null;
  readonly fullName: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly gender: string | null;
  readonly email: string | null;
  /** By the ids of the fields; null for a number that is no contact. */
  readonly customFields: Readonly<Record<string, unknown>> | null;
  readonly text: string;
  readonly rcsValues: Readonly<Record<string, string>>;
  readonly whatsappValues: Readonly<Record<string, string>>;
};

/** The variables of the templates, and the fields that may stand in them. */
export type PreviewTexts = {
  readonly rcs: readonly string[];
  readonly whatsapp: readonly string[];
  readonly customFields: readonly CustomField[];
};

/** Recipients as the goal counts them, with the texts as they are filled for the carriers; by their numbers. */
export const listPreviewRows = (
  db: Db,
  { plan, range, texts }: { plan: Plan; range: RecipientRange | null; texts: PreviewTexts },
): Promise<PreviewRow[]> => {
  const on = { contact: sql`c`, destination: sql`r.destination` };
  const values = (entries: readonly string[]): Sql => valuesSql(entries, texts.customFields, on);
  return many(
    db,
    sql`WITH r AS MATERIALIZED (${recipientsSql(plan, range)})
        SELECT r.destination AS "phoneNumber", r.contact_id AS "contactId", r.channels, r.skip_reason AS skip,
               c.full_name AS "fullName", c.first_name AS "firstName", c.last_name AS "lastName", c.gender, c.email,
               c.custom_fields AS "customFields", ${renderSql(plan.pieces ?? [], on)} AS text,
               ${values(texts.rcs)} AS "rcsValues", ${values(texts.whatsapp)} AS "whatsappValues"
        FROM r LEFT JOIN contact c ON c.account_id = ${plan.accountId} AND c.id = r.contact_id
        ORDER BY r.destination, r.contact_id`,
  );
};
