import type { Content } from '../../carriers/content.ts';
import type { Db } from '../../db/query.ts';
import { type FieldError, invalidFields } from '../../errors.ts';
import { bareAgentId } from '../../senders/agent-id.ts';
import { findUsableSender } from '../../senders/sql.ts';
import { composeContent, composeText, readable } from '../../templates/compose.ts';
import { fillTemplate, type Given } from '../../templates/fill.ts';
import { faultsOfBody as faultsOfRcsBody, toContentMessage } from '../../templates/rcs-body.ts';
import { findUsableTemplate, findUsableTemplateByName, type Template } from '../../templates/sql.ts';
import type { Draft } from '../draft.ts';
import { readSchedule, readValidity, refuseFaults, scheduleFault } from '../read-send.ts';
import type { RcsSendIn, WhatsappSendIn } from './schema.ts';
import { faultsOfBody, textOfBody, toWhatsappContent } from './whatsapp-body.ts';

type Account = { readonly accountId: number };
/** What goes out, and what people read of it. */
type Said = { readonly content: Content; readonly body: string };

/**
 * A WhatsApp send as a draft: its template is looked up, filled and checked. Errors: 400 naming every field at fault; a
 * template of another account reads as one that there is not.
 */
export async function readWhatsappSend(db: Db, account: Account, input: WhatsappSendIn, now: Date): Promise<Draft> {
  const { template, body, phoneNumberId } = input;
  refuseFaults([
    ...onlyOne('template', template, 'body', body),
    ...(body ? faultsOfBody(body) : []),
    ...sharedFaults(input, now),
  ]);
  const said = body
    ? { content: toWhatsappContent(body), body: textOfBody(body) }
    : fill(await findWhatsappTemplate(db, account, input), template ?? {}, 'template');
  return { ...draftOf(input, now), ...said, channel: 'WHATSAPP', sender: phoneNumberId };
}

/** An RCS send as a draft; the same errors. */
export async function readRcsSend(db: Db, account: Account, input: RcsSendIn, now: Date): Promise<Draft> {
  const { templateId, body, variables, agentId } = input;
  refuseFaults([
    ...onlyOne('templateId', templateId, 'body', body),
    ...(body ? faultsOfRcsBody(body) : []),
    ...sharedFaults(input, now),
  ]);
  const said = body
    ? sayRcs(toContentMessage(body))
    : fill(await findTemplate(db, account, 'RCS', templateId ?? ''), { variables }, 'templateId');
  return { ...draftOf(input, now), ...said, channel: 'RCS', sender: bareAgentId(agentId) };
}

const sayRcs = (message: ReturnType<typeof toContentMessage>): Said => ({
  content: { channel: 'RCS', message },
  body: readable(message),
});

function onlyOne(one: string, a: unknown, other: string, b: unknown): FieldError[] {
  if ((a === undefined) !== (b === undefined)) return [];
  return [one, other].map((field) => ({ field, message: `exactly one of ${one} and ${other} is required` }));
}

type Shared = Pick<
  WhatsappSendIn,
  | 'destination'
  | 'messageId'
  | 'enableNotification'
  | 'scheduledDate'
  | 'validityPeriod'
  | 'simulation'
  | 'fallbackRcs'
  | 'fallbackSms'
>;

function sharedFaults({ scheduledDate, fallbackRcs, fallbackSms }: Shared, now: Date): FieldError[] {
  const schedule = scheduleFault(scheduledDate, now);
  const faults = schedule === null ? [] : [{ field: 'scheduledDate', message: schedule }];
  const fallbacks = { fallbackRcs, fallbackSms };
  const asked = Object.entries(fallbacks).filter(([, fallback]) => fallback !== undefined);
  return [
    ...faults,
    ...asked.map(([field]) => ({
      field,
      message: 'single sends have no fallback: send a campaign of a combined sendingMode',
    })),
  ];
}

function draftOf(input: Shared, now: Date) {
  const scheduledAt = readSchedule(input.scheduledDate);
  return {
    ...({ source: 'API', binary: null, priority: 0 } as const),
    clientId: input.messageId ?? null,
    destination: input.destination,
    simulation: input.simulation ?? false,
    wantReceipt: input.enableNotification ?? true,
    validUntil: readValidity(input.validityPeriod, scheduledAt ?? now),
    scheduledAt,
  };
}

async function findWhatsappTemplate(db: Db, account: Account, input: WhatsappSendIn): Promise<Template> {
  const { id, name, language } = input.template ?? {};
  const { accountId } = account;
  const sender = await findUsableSender(db, { accountId, channel: 'WHATSAPP', identity: input.phoneNumberId });
  if (!sender) throw invalidFields([{ field: 'phoneNumberId', message: 'the account has no such number' }]);
  const { connectionId } = sender;
  if (id === undefined) {
    if (name === undefined || language === undefined)
      throw invalidFields([{ field: 'template.id', message: 'is required, or name and language' }]);
    return orUnknown(await findUsableTemplateByName(db, { accountId, connectionId, name, language }), 'template');
  }
  const template = await findTemplate(db, account, 'WHATSAPP', id);
  if (template.connectionId !== connectionId)
    throw invalidFields([{ field: 'template', message: 'is not of the business account of this phone number' }]);
  return template;
}

const findTemplate = async (
  db: Db,
  { accountId }: Account,
  channel: 'RCS' | 'WHATSAPP',
  id: string,
): Promise<Template> =>
  orUnknown(await findUsableTemplate(db, { accountId, channel, id }), channel === 'RCS' ? 'templateId' : 'template');

function orUnknown(template: Template | undefined, field: string): Template {
  if (!template) throw invalidFields([{ field, message: 'there is no such template' }]);
  return template;
}

function fill(
  template: Template,
  given: { variables?: Given | undefined; headerLink?: string | undefined },
  field: string,
): Said {
  const { status, reason } = template;
  if (status !== 'APPROVED') {
    const why = reason === null ? '' : ` (${reason})`;
    throw invalidFields([{ field, message: `the template is ${status}${why}, not APPROVED` }]);
  }
  const { values, faults } = fillTemplate(template, given);
  refuseFaults(faults);
  const filling = { values, headerLink: given.headerLink };
  return { content: composeContent(template, filling), body: composeText(template, filling) };
}
