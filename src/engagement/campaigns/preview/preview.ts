import { Value } from 'typebox/value';
import { countParts } from '../../../carriers/smpp/text.ts';
import { listFields } from '../../contacts/fields/sql.ts';
import { findBalance } from '../../../money/credit/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { amountFor } from '../../../platform/lib/amounts.ts';
import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import { type PrefixTable, prefixTable } from '../../../platform/lib/phone/prefix-table.ts';
import { composeText } from '../../../network/templates/compose.ts';
import { findUsableTemplate, type Template } from '../../../network/templates/sql.ts';
import { checkSettings, checkTemplates } from '../check.ts';
import type { Plan } from '../audience/sql.ts';
import { chainOf } from '../mode.ts';
import { type ReadSettings, readNewSettings } from '../settings.ts';
import type { Settings } from '../sql.ts';
import { isFilled, type PlaceholderName, placeholdersWith, usedIn } from './fields.ts';
import { planUnsaved } from './plan.ts';
import { PreviewIn, type PreviewOut } from './schema.ts';
import { listPreviewRows, type PreviewRow } from './sql.ts';

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
 * goal and filled in as for the carriers. Nothing is stored. Faulty settings are reported in `problems`.
 */
export async function previewCampaign(db: Db, actor: Of, input: PreviewRequest): Promise<PreviewOut> {
  const { accountId } = actor;
  const { settings, faults } = readDeclared(input);
  const templates = await loadTemplates(db, accountId, settings);
  const contactIds = nonEmpty(input.contactIds);
  const { plan, total } = await planUnsaved(db, accountId, settings, contactIds);
  const customFields = await listFields(db, { accountId });
  const texts = { ...variablesOf(templates), customFields };
  const { skip: reason, limit, offset } = input;
  const range = contactIds || reason ? null : { after: null, limit: offset + limit };
  const skipped = reason && { reason, limit, offset };
  const rows = await listPreviewRows(db, { plan, range, texts, skipped });
  const shown = skipped ? rows : rows.slice(offset, offset + limit);
  const all = placeholdersWith(customFields);
  const used = usedIn([settings.smsBody ?? '', ...[...texts.rcs, ...texts.whatsapp].map(inBraces)], all, customFields);
  const tools = { actor, settings, templates, used, units: toUnitPrices(plan) };
  const problems = [
    ...faults,
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

type Templates = Readonly<Record<'RCS' | 'WHATSAPP', Template | undefined>>;

/** Loads the templates of the mode's channels; undefined if there is none. */
async function loadTemplates(db: Db, accountId: number, settings: Settings): Promise<Templates> {
  const chain = chainOf(settings.sendingMode);
  const load = async (channel: 'RCS' | 'WHATSAPP', id: string | null): Promise<Template | undefined> =>
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

type UnitPrices = PrefixTable<number>;

const toUnitPrices = ({ prices }: Plan): UnitPrices =>
  prefixTable(prices.map(({ channel, prefix, unitMicros }) => ({ group: channel, prefix, value: unitMicros })));

type Tools = {
  readonly actor: Of;
  readonly settings: Settings;
  readonly templates: Templates;
  /** The placeholders that its texts use. */
  readonly used: readonly PlaceholderName[];
  readonly units: UnitPrices;
};

function toRecipient(row: PreviewRow, tools: Tools): PreviewOut['data'][number] {
  const { actor, settings, templates, used, units } = tools;
  const { contactId, phoneNumber, fullName, skip } = row;
  return {
    contactId,
    name: fullName ?? '',
    phoneNumber,
    steps: chainOf(settings.sendingMode).map((channel) => ({
      channel,
      ...renderStep(channel, row, templates),
      unitPrice: toPriceOut(actor, units.find(channel, phoneNumber ?? '')),
      reachable: (row.channels & bitOf(channel)) !== 0,
    })),
    missing: used.filter(({ field }) => !isFilled(row, field)).map(({ name }) => name),
    skip,
  };
}

const toPriceOut = (actor: Of, micros: number | undefined): number | null =>
  micros === undefined ? null : amountFor(actor, micros);

function renderStep(channel: Channel, row: PreviewRow, templates: Templates) {
  if (channel === 'SMS') {
    const { alphabet, parts } = countParts(row.text);
    return { text: row.text, parts, encoding: alphabet === 'gsm7' ? ('GSM-7' as const) : ('UCS-2' as const) };
  }
  const template = templates[channel];
  const values = channel === 'RCS' ? row.rcsValues : row.whatsappValues;
  const filling = { values: (template?.variables ?? []).map((entry) => values[entry] ?? '') };
  return { text: template ? composeText(template, filling) : '', parts: 1, encoding: null };
}
