import type { Db } from '../../../platform/db/query.ts';
import type { FieldError } from '../../../platform/errors.ts';
import { bareAgentId } from '../../../carriers/rcs/agent-id.ts';
import { findBodyErrors as faultsOfRcsBody } from '../../../network/templates/rcs-body.ts';
import { clientIdFaults, clientIdOf } from '../client-id.ts';
import { isUserId } from '../../../platform/lib/phone/user-id.ts';
import { scheduleFault } from '../../../platform/lib/scheduled-date.ts';
import { type Draft, newDraft } from '../draft.ts';
import type { Hop } from '../../messages/fallback/hop.ts';
import { readSchedule, readValidity, refuseFaults } from '../read-send.ts';
import { composeRcs, composeWhatsapp } from './content.ts';
import { fallbackFaults, onlyOne, readHops } from './fallbacks.ts';
import type { RcsSendIn, WhatsappSendIn } from './schema.ts';
import { faultsOfBody } from './whatsapp-body.ts';

type Account = { readonly accountId: number };

/**
 * Reads a WhatsApp send as a draft. Its template is looked up, filled in and checked, and so are its fallbacks. Errors:
 * 400 naming every invalid field; things of another account are reported as unknown.
 */
export async function readWhatsappSend(
  db: Db,
  account: Account,
  input: WhatsappSendIn,
  now: Date,
  maxScheduleDays?: number,
): Promise<Draft> {
  const { template, body, phoneNumberId } = input;
  refuseFaults([
    ...onlyOne('template', template, 'body', body),
    ...(body ? faultsOfBody(body) : []),
    ...clientIdFaults(input),
    ...scheduleFaults(input, now, maxScheduleDays),
    ...fallbackFaults(input),
    ...faultsOfUserId(input),
  ]);
  const composed = await composeWhatsapp(db, account, input);
  const hops = await readHops(db, account, input, 'WHATSAPP');
  return newDraft({ channel: 'WHATSAPP', sender: phoneNumberId, ...composed, ...sharedFields(input, now, hops) });
}

/**
 * Reads an RCS send as a draft. Its template is looked up, filled in and checked, and so are its fallbacks. Errors: 400
 * naming every invalid field; things of another account are reported as unknown.
 */
export async function readRcsSend(
  db: Db,
  account: Account,
  input: RcsSendIn,
  now: Date,
  maxScheduleDays?: number,
): Promise<Draft> {
  const { templateId, body, agentId, fallbackSms, fallback } = input;
  refuseFaults([
    ...onlyOne('templateId', templateId, 'body', body),
    ...(body ? faultsOfRcsBody(body) : []),
    ...clientIdFaults(input),
    ...scheduleFaults(input, now, maxScheduleDays),
    ...fallbackFaults({ fallbackSms }),
  ]);
  const composed = await composeRcs(db, account, input);
  const hops = await readHops(db, account, { fallbackSms, fallback }, 'RCS');
  return newDraft({ channel: 'RCS', sender: bareAgentId(agentId), ...composed, ...sharedFields(input, now, hops) });
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
>;

function scheduleFaults({ scheduledDate }: Shared, now: Date, maxScheduleDays?: number): FieldError[] {
  const message = scheduleFault(scheduledDate, now, maxScheduleDays);
  return message === null ? [] : [{ field: 'scheduledDate', message }];
}

/**
 * Reads the fields that both sends share. A fallback depends on receipts, so they are always requested when there is
 * one.
 */
function sharedFields(input: Shared, now: Date, hops: readonly Hop[]) {
  const scheduledAt = readSchedule(input.scheduledDate);
  return {
    source: 'API' as const,
    ...(hops.length > 0 && { hops }),
    clientId: clientIdOf(input),
    destination: input.destination,
    simulation: input.simulation ?? false,
    wantReceipt: hops.length > 0 || (input.enableNotification ?? true),
    validUntil: readValidity(input.validityPeriod, scheduledAt ?? now),
    scheduledAt,
  };
}
