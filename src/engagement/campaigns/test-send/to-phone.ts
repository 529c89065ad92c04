import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { recordAudit } from '../../../identity/audit/record.ts';
import { listFields } from '../../contacts/fields/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { channelName, id } from '../../../platform/lib/schema.ts';
import { newDraft, type Verdict } from '../../../messaging/sending/draft.ts';
import { listTemplateVariables } from '../../../network/templates/find.ts';
import { checkSettings, checkTemplates, refuseWithoutScope } from '../check.ts';
import { chainOf } from '../mode.ts';
import { planUnsaved } from '../preview/plan.ts';
import { listPreviewRows } from '../preview/sql.ts';
import { ReviewIn } from '../review/schema.ts';
import { readNewSettings } from '../settings.ts';
import type { Settings } from '../sql.ts';
import { type TestAnswerStore, type TestDeps, toContent } from './send.ts';
import { toTestOut, type TestOut } from './schema.ts';

const { contactListIds: _lists, destinations: _numbers, ...content } = ReviewIn.properties;

export const PhoneTestIn = Type.Object({
  ...content,
  phoneNumber: Type.String({ maxLength: 50, description: 'The phone that gets the message.' }),
  contactId: Type.Optional(id('Filled in for this contact; by default for the phone itself.')),
  channel: Type.Optional(channelName('One of the mode; by default its first.')),
});
export type PhoneTestIn = Static<typeof PhoneTestIn>;

type Input = PhoneTestIn & { readonly now: Date; readonly answerStore?: TestAnswerStore | undefined };

/**
 * Sends to a phone the message that these settings would send to one recipient, as it is now; nothing has to be saved.
 * It is a single message: sent before all campaigns, charged as such, and not part of any campaign's figures. Errors:
 * 400 naming what the settings lack, a channel outside the mode or an unknown contact; 403 without the scopes of the
 * channels.
 */
export async function sendToPhone(
  { db, accept }: TestDeps,
  actor: Actor,
  { answerStore, now, phoneNumber, contactId, channel: wanted, ...body }: Input,
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
  if (!recipient) all.push({ field: contactId ? 'contactId' : 'phoneNumber', message: 'is unknown or not valid' });
  if (all.length > 0 || channel === undefined || !recipient) throw invalidFields(all);
  const draft = newDraft({
    channel,
    source: 'CAMPAIGN',
    destination: phoneNumber,
    ...toContent(settings, recipient, channel),
  });
  const answer = (verdicts: readonly Verdict[]): TestOut => toTestOut([{ phoneNumber }], [draft], verdicts);
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
  const { plan } = await planUnsaved(db, accountId, settings, contactId === undefined ? undefined : [contactId]);
  const variables = async (channel: 'RCS' | 'WHATSAPP', templateId: string | null) => [
    ...new Set((templateId && (await listTemplateVariables(db, { accountId, channel, templateId }))) || []),
  ];
  const texts = {
    rcs: await variables('RCS', settings.rcsTemplateId),
    whatsapp: await variables('WHATSAPP', settings.whatsappTemplateId),
    customFields: await listFields(db, { accountId }),
  };
  return (await listPreviewRows(db, { plan, range: null, texts }))[0];
}
