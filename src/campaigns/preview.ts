import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { refuseOutsidePlan } from '../accounts/accounts.ts';
import { byField, columnOf, OWN_PLACEHOLDERS, type OwnPlaceholder, PLACEHOLDERS } from '../contacts/contact-fields.ts';
import { type FieldRow, listFields } from '../contacts/fields.ts';
import { findBook } from '../contacts/limits.ts';
import type { Actor } from '../core/actor.ts';
import { bitOf, type Channel, isRich, type RichChannel } from '../core/channels.ts';
import { as, columns, type Db, many, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { setStatementTimeoutMinutes, tenant, tenantTransaction } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { assertScope, requireScope } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { amountFor, shownAmount } from '../core/money.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { channelName, id, orNull } from '../core/schema.ts';
import { OPT_OUT_MARK, OPT_OUT_PLACEHOLDER, type OptOutLinks, optOutFault } from '../messages/opt-out-links.ts';
import { ReplacedOut } from '../messages/send-schema.ts';
import { maySmart, smartText } from '../messages/smart-encoding.ts';
import { findBalance } from '../money/credit.ts';
import { type FindPrice, pricing } from '../money/pricing.ts';
import { countParts } from '../smpp/text.ts';
import { composeForCampaign } from '../templates/components.ts';
import { findUsableTemplate, type Template } from '../templates/store.ts';
import {
  type AudienceSize,
  chainOf,
  FIELDS_OF,
  type Plan,
  type RecipientRange,
  recipientsSql,
  SKIP_REASONS,
  type SkipReason,
} from './audience.ts';
import { checkSettings, checkTemplates, type ReadSettings, readNewSettings } from './campaign.ts';
import { loadPlan, readNumbers } from './create.ts';
import { CampaignIn } from './schema.ts';
import { listListVersions, type Settings } from './store.ts';
import { type CustomField, type Field, parseText, renderSql, valuesSql, withLink } from './texts.ts';

const { sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType, ...form } = CampaignIn.properties;
const { encoding, purpose, whatsappPhoneNumberId, whatsappTemplateId, contactListIds } = form;

/** Number of recipients that can be shown at a time, and maximum offset into a list. */
const MAX_SHOWN = 20;
const MAX_OFFSET = 1000;

export const PreviewIn = Type.Object({
  sendingMode,
  smsSender,
  smsBody,
  encoding,
  purpose,
  rcsAgentId,
  rcsTemplateId,
  rcsTrafficType,
  whatsappPhoneNumberId,
  whatsappTemplateId,
  contactIds: Type.Optional(
    Type.Array(id(), { maxItems: MAX_SHOWN, description: 'These contacts, instead of lists and destinations.' }),
  ),
  contactListIds,
  destinations: Type.Optional(
    Type.Array(Type.String({ maxLength: 50 }), {
      maxItems: 1000,
      description: 'Numbers, if there are no lists. Some of them are enough.',
    }),
  ),
  skip: Type.Optional(
    Type.Enum([...SKIP_REASONS], {
      type: 'string',
      description: 'Only recipients to whom nothing would be sent for this reason. All recipients are examined for it.',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: MAX_SHOWN, default: 5, description: 'Number of recipients to show.' }),
  offset: Type.Integer({
    minimum: 0,
    maximum: MAX_OFFSET,
    default: 0,
    description: 'Number of recipients to skip first.',
  }),
});
export type PreviewIn = Static<typeof PreviewIn>;

const Step = Type.Object({
  channel: channelName(),
  text: Type.String({ description: 'The text that this recipient would read.' }),
  replaced: Type.Array(ReplacedOut, { description: 'With `encoding` smart, what was replaced in it.' }),
  parts: Type.Integer(),
  encoding: orNull(
    Type.Enum(['GSM-7', 'UCS-2'], { type: 'string', description: 'The encoding of an SMS; otherwise null.' }),
  ),
  unitPrice: shownAmount('Per part on SMS, per message on other channels.'),
  reachable: Type.Boolean({ description: 'False: the recipient is not tried on this channel.' }),
});

const PreviewOut = Type.Object({
  data: Type.Array(
    Type.Object({
      contactId: orNull(Type.Integer()),
      name: Type.String({ description: 'Empty if the name is not known.' }),
      phoneNumber: orNull(Type.String()),
      steps: Type.Array(Step, { description: 'In the order of the mode.' }),
      missing: Type.Array(Type.String(), {
        description: 'Fields that the texts use and this recipient does not have.',
      }),
      skip: orNull(
        Type.Enum([...SKIP_REASONS], {
          type: 'string',
          description: 'Reason why nothing would be sent to this recipient.',
        }),
      ),
    }),
    { description: 'In the order of the numbers.' },
  ),
  placeholders: Type.Array(
    Type.Object({
      name: Type.String(),
      custom: Type.Boolean(),
      filled: Type.Integer({ description: 'Number of the shown recipients that have a value.' }),
    }),
  ),
  total: Type.Integer({ description: 'All contacts of the lists, or all contacts or numbers that were given.' }),
  currency: Type.String(),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
    description: 'Faults that prevent the campaign from being saved or confirmed.',
  }),
});
type PreviewOut = Static<typeof PreviewOut>;

const PlaceholderOut = Type.Object({
  name: Type.String({ description: 'Written `{{name}}`, or `{{name|default}}`.' }),
  custom: Type.Boolean(),
  type: Type.Enum(['text', 'number', 'boolean', 'date'], { type: 'string' }),
  description: Type.String(),
});

/** Finding the skipped recipients among a million takes seconds. */
const MAX_MINUTES = 2;
const PG = '/api/partner-gateway/v1';

/** Registers the routes that show the messages of a campaign while it is being edited. */
export function previewRoutes(app: App, deps: PlatformDeps & { readonly tables: OptOutLinks }): void {
  const { pool, clock, tables } = deps;
  const onRequest = requireScope('campaigns');
  const tags = ['Campaigns'];

  app.post(`${PG}/campaigns/preview`, {
    onRequest: requireScope('campaigns', 'read'),
    config: { takesTurns: true },
    schema: {
      tags,
      operationId: 'previewCampaign',
      summary: 'Preview the messages of a campaign to some of its recipients',
      description:
        'Nothing is stored, so settings can be previewed before they are saved. Faults are listed in `problems`. Contacts ' +
        'and lists that do not exist are ignored. With contacts or lists, the scope "contacts" is also required.',
      body: withExamples(PreviewIn, {
        sendingMode: 'SMS',
        smsSender: 'ACME',
        smsBody: 'Hello {{firstName|there}}',
        contactListIds: [1],
        limit: 2,
        offset: 0,
      }),
      response: { 200: PreviewOut },
    },
    handler: idempotentHandler(deps, async (request, _reply) => {
      const { actor, body } = request;
      refuseOutsidePlan(actor, chainOf(body.sendingMode));
      if (body.contactIds?.length || body.contactListIds?.length) assertScope(request, 'contacts', 'read');
      const input = { ...body, now: clock.now() };
      if (body.skip === undefined) return previewCampaign({ db: tenant(pool, actor), ...tables }, actor, input);
      return tenantTransaction(pool, actor, async (tx) => {
        await setStatementTimeoutMinutes(tx, MAX_MINUTES);
        return previewCampaign({ db: tx, ...tables }, actor, input);
      });
    }),
  });

  app.get(`${PG}/contacts/placeholders`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listPlaceholders',
      summary: 'List the placeholders for the texts of campaigns',
      response: { 200: Type.Array(PlaceholderOut) },
    },
    handler: async ({ actor }) => {
      const all = placeholdersWith(await listFields(tenant(pool, actor), actor));
      return all.map(({ name, custom, type, description }) => ({ name, custom, type, description }));
    },
  });
}

/** A placeholder that the texts of a campaign may use. */
type PlaceholderName = {
  readonly name: string;
  readonly custom: boolean;
  readonly type: FieldRow['type'];
  readonly description: string;
  readonly field: NonNullable<Field>;
};

/** Returns all placeholders of an account: the standard fields of contacts, then its custom fields. */
const placeholdersWith = (customFields: readonly FieldRow[]): PlaceholderName[] => [
  ...PLACEHOLDERS.map((field) => ({ name: field, custom: false, type: 'text' as const, description: '', field })),
  ...customFields.map(({ id, name, type, description }) => ({
    name,
    custom: true,
    type,
    description,
    field: { customId: id },
  })),
];

/** Returns true if a recipient has a non-empty value in a field. */
function isFilled(recipient: PreviewRow, field: NonNullable<Field>): boolean {
  const value = typeof field === 'string' ? recipient[field] : recipient.customFields?.[String(field.customId)];
  return value !== null && value !== undefined && value !== '';
}

const isSame = (a: NonNullable<Field>, b: Field): boolean =>
  typeof a === 'string' ? a === b : b !== null && typeof b !== 'string' && a.customId === b.customId;

function usedIn(
  texts: readonly string[],
  all: readonly PlaceholderName[],
  customFields: readonly CustomField[],
): PlaceholderName[] {
  const pieces = texts.flatMap((text) => parseText(text, customFields).pieces);
  return all.filter(({ field }) => pieces.some((piece) => 'field' in piece && isSame(field, piece.field)));
}

const UNSAVED = 0;

type UnsavedPlan = { readonly plan: Plan; readonly total: number; readonly size: AudienceSize };

type Unsaved = OptOutLinks & {
  readonly accountId: number;
  readonly settings: Settings;
  readonly contactIds?: readonly number[] | undefined;
};

/**
 * Plans the recipients of unsaved settings: these contacts, or else the lists, or else the numbers. `total`: all
 * contacts of the lists together, or the distinct valid numbers.
 */
export async function planUnsaved(
  db: Db,
  { accountId, settings, contactIds, optOutLink }: Unsaved,
): Promise<UnsavedPlan> {
  const campaign = { ...settings, id: UNSAVED, destinationType: 1 as const };
  const plan = await loadPlan(db, { accountId, campaign, optOutLink });
  if (contactIds) return { plan: { ...plan, named: { contactIds } }, ...sized(contactIds.length) };
  if (settings.contactListIds.length > 0) {
    const lists = await listListVersions(db, { accountId, ids: settings.contactListIds });
    return { plan, ...sized(lists.reduce((sum, { contactCount }) => sum + contactCount, 0)) };
  }
  const book = await findBook(db, { accountId });
  const numbers = await readNumbers(settings.destinations, book ?? DEFAULT_NUMBER_RULES);
  const size = { named: settings.destinations.length, unreadable: numbers.unreadable };
  return { plan: { ...plan, named: { numbers } }, total: numbers.numbers.length, size };
}

const sized = (total: number): Omit<UnsavedPlan, 'plan'> => ({ total, size: { named: total, unreadable: 0 } });

type Of = Pick<Actor, 'accountId' | 'operations'>;

/**
 * Reads the declared fields of the preview as a new campaign: a campaign has more fields, which were not validated
 * here.
 */
function readDeclared({ now, ...body }: PreviewRequest): ReadSettings {
  Value.Clean(PreviewIn, body);
  return readNewSettings({ ...body, name: 'preview' }, now);
}

type PreviewRequest = PreviewIn & { readonly now: Date };

/**
 * Returns the messages that a campaign with these settings would send to some of its recipients, selected as for the
 * audience and filled in as for the carriers. Nothing is stored. Faulty settings are reported in `problems`.
 */
async function previewCampaign(
  { db, optOutLink }: OptOutLinks & { readonly db: Db },
  actor: Of,
  input: PreviewRequest,
): Promise<PreviewOut> {
  const { accountId } = actor;
  const { settings, faults } = readDeclared(input);
  const templates = await loadTemplates(db, accountId, settings);
  const contactIds = nonEmpty(input.contactIds);
  const { plan, total } = await planUnsaved(db, { accountId, settings, contactIds, optOutLink });
  const customFields = await listFields(db, { accountId });
  const texts = { ...variablesOf(templates), customFields };
  const { skip: reason, limit, offset } = input;
  const range = contactIds || reason ? null : { after: null, limit: offset + limit };
  const skipped = reason && { reason, limit, offset };
  const rows = await listPreviewRows(db, { plan, range, texts, skipped });
  const shown = skipped ? rows : rows.slice(offset, offset + limit);
  const all = placeholdersWith(customFields);
  const used = usedIn([settings.smsBody ?? '', ...[...texts.rcs, ...texts.whatsapp].map(inBraces)], all, customFields);
  const tools = { actor, settings, templates, used, optOutLink, findPrice: pricing(plan.prices) };
  const problems = [
    ...faults,
    ...optOutFault('smsBody', settings.smsBody, { optOutLink }),
    ...(await checkSettings(db, { accountId, settings })),
    ...(await checkTemplates(db, { accountId, settings })),
  ];
  return {
    data: shown.map((row) => toRecipient(row, tools)),
    placeholders: all.map(({ name, custom, field }) => ({
      name,
      custom,
      filled: shown.filter((row) => isFilled(row, field)).length,
    })),
    total: contactIds ? rows.length : total,
    currency: (await findBalance(db, { accountId }))?.currency ?? 'EUR',
    problems: problems.map(({ field, message }) => ({ field, message })),
  };
}

const nonEmpty = (ids: readonly number[] = []): readonly number[] | undefined => (ids.length > 0 ? ids : undefined);

const inBraces = (entry: string): string => `{{${entry}}}`;

type Templates = Readonly<Record<RichChannel, Template | undefined>>;

/** Loads the templates of the mode's channels; undefined if there is none. */
async function loadTemplates(db: Db, accountId: number, settings: Settings): Promise<Templates> {
  const chain = chainOf(settings.sendingMode);
  const load = async (channel: RichChannel, id: string | null): Promise<Template | undefined> =>
    id && chain.includes(channel) ? findUsableTemplate(db, { accountId, channel, id }) : undefined;
  return {
    RCS: await load('RCS', settings.rcsTemplateId),
    WHATSAPP: await load('WHATSAPP', settings.whatsappTemplateId),
  };
}

const variablesOf = ({ RCS, WHATSAPP }: Templates) => ({
  rcs: [...new Set(RCS?.variables)],
  whatsapp: [...new Set(WHATSAPP?.variables)],
});

type Tools = OptOutLinks & {
  readonly actor: Of;
  readonly settings: Settings;
  readonly templates: Templates;
  /** The placeholders that its texts use. */
  readonly used: readonly PlaceholderName[];
  readonly findPrice: FindPrice;
};

function toRecipient(row: PreviewRow, tools: Tools): PreviewOut['data'][number] {
  const { actor, settings, used, findPrice } = tools;
  const { contactId, phoneNumber, fullName, skip } = row;
  return {
    contactId,
    name: fullName ?? '',
    phoneNumber,
    steps: chainOf(settings.sendingMode).map((channel) => ({
      channel,
      ...renderStep(channel, row, tools),
      unitPrice: toPriceOut(actor, findPrice({ channel, destination: phoneNumber ?? '', parts: 1 })),
      reachable: (row.channels & bitOf(channel)) !== 0,
    })),
    missing: used.filter(({ field }) => !isFilled(row, field)).map(({ name }) => name),
    skip,
  };
}

const toPriceOut = (actor: Of, price: ReturnType<FindPrice>): number | null =>
  price === null ? null : amountFor(actor, price.unitMicros);

function renderStep(channel: Channel, row: PreviewRow, { actor, settings, templates, optOutLink }: Tools) {
  if (!isRich(channel)) {
    const isSmart = settings.encoding === 'smart' && maySmart(row.phoneNumber ?? '', settings.purpose);
    const link = optOutLink?.({ accountId: actor.accountId, phoneNumber: row.phoneNumber ?? '' });
    const filled = row.text.replaceAll(OPT_OUT_MARK, link ?? OPT_OUT_PLACEHOLDER);
    const { text, replaced } = isSmart ? smartText(filled) : { text: filled, replaced: [] };
    const { alphabet, parts } = countParts(text);
    return {
      text,
      replaced: [...replaced],
      parts,
      encoding: alphabet === 'gsm7' ? ('GSM-7' as const) : ('UCS-2' as const),
    };
  }
  const template = templates[channel];
  const values = row[FIELDS_OF[channel].values];
  return {
    text: (template && composeForCampaign(template, values)?.body) ?? '',
    replaced: [],
    parts: 1,
    encoding: null,
  };
}

type Expressions = { readonly text: Sql; readonly rcsValues: Sql; readonly whatsappValues: Sql };

type OwnColumns = Record<OwnPlaceholder, ReturnType<typeof as<string | null>>>;
const previewRow = ({ text, rcsValues, whatsappValues }: Expressions) =>
  columns({
    phoneNumber: as<string | null>('r.destination'),
    contactId: as<number | null>('r.contact_id'),
    /** Bits of the channels that would be tried. */
    channels: as<number>('r.channels'),
    skip: as<SkipReason | null>('r.skip_reason'),
    fullName: as<string | null>('c.full_name'),
    name: as<string | null>("coalesce(nullif(c.full_name, ''), r.destination)"),
    ...byField<OwnColumns>(OWN_PLACEHOLDERS, (name) => as(sql`c.${columnOf(name)}`)),
    /** Values by the ids of the fields; null for a number that is not a contact. */
    customFields: as<Readonly<Record<string, unknown>> | null>('c.custom_fields'),
    text: as<string>(text),
    rcsValues: as<Readonly<Record<string, string>>>(rcsValues),
    whatsappValues: as<Readonly<Record<string, string>>>(whatsappValues),
  });

/** A candidate of a campaign with the content that it would be sent. */
type PreviewRow = RowOf<ReturnType<typeof previewRow>>;

/** The variables of the templates, and the custom fields that may be used in them. */
type PreviewTexts = {
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
 * Lists recipients in the order of their numbers, selected as for the audience, with the texts filled in as for the
 * carriers.
 */
export const listPreviewRows = (db: Db, { plan, range, texts, skipped }: PreviewQuery): Promise<PreviewRow[]> => {
  const on = { contact: sql`c`, destination: sql`r.destination` };
  const values = (entries: readonly string[]): Sql => valuesSql(entries, texts.customFields, on);
  const expressions = {
    text: renderSql(withLink(plan.pieces ?? [], OPT_OUT_MARK), on),
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
