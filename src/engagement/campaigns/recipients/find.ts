import type { Db } from '../../../platform/db/query.ts';
import { firstIdAt } from '../../../platform/lib/ids.ts';
import { STATUS } from '../../../messaging/states.ts';
import { isCombined } from '../mode.ts';
import type { CampaignRow } from '../sql.ts';
import { findPlanned } from './planned.ts';
import { isLeftOut, type RecipientStatus } from './schema.ts';
import { countRecipients, listRecipients, type RecipientRow, type RecipientsOf, type Which } from './sql.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';

type Input = {
  readonly accountId: number;
  readonly campaign: CampaignRow;
  readonly status: RecipientStatus | undefined;
  readonly now: Date;
  readonly limit: number;
  readonly offset: number;
};

/** Finds a page of a campaign's recipients and their total; before it is confirmed, those of its goal. */
export async function findRecipients(db: Db, input: Input): Promise<{ rows: RecipientRow[]; total: number }> {
  const { accountId, campaign, status, now, limit, offset } = input;
  const { run, goal, confirmedAt, completedAt } = campaign;
  if (!confirmedAt) return findBeforehand(db, input);
  if (!run) return { rows: [], total: 0 };
  const of: RecipientsOf = {
    accountId,
    campaignId: campaign.id,
    which: whichOf(status),
    combined: isCombined(campaign.sendingMode),
    cancelled: campaign.cancelledAt !== null,
    suspended: isLeftOut(campaign),
    // A day more on both sides, since each machine that creates ids has its own clock.
    firstId: firstIdAt(new Date(confirmedAt.getTime() - DAY_MS)),
    endId: firstIdAt(new Date((completedAt ?? now).getTime() + DAY_MS)),
  };
  const counted = of.which === 'all' ? run.recipients - (goal?.unlisted ?? 0) : countRecipients(db, of);
  const [rows, total] = await Promise.all([listRecipients(db, { ...of, limit, offset }), counted]);
  return { rows, total };
}

/** Finds recipients before the confirmation: none has a message then. */
async function findBeforehand(db: Db, { status, ...input }: Input): Promise<{ rows: RecipientRow[]; total: number }> {
  const which = whichOf(status);
  return typeof which === 'string' ? findPlanned(db, { ...input, which }) : { rows: [], total: 0 };
}

function whichOf(status: RecipientStatus | undefined): Which {
  if (status === undefined) return 'all';
  if (status === 'SKIPPED') return 'skipped';
  return status === 'PENDING' ? 'pending' : { status: STATUS[status] };
}
