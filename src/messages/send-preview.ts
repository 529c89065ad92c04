import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { bareAgentId } from '../channels/rcs/settings.ts';
import type { Actor } from '../core/actor.ts';
import { CHANNEL, CHANNELS } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AppError, type FieldError } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { assertScope, requireAnyScope } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { amountFor, shownAmount } from '../core/money.ts';
import { countryOfUserId, MAX_USER_ID_LENGTH, parsePhone } from '../core/phone.ts';
import { channelName, orNull } from '../core/schema.ts';
import { findBalance } from '../money/credit.ts';
import { countParts, lastPartRoom, nonGsmCharacters } from '../smpp/text.ts';
import { findBodyErrors as faultsOfRcsBody } from '../templates/schema.ts';
import { findWindows } from './billing.ts';
import { createConsentCheck } from './consent.ts';
import { type Examined, examine, type Lookups } from './prepare.ts';
import { type Draft, newDraft, REFUSALS, type Refusal, readSchedule } from './read-send.ts';
import { type CheckedContent, checkRcs, checkWhatsapp } from './rich.ts';
import { faultsOfBody, RcsSendIn, WhatsappSendIn } from './rich-schema.ts';
import { encodingSchema, HoldOut, purposeFields, ReplacedOut } from './send-schema.ts';
import { toHoldOut } from './send-response.ts';

/** The schema accepts incomplete fields: they are reported in `problems` and not by 400. */
const destination = Type.Optional(Type.String({ maxLength: 50, description: 'The number in E.164.' }));
const person = Type.Optional(
  Type.String({ maxLength: MAX_USER_ID_LENGTH, description: 'The number in E.164, or a user id.' }),
);
const sender = (description: string) => Type.Optional(Type.String({ maxLength: 128, description }));

const rcs = RcsSendIn.properties;
const whatsapp = WhatsappSendIn.properties;

/** Fields that decide when the message is sent. */
const timing = { ...purposeFields, scheduledDate: rcs.scheduledDate };

const SmsPreview = Type.Object({
  channel: Type.Literal('SMS'),
  destination,
  sender: sender('The sender, as in senderName.'),
  text: Type.Optional(Type.String({ maxLength: 10_000 })),
  encoding: Type.Optional(encodingSchema),
  ...timing,
});
const WhatsappPreview = Type.Object({
  channel: Type.Literal('WHATSAPP'),
  destination: person,
  sender: sender('The phoneNumberId. Required for a template that is given by its name.'),
  template: whatsapp.template,
  body: whatsapp.body,
  ...timing,
});
const RcsPreview = Type.Object({
  channel: Type.Literal('RCS'),
  destination,
  sender: sender('The agentId.'),
  templateId: rcs.templateId,
  variables: rcs.variables,
  body: rcs.body,
  ...timing,
});

/** The same contents as in sends; every field except the channel may be omitted. */
const PreviewIn = Type.Union([SmsPreview, WhatsappPreview, RcsPreview]);
type PreviewIn = Static<typeof PreviewIn>;

const PreviewOut = Type.Object({
  channel: channelName(),
  text: Type.String({ description: 'The text that people would read.' }),
  encoding: orNull(
    Type.Enum(['GSM-7', 'UCS-2'], { type: 'string', description: 'Only for an SMS; null on other channels.' }),
  ),
  characters: Type.Integer({
    description:
      'As they are counted on SMS: ^{}\\[~]|€ count as two each in GSM-7, and an emoji counts as two in UCS-2.',
  }),
  parts: Type.Integer(),
  perPart: orNull(Type.Integer({ description: 'Characters per part; null except for an SMS.' })),
  remaining: orNull(Type.Integer({ description: 'Characters that fit before another part is needed.' })),
  replaced: Type.Array(ReplacedOut, { description: 'With `encoding` smart, what was replaced in the text.' }),
  unsupported: Type.Array(Type.String(), { description: 'The characters that require UCS-2, at most 50.' }),
  country: orNull(Type.String({ description: 'The country of the number: ISO 3166-1 alpha-2.' })),
  unitPrice: shownAmount('The price of a part on SMS, of a message elsewhere; null while it is unknown.'),
  price: shownAmount('The price of the message; null while it is unknown.'),
  held: orNull({ ...HoldOut, description: 'The rule of the calendar for which it would wait; null: for none.' }),
  currency: Type.String(),
  valid: Type.Boolean({ description: 'True if the given fields have no problems.' }),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() })),
});
type PreviewOut = Static<typeof PreviewOut>;

export type PreviewRouteDeps = PlatformDeps & {
  /** Routes, prices and senders in memory. */
  readonly tables: Lookups;
};

/** Registers the route that previews a single message: its parts, its price and the reasons for a rejection. */
export function previewRoutes(app: App, deps: PreviewRouteDeps): void {
  const { pool, tables } = deps;

  app.post('/api/partner-gateway/v1/messages/preview', {
    onRequest: requireAnyScope(CHANNELS, 'read'),
    schema: {
      tags: ['Sending'],
      operationId: 'previewMessage',
      summary: 'Preview a message',
      description:
        'The text of the message, its parts and its price. Nothing is sent, stored or charged. `problems` lists the ' +
        'reasons for which a send would be rejected, except for omitted fields. Requires the scope of the channel.',
      body: withExamples(PreviewIn, {
        channel: 'SMS',
        destination: '+393331234567',
        sender: 'ACME',
        text: 'Your parcel arrives today',
      }),
      response: { 200: PreviewOut },
    },
    handler: idempotentHandler(deps, (request: FastifyRequest<{ Body: PreviewIn }>) => {
      const { actor, body } = request;
      assertScope(request, body.channel, 'read');
      return previewMessage({ db: tenant(pool, actor), tables }, actor, body);
    }),
  });
}

type Sender = Pick<Actor, 'accountId' | 'hasOptOuts' | 'operations' | 'numberRules' | 'sendingRules'>;

/**
 * Previews a send: its text, its price and the reasons for a rejection, found by the same steps as in a send. Nothing
 * is stored. Omitted fields have no problems.
 */
async function previewMessage(
  { db, tables }: { readonly db: Db; readonly tables: Lookups },
  actor: Sender,
  input: PreviewIn,
): Promise<PreviewOut> {
  const { composed, faults } = await contentOf(db, actor, input);
  const draft = draftOf(input, composed);
  const findConsentFault = await createConsentCheck(db, tables.hashOfPerson)(actor, [draft]);
  const windowsOf = await findWindows({ pool: db, tables }, actor, [draft]);
  const found = examine(actor, draft, tables, findConsentFault, windowsOf);
  const balance = await findBalance(db, actor);
  const short = balance && !balance.unlimited && (found.priceMicros ?? 0) > balance.availableMicros;
  const refusals: readonly Refusal[] = short ? [...found.refusals, 'no_credit'] : found.refusals;
  const problems = [...faults, ...problemsOf(input, refusals)];
  return {
    channel: input.channel,
    text: found.body,
    replaced: [...found.replaced],
    ...measure({ ...draft, body: found.body }, found),
    held: found.hold && toHoldOut(found.hold),
    country: found.destination === null ? null : countryOf(found.destination),
    ...priceOf(found, actor),
    currency: balance?.currency ?? 'EUR',
    valid: problems.length === 0,
    problems,
  };
}

const countryOf = (destination: string): string | null =>
  countryOfUserId(destination) ?? parsePhone(destination)?.country ?? null;

type Content = { readonly composed: CheckedContent['composed'] | null; readonly faults: readonly FieldError[] };
const NOTHING: Content = { composed: null, faults: [] };

/** Composes the content of the message; the 400 errors of a send become its faults. */
async function contentOf(db: Db, actor: Sender, input: PreviewIn): Promise<Content> {
  try {
    return await readContent(db, actor, input);
  } catch (error) {
    if (!(error instanceof AppError) || !error.details) throw error;
    return { composed: null, faults: error.details.map(ofPreview) };
  }
}

const ofPreview = ({ field, message }: FieldError): FieldError => ({
  field: field === 'phoneNumberId' ? 'sender' : field,
  message,
});

async function readContent(db: Db, actor: Sender, input: PreviewIn): Promise<Content> {
  if (input.channel === 'SMS') return NOTHING;
  if (input.channel === 'RCS') {
    const { templateId, body } = input;
    if (templateId === undefined && body === undefined) return NOTHING;
    const { composed, faults } = await checkRcs(db, actor, input);
    return { composed, faults: [...(body ? faultsOfRcsBody(body) : []), ...faults] };
  }
  const { template, body, sender: phoneNumberId = '' } = input;
  // The phone number decides in which business account a template is searched for.
  if (!body && (!template || phoneNumberId === '')) return NOTHING;
  const { composed, faults } = await checkWhatsapp(db, actor, { template, body, phoneNumberId });
  return { composed, faults: [...(body ? faultsOfBody(body) : []), ...faults] };
}

const draftOf = (input: PreviewIn, composed: Content['composed']): Draft =>
  newDraft({
    channel: input.channel,
    source: 'API',
    destination: input.destination ?? '',
    sender: input.channel === 'RCS' ? bareAgentId(input.sender ?? '') : (input.sender ?? ''),
    body: input.channel === 'SMS' ? (input.text ?? '') : (composed?.body ?? ''),
    content: composed?.content ?? null,
    encoding: input.channel === 'SMS' ? input.encoding : undefined,
    template: composed?.template ?? null,
    purpose: input.purpose,
    respectCalendar: input.respectCalendar,
    scheduledAt: readSchedule(input.scheduledDate),
  });

/** The field that a rejection refers to. A rejection is not reported when its field is omitted. */
const ABOUT: Readonly<Record<Refusal, 'destination' | 'sender' | 'text' | 'credit'>> = {
  not_a_number: 'destination',
  no_country_code: 'destination',
  unknown_country_code: 'destination',
  impossible_length: 'destination',
  bad_sender: 'sender',
  foreign_sender: 'sender',
  sender_not_allowed: 'sender',
  no_pool: 'sender',
  empty_body: 'text',
  bad_body: 'text',
  no_content: 'text',
  body_too_long: 'text',
  body_not_gsm: 'text',
  no_public_url: 'text',
  binary_too_long: 'text',
  text_too_long_for_header: 'text',
  tlv_not_allowed: 'text',
  no_dlt_template: 'text',
  no_route: 'destination',
  no_registered_route: 'sender',
  no_price: 'destination',
  no_credit: 'credit',
  opted_out: 'destination',
  marketing_stopped: 'destination',
  stop_suspected: 'destination',
  not_opted_in: 'destination',
  weekly_cap: 'destination',
};

/**
 * Rejections already reported by other means: on RCS and WhatsApp the sender is the route, and the errors of the
 * content have been reported.
 */
const REPORTED_BEFORE: ReadonlySet<Refusal> = new Set(['no_content', 'no_route']);

function problemsOf(input: PreviewIn, refusals: readonly Refusal[]): FieldError[] {
  const isSms = input.channel === 'SMS';
  const { destination, sender } = input;
  const given = { destination, sender, text: isSms ? input.text : '', credit: '' };
  return refusals
    .filter((refusal) => given[ABOUT[refusal]] !== undefined && (isSms || !REPORTED_BEFORE.has(refusal)))
    .map((refusal) => {
      const field = ABOUT[refusal];
      return { field: field === 'text' && !isSms ? 'body' : field, message: REFUSALS[refusal] };
    });
}

const MAX_UNSUPPORTED = 50;

function measure({ channel, body }: Draft, { parts }: Examined) {
  if (!CHANNEL[channel].parts)
    return { encoding: null, characters: body.length, parts, perPart: null, remaining: null, unsupported: [] };
  const { alphabet, units, parts: needed } = countParts(body);
  const encoding = alphabet === 'gsm7' ? ('GSM-7' as const) : ('UCS-2' as const);
  const unsupported = nonGsmCharacters(body).slice(0, MAX_UNSUPPORTED);
  return { encoding, characters: units, parts: needed, ...lastPartRoom(body), unsupported };
}

const priceOf = ({ priceMicros, unitMicros }: Examined, sender: Sender) => ({
  unitPrice: unitMicros === null ? null : amountFor(sender, unitMicros),
  price: priceMicros === null ? null : amountFor(sender, priceMicros),
});
