import type { Static } from 'typebox';
import { bareAgentId } from '../channels/rcs/settings.ts';
import type { RichChannel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { isUserId } from '../core/phone.ts';
import { scheduleFault } from '../core/time.ts';
import { findFileErrors, type WantedFile } from '../media/media.ts';
import { findUsableSender, type UsableSender } from '../routing/senders.ts';
import { countParts } from '../smpp/text.ts';
import {
  composeContent,
  composeText,
  fillTemplate,
  type Given,
  type SentComponents,
  readable,
  type WholeContent,
} from '../templates/content.ts';
import {
  findBodyErrors as faultsOfRcsBody,
  filesOfBody as filesOfRcsBody,
  findBodyErrors,
  toContentMessage,
} from '../templates/schema.ts';
import { composeComponents, findComponentFaults } from '../templates/components.ts';
import { findUsableTemplate, findUsableTemplateByName, type Template } from '../templates/store.ts';
import { type BilledTemplate, billedTemplate } from './billing.ts';
import type { NextChannel } from './fallback-store.ts';
import { followRule } from './next-channel.ts';
import { MAX_PARTS } from './prepare.ts';
import {
  clientDataOf,
  clientIdFaults,
  clientIdOf,
  type Draft,
  newDraft,
  REFUSALS,
  readSchedule,
  readValidity,
  refuseFaults,
} from './read-send.ts';
import {
  type FallbackRcs,
  type FallbackSms,
  faultsOfBody,
  filesOfBody,
  type RcsContent,
  type RcsSendIn,
  textOfBody,
  toWhatsappContent,
  type WhatsappSendIn,
} from './rich-schema.ts';
import type { Fallback } from './send-schema.ts';

type Account = { readonly accountId: number };

/**
 * Reads a WhatsApp send as a draft. Its template is looked up, filled in and checked, and so are its fallbacks. Errors:
 * 400 naming every invalid field; things of another account are reported as unknown.
 */
export async function readWhatsappSend(db: Db, account: Account, input: WhatsappSendIn, now: Date): Promise<Draft> {
  const { template, body, phoneNumberId } = input;
  refuseFaults([
    ...onlyOne('template', template, 'body', body),
    ...(body ? faultsOfBody(body) : []),
    ...clientIdFaults(input),
    ...scheduleFaults(input, now),
    ...fallbackFaults(input),
    ...faultsOfUserId(input),
  ]);
  const composed = await composeWhatsapp(db, account, input);
  if (composed.template?.category === 'marketing' && input.purpose !== undefined && input.purpose !== 'marketing')
    throw invalidFields([{ field: 'purpose', message: 'must be marketing: the network takes the template for that' }]);
  const nextChannels = await readNextChannels(db, account, input, 'WHATSAPP');
  return newDraft({
    channel: 'WHATSAPP',
    sender: phoneNumberId,
    ...composed,
    ...sharedFields(input, now, nextChannels),
  });
}

/**
 * Reads an RCS send as a draft. Its template is looked up, filled in and checked, and so are its fallbacks. Errors: 400
 * naming every invalid field; things of another account are reported as unknown.
 */
export async function readRcsSend(db: Db, account: Account, input: RcsSendIn, now: Date): Promise<Draft> {
  const { templateId, body, agentId, fallbackSms, fallback } = input;
  refuseFaults([
    ...onlyOne('templateId', templateId, 'body', body),
    ...(body ? faultsOfRcsBody(body) : []),
    ...clientIdFaults(input),
    ...scheduleFaults(input, now),
    ...fallbackFaults({ fallbackSms }),
  ]);
  const composed = await composeRcs(db, account, input);
  const nextChannels = await readNextChannels(db, account, { fallbackSms, fallback }, 'RCS');
  return newDraft({
    channel: 'RCS',
    sender: bareAgentId(agentId),
    ...composed,
    ...sharedFields(input, now, nextChannels),
  });
}

/** Returns the errors of a user id: it is valid on WhatsApp only, so nothing can follow on another channel. */
const faultsOfUserId = ({ destination, fallbackRcs, fallbackSms }: WhatsappSendIn): FieldError[] =>
  !isUserId(destination)
    ? []
    : Object.entries({ fallbackRcs, fallbackSms }).flatMap(([field, given]) =>
        given ? [{ field, message: 'needs a phone number, but the destination is a user id' }] : [],
      );

type Shared = Pick<
  WhatsappSendIn,
  | 'destination'
  | 'customerMessageId'
  | 'messageId'
  | 'enableNotification'
  | 'scheduledDate'
  | 'validityPeriod'
  | 'simulation'
  | 'purpose'
  | 'respectCalendar'
  | 'metadata'
  | 'tags'
  | 'callbackUrl'
>;

function scheduleFaults({ scheduledDate }: Shared, now: Date): FieldError[] {
  const message = scheduleFault(scheduledDate, now);
  return message === null ? [] : [{ field: 'scheduledDate', message }];
}

/**
 * Reads the fields that both sends share. A fallback depends on receipts, so they are always requested when there is
 * one.
 */
function sharedFields(input: Shared, now: Date, nextChannels: readonly NextChannel[]) {
  const scheduledAt = readSchedule(input.scheduledDate);
  return {
    source: 'API' as const,
    ...(nextChannels.length > 0 && { nextChannels }),
    clientId: clientIdOf(input),
    destination: input.destination,
    simulation: input.simulation ?? false,
    wantReceipt: nextChannels.length > 0 || (input.enableNotification ?? true),
    validUntil: readValidity(input.validityPeriod, scheduledAt ?? now),
    scheduledAt,
    purpose: input.purpose,
    respectCalendar: input.respectCalendar,
    ...clientDataOf(input),
  };
}

/** The fallbacks requested with a send. */
type FallbackInput = {
  readonly fallbackRcs?: FallbackRcs | undefined;
  readonly fallbackSms?: FallbackSms | undefined;
  readonly fallback?: Static<typeof Fallback> | undefined;
};

/** Returns the errors in the fallbacks that their schema cannot find. */
function fallbackFaults({ fallbackRcs, fallbackSms }: FallbackInput): FieldError[] {
  return [...(fallbackRcs ? rcsFaults(fallbackRcs, fallbackSms) : []), ...(fallbackSms ? smsFaults(fallbackSms) : [])];
}

function rcsFaults({ templateId, body }: FallbackRcs, fallbackSms: FallbackSms | undefined): FieldError[] {
  return [
    ...(fallbackSms ? [] : [{ field: 'fallbackSms', message: 'is required with fallbackRcs' }]),
    ...onlyOne('fallbackRcs.templateId', templateId, 'fallbackRcs.body', body),
    ...(body ? findBodyErrors(body, 'fallbackRcs.body') : []),
  ];
}

function smsFaults({ body }: FallbackSms): FieldError[] {
  const field = 'fallbackSms.body';
  if (body.includes('\0')) return [{ field, message: REFUSALS.bad_body }];
  return countParts(body).parts > MAX_PARTS ? [{ field, message: REFUSALS.body_too_long }] : [];
}

/** Returns the errors of two fields of which exactly one must be given. */
function onlyOne(one: string, a: unknown, other: string, b: unknown): FieldError[] {
  if ((a === undefined) !== (b === undefined)) return [];
  return [one, other].map((field) => ({ field, message: `exactly one of ${one} and ${other} is required` }));
}

/**
 * Reads the messages that follow a send on the channel `first`, with the same checks as the send itself. Errors: 400;
 * an agent or a template of another account is reported as unknown.
 */
async function readNextChannels(
  db: Db,
  account: { readonly accountId: number },
  { fallbackRcs, fallbackSms, fallback = {} }: FallbackInput,
  first: RichChannel,
): Promise<NextChannel[]> {
  const nextChannels: NextChannel[] = [];
  if (fallbackRcs) nextChannels.push({ ...(await readRcs(db, account, fallbackRcs)), ...followRule(fallback, first) });
  if (fallbackSms) {
    const { sender = '', body } = fallbackSms;
    nextChannels.push({
      channel: 'SMS',
      sender,
      body,
      content: null,
      ...followRule(fallback, fallbackRcs ? 'RCS' : first),
    });
  }
  return nextChannels;
}

async function readRcs(db: Db, account: { readonly accountId: number }, input: FallbackRcs) {
  const sender = bareAgentId(input.agentId);
  if (!(await findUsableSender(db, { ...account, channel: 'RCS', identity: sender })))
    throw invalidFields([{ field: 'fallbackRcs.agentId', message: 'the account has no such agent' }]);
  return { channel: 'RCS', sender, ...(await composeRcs(db, account, input, 'fallbackRcs.')) } as const;
}

/** The content to be sent, and its readable text. */
type Composed = { readonly content: WholeContent; readonly body: string; readonly template?: BilledTemplate };

/** The content that a message would have, and the errors that keep it from being sent. */
export type CheckedContent = { readonly composed: Composed; readonly faults: readonly FieldError[] };

type Whatsapp = {
  readonly phoneNumberId: string;
  readonly template?: WhatsappSendIn['template'] | undefined;
  readonly body?: WhatsappSendIn['body'] | undefined;
};

/** Composes the content of a WhatsApp send. Errors: 400; a template of another account is reported as unknown. */
const composeWhatsapp = async (db: Db, account: Account, input: Whatsapp): Promise<Composed> =>
  withoutFaults(await checkWhatsapp(db, account, input));

/**
 * Composes the content of an RCS send. `path` is the place of the input in the request: empty, or ending in a dot.
 * Errors: 400; a template of another account is reported as unknown.
 */
const composeRcs = async (db: Db, account: Account, input: RcsContent, path = ''): Promise<Composed> =>
  withoutFaults(await checkRcs(db, account, input, path));

function withoutFaults({ composed, faults }: CheckedContent): Composed {
  refuseFaults(faults);
  return composed;
}

/**
 * Composes the content of a WhatsApp send even if it has errors, and returns these. Errors: 400 when nothing can be
 * composed.
 */
export async function checkWhatsapp(db: Db, account: Account, input: Whatsapp): Promise<CheckedContent> {
  const { template = {}, body } = input;
  if (body) {
    const files = filesOfBody(body);
    const content = { ...toWhatsappContent(body), ...naming(files) };
    return { composed: { content, body: textOfBody(body) }, faults: await findFileErrors(db, account, files) };
  }
  const { sender, template: found } = await findWhatsappTemplate(db, account, input);
  const { composed, faults } = fill(found, template, 'template', 'template.');
  return { composed: { ...composed, template: billedTemplate(found, sender) }, faults };
}

/**
 * Composes the content of an RCS send even if it has errors, and returns these. `path` is the place of the input in the
 * request: empty, or ending in a dot. Errors: 400 when nothing can be composed.
 */
export async function checkRcs(db: Db, { accountId }: Account, input: RcsContent, path = ''): Promise<CheckedContent> {
  const { templateId = '', body, variables, trafficType } = input;
  const own = trafficType === undefined ? {} : { trafficType };
  if (body) {
    const files = filesOfRcsBody(body, `${path}body`);
    const message = toContentMessage(body);
    const content = { channel: 'RCS', message, ...own, ...naming(files) } as const;
    const composed = { content, body: readable(message) };
    return { composed, faults: await findFileErrors(db, { accountId }, files) };
  }
  const field = `${path}templateId`;
  const template = orUnknown(await findUsableTemplate(db, { accountId, channel: 'RCS', id: templateId }), field);
  return fill({ ...template, ...own }, { variables }, field, path);
}

const naming = (files: readonly WantedFile[]) => (files.length > 0 ? { files: files.map(({ id }) => id) } : {});

async function findWhatsappTemplate(
  db: Db,
  { accountId }: Account,
  input: Whatsapp,
): Promise<{ sender: UsableSender; template: Template }> {
  const { id, name, language } = input.template ?? {};
  const sender = await findUsableSender(db, { accountId, channel: 'WHATSAPP', identity: input.phoneNumberId });
  if (!sender) throw invalidFields([{ field: 'phoneNumberId', message: 'the account has no such number' }]);
  const { connectionId } = sender;
  if (id === undefined) {
    if (name === undefined || language === undefined)
      throw invalidFields([{ field: 'template.id', message: 'is required, unless name and language are given' }]);
    const named = await findUsableTemplateByName(db, { accountId, connectionId, name, language });
    return { sender, template: orUnknown(named, 'template') };
  }
  const template = orUnknown(await findUsableTemplate(db, { accountId, channel: 'WHATSAPP', id }), 'template');
  if (template.connectionId !== connectionId)
    throw invalidFields([
      { field: 'template', message: 'does not belong to the business account of this phone number' },
    ]);
  return { sender, template };
}

function orUnknown(template: Template | undefined, field: string): Template {
  if (!template) throw invalidFields([{ field, message: 'there is no such template' }]);
  return template;
}

type Values = {
  variables?: Given | undefined;
  headerLink?: string | undefined;
  components?: SentComponents | undefined;
};

/** @param path the place of the values in the request: empty, or ending in a dot */
function fill(template: Template, given: Values, field: string, path: string): CheckedContent {
  const { faults, ...composed } = given.components
    ? fillParts(template, given, given.components)
    : fillIn(template, given);
  const unfit = statusFaults(template, field);
  if (unfit.length > 0) return { composed, faults: unfit };
  return { composed, faults: faults.map((fault) => ({ ...fault, field: fault.field.replace(/^template\./, path) })) };
}

function fillIn(template: Template, given: Values) {
  const { values, faults } = fillTemplate(template, given);
  const filling = { values, headerLink: given.headerLink };
  return { content: composeContent(template, filling), body: composeText(template, filling), faults };
}

function fillParts(template: Template, { variables, headerLink }: Values, components: SentComponents) {
  const faults = Object.entries({ variables, headerLink }).flatMap(([field, value]) =>
    value === undefined ? [] : [{ field: `template.${field}`, message: 'must not be given together with components' }],
  );
  const unfit = findComponentFaults(template, components, 'template.components');
  return { ...composeComponents(template, components), faults: [...faults, ...unfit] };
}

function statusFaults({ status, reason }: Template, field: string): FieldError[] {
  if (status === 'APPROVED') return [];
  const why = reason === null ? '' : ` (${reason})`;
  return [{ field, message: `the template is ${status}${why}, not APPROVED` }];
}
