import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import { listFields } from '../../contacts/fields/sql.ts';
import { type Db, sql } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import type { Accept } from '../../../messaging/sending/accept.ts';
import { type Draft, newDraft, type Verdict } from '../../../messaging/sending/draft.ts';
import { listTemplateVariables } from '../../../network/templates/find.ts';
import { checkSettings, checkTemplates, NETWORK_FIELDS, refuseWithoutScope } from '../check.ts';
import { chainOf } from '../mode.ts';
import { type CampaignRow, findCampaign, type Settings } from '../sql.ts';
import { parseText } from '../text/parse.ts';
import { renderSql, valuesSql } from '../text/sql.ts';
import { listTestLists, listTestRecipients, type TestRecipient } from './sql.ts';
import { toTestOut, type TestOut } from './schema.ts';

const MAX_CONTACTS = 100;

export type TestDeps = { readonly db: Db; readonly accept: Accept };
/** Stores the response to a request with an Idempotency-Key, in the transaction of its messages. */
export type TestAnswerStore = { claim(tx: Db): Promise<unknown>; store(tx: Db, answer: TestOut): Promise<unknown> };
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
export async function sendTest(
  { db, accept }: TestDeps,
  actor: Actor,
  { id, contactListIds, answerStore }: Input,
): Promise<TestOut> {
  const campaign = await findCampaign(db, { accountId: actor.accountId, id });
  if (!campaign) throw new AppError('not_found');
  refuseWithoutScope(actor, campaign);
  const recipients = await findTestRecipients(db, actor, campaign, contactListIds);
  const drafts = recipients.map((recipient) => toDraft(campaign, recipient));
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
  const values = async (channel: 'RCS' | 'WHATSAPP', templateId: string | null) => {
    const entries = templateId ? await listTemplateVariables(db, { accountId, channel, templateId }) : [];
    return valuesSql(entries ?? [], fields, on);
  };
  return {
    text: renderSql(parseText(smsBody ?? '', fields).pieces, on),
    rcsValues: await values('RCS', rcsTemplateId),
    whatsappValues: await values('WHATSAPP', whatsappTemplateId),
  };
}

/** Makes the message to a contact; null when no channel of the mode reaches the contact. */
function toDraft(campaign: CampaignRow, recipient: TestRecipient): Draft | null {
  const channel = chainOf(campaign.sendingMode).find((one) => recipient.channels & bitOf(one));
  if (channel === undefined) return null;
  return newDraft({
    channel,
    source: 'CAMPAIGN',
    destination: recipient.phoneNumber,
    ...toContent(campaign, recipient, channel),
  });
}

type Sent = Pick<TestRecipient, 'text' | 'rcsValues' | 'whatsappValues'>;

/**
 * Makes the content for one recipient on a channel: its sender, and the filled text or the template with its values.
 */
export function toContent(
  campaign: Settings,
  recipient: Sent,
  channel: Channel,
): Pick<Draft, 'sender' | 'body' | 'content'> {
  if (channel === 'SMS') return { sender: campaign.smsSender ?? '', body: recipient.text };
  const [senderField, templateField] = NETWORK_FIELDS[channel];
  const values = channel === 'RCS' ? recipient.rcsValues : recipient.whatsappValues;
  const trafficType = channel === 'RCS' ? campaign.rcsTrafficType : null;
  const own = trafficType === null ? {} : { trafficType };
  const content = { template: campaign[templateField] ?? '', channel, values, ...own };
  return { sender: campaign[senderField] ?? '', body: '', content };
}
