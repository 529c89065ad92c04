import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { listFields } from '../contacts/fields.ts';
import { findBook } from '../contacts/limits.ts';
import type { Actor } from '../core/actor.ts';
import { bitOf, type Channel, isRich, type RichChannel } from '../core/channels.ts';
import { as, columns, type Db, many, plainArray, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { existing, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { assertScope, requireScope } from '../core/http/auth.ts';
import { idempotentHandler, type PendingAnswer } from '../core/http/idempotency.ts';
import { DEFAULT_NUMBER_RULES, parsePhone } from '../core/phone.ts';
import { channelName, id, orNull } from '../core/schema.ts';
import type { Accept } from '../messages/accept.ts';
import { type BilledTemplates, findBilledTemplates } from '../messages/billing.ts';
import { OPT_OUT_MARK, OPT_OUT_PLACEHOLDER } from '../messages/opt-out-links.ts';
import { type Draft, newDraft, octetsOf, REFUSALS, type Verdict } from '../messages/read-send.ts';
import { listTemplateVariables } from '../templates/store.ts';
import { chainOf, FIELDS_OF } from './audience.ts';
import { checkSettings, checkTemplates, readNewSettings, refuseWithoutScope } from './campaign.ts';
import { contentOf } from './choose.ts';
import { listPreviewRows, planUnsaved } from './preview.ts';
import { ReviewIn } from './review.ts';
import { CampaignId } from './schema.ts';
import { type CampaignRow, findCampaign, type Settings } from './store.ts';
import { parseText, renderSql, valuesSql, withLink } from './texts.ts';

const TestIn = Type.Union([
  Type.Object({
    contactListIds: Type.Optional(
      Type.Array(id(), {
        minItems: 1,
        maxItems: 100,
        description: 'Test lists. Default: all test lists of the account.',
      }),
    ),
  }),
  Type.Null(),
]);

const TestOut = Type.Object({
  results: Type.Array(
    Type.Object({
      phoneNumber: Type.String(),
      channel: orNull(channelName()),
      accepted: Type.Boolean(),
      messageId: orNull(Type.String()),
      reasons: Type.Array(Type.String()),
    }),
  ),
});
type TestOut = Static<typeof TestOut>;

/** Makes one result per contact, in their order. `verdicts` has one for each draft that is not null. */
function toTestOut(
  contacts: readonly { readonly phoneNumber: string }[],
  drafts: readonly (Draft | null)[],
  verdicts: readonly Verdict[],
): TestOut {
  let next = 0;
  const results = contacts.map(({ phoneNumber }, i) => {
    const channel = drafts[i]?.channel ?? null;
    return { phoneNumber, ...toResult(channel, channel === null ? undefined : verdicts[next++]) };
  });
  return { results };
}

function toResult(channel: Channel | null, verdict: Verdict | undefined) {
  if (verdict?.kind === 'accepted') return { channel, accepted: true, messageId: verdict.messageId, reasons: [] };
  const reason = verdict?.kind === 'refused' ? REFUSALS[verdict.refusal] : 'no channel of the mode reaches the number';
  return { channel, accepted: false, messageId: null, reasons: [reason] };
}

const PATH = '/api/partner-gateway/v1/campaigns';

const TEXT = { sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hello {{firstName|there}}' } as const;

/**
 * Registers the routes that try out a campaign with real messages: on test lists, or on one phone before it is saved.
 */
export function testRoutes(app: App, deps: PlatformDeps & { readonly accept: Accept }): void {
  const { pool, clock, accept, answers } = deps;
  const tags = ['Campaigns'];
  const answerStoreOf = (pending: PendingAnswer | undefined): TestAnswerStore | undefined =>
    pending && {
      claim: (tx) => answers.claim(tx, pending),
      store: (tx, answer) => answers.store(tx, pending.seal(answer)),
    };

  app.post(`${PATH}/:id/test`, {
    onRequest: requireScope('campaigns'),
    schema: {
      tags,
      operationId: 'testCampaign',
      summary: 'Send a campaign to the contacts of test lists',
      description:
        'It is sent as it is now, to at most 100 contacts, each on the first channel that reaches it. The messages are ' +
        'charged as single messages and are not part of the figures of the campaign.',
      params: CampaignId,
      body: withExamples(TestIn, { contactListIds: [2] }),
      response: { 200: TestOut },
    },
    handler: idempotentHandler(deps, ({ actor, params, body }, _reply, pendingAnswer) => {
      const input = { ...params, contactListIds: body?.contactListIds, answerStore: answerStoreOf(pendingAnswer) };
      return sendTest({ db: tenant(pool, actor), accept }, actor, input);
    }),
  });

  app.post(`${PATH}/preview/send`, {
    onRequest: requireScope('campaigns'),
    schema: {
      tags,
      operationId: 'sendCampaignToPhone',
      summary: 'Send a message of a campaign to one phone',
      description:
        'Settings need not be saved. It is charged as a single message and is not part of the figures of any campaign. With ' +
        'a contact, the scope "contacts" is also required.',
      body: withExamples(PhoneTestIn, { ...TEXT, phoneNumber: '+61491570156' }),
      response: { 200: TestOut },
    },
    handler: idempotentHandler(deps, (request, _reply, pendingAnswer) => {
      const { actor, body } = request;
      if (body.contactId !== undefined) assertScope(request, 'contacts', 'read');
      return sendToPhone({ db: tenant(pool, actor), accept }, actor, {
        ...body,
        now: clock.now(),
        answerStore: answerStoreOf(pendingAnswer),
      });
    }),
  });
}

const MAX_CONTACTS = 100;

type TestDeps = { readonly db: Db; readonly accept: Accept };
/** Stores the response to a request with an Idempotency-Key, in the transaction of its messages. */
type TestAnswerStore = { claim(tx: Db): Promise<unknown>; store(tx: Db, answer: TestOut): Promise<unknown> };
type Input = {
  readonly id: number;
  readonly contactListIds: readonly number[] | undefined;
  readonly answerStore?: TestAnswerStore | undefined;
};

/**
 * Sends a campaign as it is now to the contacts of test lists, each on the first channel that reaches the contact. They
 * are single messages: sent before all campaigns, charged as such, and not part of the campaign's figures. Errors: 400
 * naming what the campaign lacks, lists that are not test lists, more than 100 contacts, or none; 403 without the
 * scopes of its channels; 404.
 */
async function sendTest(
  { db, accept }: TestDeps,
  actor: Actor,
  { id, contactListIds, answerStore }: Input,
): Promise<TestOut> {
  const campaign = await existing(findCampaign(db, { accountId: actor.accountId, id }));
  refuseWithoutScope(actor, campaign);
  const recipients = await findTestRecipients(db, actor, campaign, contactListIds);
  const templates = await findBilledTemplates(db, { ...campaign, accountId: actor.accountId });
  const drafts = recipients.map((recipient) => toDraft(campaign, recipient, templates));
  const answer = (verdicts: readonly Verdict[]): TestOut => toTestOut(recipients, drafts, verdicts);
  const request = {
    claim: async (tx: Db) => {
      await answerStore?.claim(tx);
      return true;
    },
    record: async (tx: Db, verdicts: readonly Verdict[]) => {
      await recordTest(tx, actor, id, drafts.length);
      await answerStore?.store(tx, answer(verdicts));
    },
  };
  const verdicts = await accept.once(
    actor,
    drafts.filter((draft) => draft !== null),
    request,
  );
  return answer(verdicts ?? []);
}

const recordTest = (tx: Db, actor: Author, id: number, contacts: number): Promise<void> =>
  recordAudit(tx, actor, { action: 'campaign.test', subject: `campaign:${id}`, detail: { contacts } });

async function findTestRecipients(
  db: Db,
  { accountId }: Actor,
  campaign: CampaignRow,
  wanted: readonly number[] | undefined,
): Promise<TestRecipient[]> {
  const faults = [
    ...(await checkSettings(db, { accountId, settings: campaign })),
    ...(await checkTemplates(db, { accountId, settings: campaign })),
  ];
  const listIds = await listTestLists(db, { accountId, ids: wanted ?? null });
  const others = (wanted ?? []).filter((list) => !listIds.includes(list));
  if (others.length > 0) faults.push({ field: 'contactListIds', message: `not test lists: ${others.join(', ')}` });
  if (faults.length > 0) throw invalidFields(faults);
  const recipients = await listTestRecipients(db, {
    accountId,
    listIds,
    limit: MAX_CONTACTS + 1,
    ...(await contentSql(db, accountId, campaign)),
  });
  if (recipients.length === 0) throw refused('the test lists have no contacts with numbers');
  if (recipients.length > MAX_CONTACTS)
    throw refused(`the test lists have more than ${MAX_CONTACTS} contacts in total`);
  return recipients;
}

const refused = (message: string) => invalidFields([{ field: 'contactListIds', message }]);

/** Makes the SQL expressions of the content for each contact. */
async function contentSql(db: Db, accountId: number, { smsBody, rcsTemplateId, whatsappTemplateId }: CampaignRow) {
  const fields = await listFields(db, { accountId });
  const on = { contact: sql`c`, destination: sql`c.phone_number` };
  const values = async (channel: RichChannel, templateId: string | null) => {
    const entries = templateId ? await listTemplateVariables(db, { accountId, channel, templateId }) : [];
    return valuesSql(entries ?? [], fields, on);
  };
  return {
    text: renderSql(withLink(parseText(smsBody ?? '', fields).pieces, OPT_OUT_MARK), on),
    rcsValues: await values('RCS', rcsTemplateId),
    whatsappValues: await values('WHATSAPP', whatsappTemplateId),
  };
}

/** Makes the message to a contact; null when no channel of the mode reaches the contact. */
function toDraft(campaign: CampaignRow, recipient: TestRecipient, templates: BilledTemplates): Draft | null {
  const channel = chainOf(campaign.sendingMode).find((one) => recipient.channels & bitOf(one));
  if (channel === undefined) return null;
  return newDraft({
    channel,
    source: 'CAMPAIGN',
    destination: recipient.phoneNumber,
    template: templates[channel],
    ...toContent(campaign, recipient, channel),
  });
}

type Sent = Pick<TestRecipient, 'text' | 'rcsValues' | 'whatsappValues'>;

/** Makes the body of a filled text, in which only the mark of the opt-out link is replaced. */
function toBody(text: string): Pick<Draft, 'body' | 'values'> {
  const pieces = text.split(OPT_OUT_MARK);
  return {
    body: pieces.map((_, i) => `{{${i}}}`).join(OPT_OUT_PLACEHOLDER),
    values: Object.fromEntries(pieces.entries()),
  };
}

/** Makes the content for one recipient on a channel: its sender, and the filled text or the template with its values. */
const toContent = (campaign: Settings, recipient: Sent, channel: Channel) => ({
  sender: campaign[FIELDS_OF[channel].sender] ?? '',
  ...(isRich(channel) ? { body: '' } : toBody(recipient.text)),
  encoding: campaign.encoding ?? undefined,
  tlvs: isRich(channel) ? null : octetsOf(campaign.tlvs),
  purpose: campaign.purpose,
  content: contentOf(campaign, channel, recipient),
});

const {
  contactListIds: _lists,
  destinations: _numbers,
  weeklyCap: _cap,
  scheduledDate: _date,
  ...content
} = ReviewIn.properties;

const PhoneTestIn = Type.Object({
  ...content,
  phoneNumber: Type.String({
    maxLength: 50,
    description: 'The phone that gets the message, read with the number rules of the account.',
  }),
  contactId: Type.Optional(id('Filled in for this contact; by default for the phone itself.')),
  channel: Type.Optional(channelName('One of the mode; by default its first.')),
});
type PhoneTestIn = Static<typeof PhoneTestIn>;

type ToInput = PhoneTestIn & { readonly now: Date; readonly answerStore?: TestAnswerStore | undefined };

/**
 * Sends to a phone the message that these settings would send to one recipient, as it is now; nothing has to be saved.
 * It is a single message: sent before all campaigns, charged as such, and not part of any campaign's figures. Errors:
 * 400 naming what the settings lack, a channel outside the mode or an unknown contact; 403 without the scopes of the
 * channels.
 */
async function sendToPhone(
  { db, accept }: TestDeps,
  actor: Actor,
  { answerStore, now, phoneNumber, contactId, channel: wanted, ...body }: ToInput,
): Promise<TestOut> {
  const { accountId } = actor;
  Value.Clean(PhoneTestIn, body);
  const { settings, faults } = readNewSettings({ ...body, destinations: [phoneNumber], name: 'test' }, now);
  refuseWithoutScope(actor, settings);
  const chain = chainOf(settings.sendingMode);
  const channel = wanted ?? chain[0];
  const all = [
    ...faults,
    ...(await checkSettings(db, { accountId, settings })),
    ...(await checkTemplates(db, { accountId, settings })),
  ];
  if (channel === undefined || !chain.includes(channel))
    all.push({ field: 'channel', message: 'is not one of the mode' });
  const recipient = await findRecipient(db, accountId, settings, contactId);
  const rules = (await findBook(db, { accountId })) ?? DEFAULT_NUMBER_RULES;
  const destination = parsePhone(phoneNumber, rules)?.e164 ?? phoneNumber;
  if (!recipient) all.push({ field: contactId ? 'contactId' : 'phoneNumber', message: 'is unknown or not valid' });
  if (all.length > 0 || channel === undefined || !recipient) throw invalidFields(all);
  const draft = newDraft({
    channel,
    source: 'CAMPAIGN',
    destination,
    template: (await findBilledTemplates(db, { ...settings, accountId }))[channel],
    ...toContent(settings, recipient, channel),
  });
  const answer = (verdicts: readonly Verdict[]): TestOut =>
    toTestOut([{ phoneNumber: destination }], [draft], verdicts);
  const request = {
    claim: async (tx: Db) => {
      await answerStore?.claim(tx);
      return true;
    },
    record: async (tx: Db, verdicts: readonly Verdict[]) => {
      await recordAudit(tx, actor, { action: 'campaign.test', subject: 'campaign', detail: { contacts: 1 } });
      await answerStore?.store(tx, answer(verdicts));
    },
  };
  return answer((await accept.once(actor, [draft], request)) ?? []);
}

/** Finds the message for the recipient: a contact, or the number that is the only destination. */
async function findRecipient(db: Db, accountId: number, settings: Settings, contactId: number | undefined) {
  const { plan } = await planUnsaved(db, {
    accountId,
    settings,
    contactIds: contactId === undefined ? undefined : [contactId],
  });
  const variables = async (channel: RichChannel, templateId: string | null) => [
    ...new Set((templateId && (await listTemplateVariables(db, { accountId, channel, templateId }))) || []),
  ];
  const texts = {
    rcs: await variables('RCS', settings.rcsTemplateId),
    whatsapp: await variables('WHATSAPP', settings.whatsappTemplateId),
    customFields: await listFields(db, { accountId }),
  };
  return (await listPreviewRows(db, { plan, range: null, texts }))[0];
}

type Of = { readonly accountId: number };

/** Lists the ids of an account's test lists; with `ids`, only of those among them. */
async function listTestLists(db: Db, { accountId, ids }: Of & { ids: readonly number[] | null }): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT id FROM contact_list
        WHERE account_id = ${accountId} AND is_test AND deleted_at IS NULL
          ${ids === null ? sql`` : sql`AND id = ANY(${plainArray(ids)}::bigint[])`} ORDER BY id`,
  );
  return rows.map(({ id }) => id);
}

type Expressions = { readonly text: Sql; readonly rcsValues: Sql; readonly whatsappValues: Sql };

const testRecipient = ({ text, rcsValues, whatsappValues }: Expressions) =>
  columns({
    phoneNumber: as<string>('c.phone_number'),
    /** Bits of the channels on which the number can be reached. */
    channels: as<number>('c.channels'),
    /** The text of the SMS, filled in for this contact. */
    text: as<string>(text),
    rcsValues: as<Record<string, string>>(rcsValues),
    whatsappValues: as<Record<string, string>>(whatsappValues),
  });

/** A contact of a test list with its content. */
type TestRecipient = RowOf<ReturnType<typeof testRecipient>>;

/**
 * Lists the contacts of lists with the content that they would be sent. `text`, `rcsValues` and `whatsappValues` are
 * expressions over contact `c`, made by src/campaigns/texts.ts.
 */
const listTestRecipients = (
  db: Db,
  input: Of & Expressions & { listIds: readonly number[]; limit: number },
): Promise<TestRecipient[]> =>
  many(
    db,
    sql`SELECT ${testRecipient(input)}
        FROM contact c
        WHERE c.account_id = ${input.accountId} AND c.phone_number IS NOT NULL AND c.id IN (
          SELECT m.contact_id FROM contact_list_member m
          WHERE m.account_id = ${input.accountId} AND m.list_id = ANY(${plainArray(input.listIds)}::bigint[]))
        ORDER BY c.phone_number LIMIT ${input.limit}`,
  );
