import { type Static, Type } from 'typebox';
import type { Author } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { setStatementTimeoutMinutes } from '../../../platform/db/transaction.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import { firstIdAt } from '../../../platform/lib/ids.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { STATUS } from '../../../messaging/states.ts';
import { createCampaign } from '../create.ts';
import { CampaignIn } from '../schema.ts';
import { type CampaignRow, findCampaign } from '../sql.ts';
import { listNumbersByStatus } from './sql.ts';

const MAX_NUMBERS = 100_000;
const MAX_MINUTES = 2;

/**
 * Final states after which the person was not reached and another message makes sense. UNKNOWN is excluded: the message
 * may have arrived.
 */
const FAILURES = [
  'REJECTED',
  'EXPIRED',
  'UNDELIVERABLE',
  'ERROR',
  'DISABLED',
  'UNSUPPORTED',
  'CONVERSATION_CLOSED',
] as const;

export const AgainIn = Type.Object({
  name: CampaignIn.properties.name,
  statuses: Type.Optional(
    Type.Array(Type.Enum([...FAILURES], { type: 'string' }), {
      minItems: 1,
      maxItems: FAILURES.length,
      description: 'Only recipients whose last message has one of these final statuses; by default all of these.',
    }),
  ),
});

type Input = Static<typeof AgainIn> & { readonly id: number; readonly now: Date };

/**
 * Makes a draft with the settings of a campaign for those of its recipients whom it did not reach, and returns its id.
 * Recipients to whom any message was delivered are excluded. Call it in a transaction. Errors: 400 when there are no
 * such recipients or more than 100,000, or when the settings are no longer allowed; 404.
 */
export async function repeatCampaign(
  tx: Db,
  actor: Author,
  { id, name, statuses = [...FAILURES], now }: Input,
): Promise<{ id: number }> {
  const { accountId } = actor;
  const campaign = await findCampaign(tx, { accountId, id });
  if (!campaign) throw new AppError('not_found');
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  const { confirmedAt, completedAt } = campaign;
  const numbers = confirmedAt
    ? await listNumbersByStatus(tx, {
        accountId,
        campaignId: id,
        statuses: statuses.map((status) => STATUS[status]),
        limit: MAX_NUMBERS + 1,
        // A day more on both sides, since each machine that creates ids has its own clock.
        firstId: firstIdAt(new Date(confirmedAt.getTime() - DAY_MS)),
        endId: firstIdAt(new Date((completedAt ?? now).getTime() + DAY_MS)),
      })
    : [];
  if (numbers.length === 0) throw refused('the campaign has no recipients that it did not reach');
  if (numbers.length > MAX_NUMBERS) throw refused(`there are more than ${MAX_NUMBERS} such recipients`);
  const body = { ...settingsOf(campaign), name, destinations: numbers, readyToSend: false };
  return createCampaign(tx, actor, body, { now });
}

const refused = (message: string): AppError => invalidFields([{ field: 'statuses', message }]);

/** Returns the settings that a new campaign takes over. */
function settingsOf(from: CampaignRow) {
  const { description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType } = from;
  const { whatsappPhoneNumberId, whatsappTemplateId, fallback, quietHours, rate } = from;
  const texts = { description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType };
  return { ...texts, whatsappPhoneNumberId, whatsappTemplateId, fallback, quietHours, rate };
}
