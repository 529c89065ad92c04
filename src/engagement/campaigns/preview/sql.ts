import { type Db, many, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import { type Plan, type RecipientRange, recipientsSql, type SkipReason } from '../audience/sql.ts';
import type { CustomField } from '../text/parse.ts';
import { renderSql, valuesSql } from '../text/sql.ts';

type Expressions = { readonly text: Sql; readonly rcsValues: Sql; readonly whatsappValues: Sql };

const previewRow = ({ text, rcsValues, whatsappValues }: Expressions) =>
  columns({
    phoneNumber: as<string | null>('r.destination'),
    contactId: as<number | null>('r.contact_id'),
    /** Bits of the channels that would be tried. */
    channels: as<number>('r.channels'),
    skip: as<SkipReason | null>('r.skip_reason'),
    fullName: as<string | null>('c.full_name'),
    firstName: as<string | null>('c.first_name'),
    lastName: as<string | null>('c.last_name'),
    gender: as<string | null>('c.gender'),
    email: as<string | null>('c.email'),
    /** Values by the ids of the fields; null for a number that is not a contact. */
    customFields: as<Readonly<Record<string, unknown>> | null>('c.custom_fields'),
    text: as<string>(text),
    rcsValues: as<Readonly<Record<string, string>>>(rcsValues),
    whatsappValues: as<Readonly<Record<string, string>>>(whatsappValues),
  });

/** A candidate of a campaign with the content that it would be sent. */
export type PreviewRow = RowOf<ReturnType<typeof previewRow>>;

/** The variables of the templates, and the custom fields that may be used in them. */
export type PreviewTexts = {
  readonly rcs: readonly string[];
  readonly whatsapp: readonly string[];
  readonly customFields: readonly CustomField[];
};

type PreviewQuery = {
  readonly plan: Plan;
  readonly range: RecipientRange | null;
  readonly texts: PreviewTexts;
  /** Restricts to a page of those who are skipped for a reason. */
  readonly skipped?: { readonly reason: SkipReason; readonly limit: number; readonly offset: number } | undefined;
};

/**
 * Lists recipients in the order of their numbers, selected as for the goal, with the texts filled in as for the
 * carriers.
 */
export const listPreviewRows = (db: Db, { plan, range, texts, skipped }: PreviewQuery): Promise<PreviewRow[]> => {
  const on = { contact: sql`c`, destination: sql`r.destination` };
  const values = (entries: readonly string[]): Sql => valuesSql(entries, texts.customFields, on);
  const expressions = {
    text: renderSql(plan.pieces ?? [], on),
    rcsValues: values(texts.rcs),
    whatsappValues: values(texts.whatsapp),
  };
  return many(
    db,
    sql`WITH r AS MATERIALIZED (${recipientsSql(plan, range)})
        SELECT ${previewRow(expressions)}
        FROM r LEFT JOIN contact c ON c.account_id = ${plan.accountId} AND c.id = r.contact_id
        ${skipped ? sql`WHERE r.skip_reason = ${skipped.reason}` : sql``}
        ORDER BY r.destination, r.contact_id
        ${skipped ? sql`LIMIT ${skipped.limit} OFFSET ${skipped.offset}` : sql``}`,
  );
};
