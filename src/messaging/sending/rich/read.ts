import type { Db } from '../../../platform/db/query.ts';
import type { FieldError } from '../../../platform/errors.ts';
import { bareAgentId } from '../../../carriers/rcs/agent-id.ts';
import { faultsOfBody as faultsOfRcsBody } from '../../../network/templates/rcs-body.ts';
import type { Draft } from '../draft.ts';
import type { Hop } from '../../messages/fallback/hop.ts';
import { readSchedule, readValidity, refuseFaults, scheduleFault } from '../read-send.ts';
import { composeRcs, composeWhatsapp } from './content.ts';
import { fallbackFaults, onlyOne, readHops } from './fallbacks.ts';
import type { RcsSendIn, WhatsappSendIn } from './schema.ts';
import { faultsOfBody } from './whatsapp-body.ts';

type Account = { readonly accountId: number };

/**
 * A WhatsApp send as a draft: its template is looked up, filled and checked, and so is what follows on other channels.
 * Errors: 400 naming every field at fault; what is of another account reads as what there is not.
 */
export async function readWhatsappSend(db: Db, account: Account, input: WhatsappSendIn, now: Date): Promise<Draft> {
  const { template, body, phoneNumberId } = input;
  refuseFaults([
    ...onlyOne('template', template, 'body', body),
    ...(body ? faultsOfBody(body) : []),
    ...scheduleFaults(input, now),
    ...fallbackFaults(input),
  ]);
  const said = await composeWhatsapp(db, account, input);
  const hops = await readHops(db, account, input, 'WHATSAPP');
  return { ...draftOf(input, now, hops), ...said, channel: 'WHATSAPP', sender: phoneNumberId };
}

/** An RCS send as a draft; the same errors. */
export async function readRcsSend(db: Db, account: Account, input: RcsSendIn, now: Date): Promise<Draft> {
  const { templateId, body, agentId, fallbackSms, fallback } = input;
  refuseFaults([
    ...onlyOne('templateId', templateId, 'body', body),
    ...(body ? faultsOfRcsBody(body) : []),
    ...scheduleFaults(input, now),
    ...fallbackFaults({ fallbackSms }),
  ]);
  const said = await composeRcs(db, account, input);
  const hops = await readHops(db, account, { fallbackSms, fallback }, 'RCS');
  return { ...draftOf(input, now, hops), ...said, channel: 'RCS', sender: bareAgentId(agentId) };
}

type Shared = Pick<
  WhatsappSendIn,
  'destination' | 'messageId' | 'enableNotification' | 'scheduledDate' | 'validityPeriod' | 'simulation'
>;

function scheduleFaults({ scheduledDate }: Shared, now: Date): FieldError[] {
  const message = scheduleFault(scheduledDate, now);
  return message === null ? [] : [{ field: 'scheduledDate', message }];
}

/** Whether something follows is told by receipts, so that they are always asked for then. */
function draftOf(input: Shared, now: Date, hops: readonly Hop[]) {
  const scheduledAt = readSchedule(input.scheduledDate);
  return {
    ...({ source: 'API', binary: null, priority: 0 } as const),
    ...(hops.length > 0 ? { hops } : {}),
    clientId: input.messageId ?? null,
    destination: input.destination,
    simulation: input.simulation ?? false,
    wantReceipt: hops.length > 0 || (input.enableNotification ?? true),
    validUntil: readValidity(input.validityPeriod, scheduledAt ?? now),
    scheduledAt,
  };
}
