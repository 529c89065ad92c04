import { countParts } from '../../carriers/smpp/text.ts';
import { type FieldRow, listFields } from '../contacts/fields/sql.ts';
import { refuseOutsidePlan } from '../../identity/accounts/gate.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, type FieldError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { isSender, MAX_PARTS } from '../../messaging/sending/prepare.ts';
import { findUsableSender } from '../../network/senders/sql.ts';
import { checkTemplate } from '../../network/templates/check.ts';
import { listTemplateVariables } from '../../network/templates/find.ts';
import { chainOf } from './mode.ts';
import { findPolicy } from './policy/sql.ts';
import { listListVersions, type Settings } from './sql.ts';
import { leastText, parseText, STANDARD_FIELDS } from './text/parse.ts';

type Keys = 'smsSender' | 'smsBody' | 'rcsAgentId' | 'rcsTemplateId' | 'whatsappPhoneNumberId' | 'whatsappTemplateId';
/** The fields that each channel requires (rule 1 of the specification's campaign rules). */
const REQUIRED: Readonly<Record<Channel, readonly Keys[]>> = {
  SMS: ['smsSender', 'smsBody'],
  RCS: ['rcsAgentId', 'rcsTemplateId'],
  WHATSAPP: ['whatsappPhoneNumberId', 'whatsappTemplateId'],
};

type Checked = { readonly accountId: number; readonly settings: Settings };

/** Checks the settings of a campaign. Returns every fault, field by field; none when the campaign may be saved. */
export async function checkSettings(db: Db, { accountId, settings }: Checked): Promise<FieldError[]> {
  const chain = chainOf(settings.sendingMode);
  const faults = await Promise.all([
    ...chain.map((channel) =>
      channel === 'SMS' ? smsFaults(db, { accountId, settings }) : networkFaults(db, accountId, channel, settings),
    ),
    listFaults(db, { accountId, settings }),
  ]);
  return [...missingFields(chain, settings), ...faults.flat()];
}

const missingFields = (chain: readonly Channel[], settings: Settings): FieldError[] =>
  chain.flatMap((channel) =>
    REQUIRED[channel].flatMap((field) =>
      (settings[field] ?? '') === '' ? [{ field, message: `is required for ${channel}` }] : [],
    ),
  );

async function smsFaults(db: Db, { accountId, settings }: Checked): Promise<FieldError[]> {
  const { smsSender, smsBody } = settings;
  const faults: FieldError[] = smsBody ? bodyFaults(smsBody, await listFields(db, { accountId })) : [];
  if (!smsSender) return faults;
  if (!isSender(smsSender))
    return [
      ...faults,
      { field: 'smsSender', message: 'must have 1 to 11 letters and digits, or be a number of up to 16 digits' },
    ];
  const allowed = (await findPolicy(db, { accountId }))?.smsSenders ?? null;
  return allowed === null || allowed.includes(smsSender)
    ? faults
    : [...faults, { field: 'smsSender', message: 'is not one of the senders that the account allows' }];
}

function bodyFaults(body: string, fields: readonly FieldRow[]): FieldError[] {
  const { pieces, unknown } = parseText(body, fields);
  const faults: FieldError[] = [];
  if (unknown.length > 0) {
    const names = unknown.map((name) => `{{${name}}}`).join(', ');
    faults.push({ field: 'smsBody', message: `no contact has the field${unknown.length > 1 ? 's' : ''} ${names}` });
  }
  if (body.lastIndexOf('{{') > body.lastIndexOf('}}'))
    faults.push({ field: 'smsBody', message: 'has {{ without a closing }}' });
  if (countParts(leastText(pieces)).parts > MAX_PARTS)
    faults.push({ field: 'smsBody', message: `needs more than ${MAX_PARTS} parts` });
  return faults;
}

/**
 * Checks that the sender and the template of RCS or WhatsApp exist. `checkTemplates` checks later if it may be sent.
 */
async function networkFaults(
  db: Db,
  accountId: number,
  channel: Exclude<Channel, 'SMS'>,
  settings: Settings,
): Promise<FieldError[]> {
  const [senderField, templateField] = NETWORK_FIELDS[channel];
  const [sender, template] = [settings[senderField], settings[templateField]];
  const faults: FieldError[] = [];
  if (sender && !(await findUsableSender(db, { accountId, channel, identity: sender })))
    faults.push({ field: senderField, message: UNKNOWN[senderField] });
  if (template && !(await listTemplateVariables(db, { accountId, channel, templateId: template })))
    faults.push({ field: templateField, message: UNKNOWN[templateField] });
  return faults;
}

/** Sources of the ids that a campaign can use: its own description has only their names. */
const UNKNOWN = {
  rcsAgentId: 'unknown: GET /api/message-server/rcs/agents lists them, as agentId',
  rcsTemplateId: 'unknown: GET /api/message-server/rcs/templates lists them, as id',
  whatsappPhoneNumberId: 'unknown: GET /api/message-server/whatsapp/phone-numbers lists them, as phoneNumberId',
  whatsappTemplateId: 'unknown: GET /api/message-server/whatsapp/templates lists them, as id',
} as const;

/** The fields of the sender and of the template, for each channel with templates. */
export const NETWORK_FIELDS = {
  RCS: ['rcsAgentId', 'rcsTemplateId'],
  WHATSAPP: ['whatsappPhoneNumberId', 'whatsappTemplateId'],
} as const;

type Templated = { readonly accountId: number; readonly settings: Pick<Settings, 'sendingMode' | Keys> };
export type TemplateFault = FieldError & { readonly channel: Channel; readonly templateId: string };

/**
 * Checks whether the templates of a campaign may be sent now: they are approved, and there is a contact field for each
 * variable. Returns every fault.
 */
export async function checkTemplates(db: Db, { accountId, settings }: Templated): Promise<TemplateFault[]> {
  const uses = chainOf(settings.sendingMode).flatMap((channel) => {
    if (channel === 'SMS') return [];
    const [senderField, field] = NETWORK_FIELDS[channel];
    const [sender, templateId] = [settings[senderField], settings[field]];
    return templateId ? [{ channel, field, sender, templateId }] : [];
  });
  if (uses.length === 0) return [];
  const custom = await listFields(db, { accountId });
  const fields = new Set([...STANDARD_FIELDS, ...custom.map(({ name }) => name)]);
  const faults = uses.map(async ({ channel, field, sender, templateId }) => {
    const problems = await checkTemplate(db, { accountId, channel, templateId, sender, fields });
    return problems.map((message) => ({ field, message, channel, templateId }));
  });
  return (await Promise.all(faults)).flat();
}

/** Denies an actor who may not send on all channels of a campaign. Errors: 403 naming what is missing. */
export function refuseWithoutScope(actor: Actor, { sendingMode }: Pick<Settings, 'sendingMode'>): void {
  const { operations } = actor;
  refuseOutsidePlan(actor, chainOf(sendingMode));
  const lacking = chainOf(sendingMode).filter((channel) => !operations.has(channel));
  if (lacking.length > 0)
    throw new AppError('forbidden', { message: `These credentials lack the scope "${lacking.join('", "')}"` });
}

async function listFaults(db: Db, { accountId, settings }: Checked): Promise<FieldError[]> {
  const ids = settings.contactListIds;
  if (ids.length === 0) return [];
  const known = new Set((await listListVersions(db, { accountId, ids })).map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id));
  return unknown.length === 0 ? [] : [{ field: 'contactListIds', message: `unknown: ${unknown.join(', ')}` }];
}
