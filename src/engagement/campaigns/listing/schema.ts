import { type Static, Type } from 'typebox';
import { invalidFields } from '../../../platform/errors.ts';
import { SENDING_MODES, type SendingMode } from '../mode.ts';
import type { CampaignFilter } from './sql.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';

const day = (description: string) =>
  Type.Optional(Type.String({ format: 'date', description: `${description} With the other one. yyyy-MM-dd, in UTC.` }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const MODE = `(${SENDING_MODES.join('|')})`;

/** The filters of a list of campaigns, as the query names them. */
export const campaignFilterFields = {
  status: Type.Optional(
    Type.String({
      pattern: '^[0-4](,[0-4]){0,4}$',
      'x-message': 'must be a status from 0 to 4, or several with commas between them',
      description: 'Any of these statuses.',
    }),
  ),
  isDraft: flag('Whether the status is 0.'),
  isProgrammed: flag('Whether it is confirmed and its time is still to come.'),
  sendingMode: Type.Optional(
    Type.String({
      pattern: `^${MODE}(,${MODE}){0,20}$`,
      'x-message': `must be one of ${SENDING_MODES.join(', ')}, or several with commas between them`,
      description: 'Exactly this mode; of several any.',
    }),
  ),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of name or description, in any case.' })),
  startDate: day('Created or scheduled on this day or later.'),
  endDate: day('Created or scheduled on this day or earlier.'),
  readyToSend: flag('Whether the configuration is marked final.'),
  direction: Type.Enum(['ASC', 'DESC'], { type: 'string', default: 'DESC', description: 'By creation.' }),
};

const Filters = Type.Object(campaignFilterFields);

/** Errors: 400 when one of the two days is given without the other. */
export function readFilter(accountId: number, query: Static<typeof Filters>): CampaignFilter {
  const { status, isDraft, isProgrammed, readyToSend, search, sendingMode, startDate, endDate } = query;
  const statuses = status?.split(',').map(Number);
  const modes = sendingMode
    ?.split(',')
    .filter((mode): mode is SendingMode => SENDING_MODES.some((one) => one === mode));
  if ((startDate === undefined) !== (endDate === undefined))
    throw invalidFields([
      { field: startDate === undefined ? 'startDate' : 'endDate', message: 'is required beside the other date' },
    ]);
  const window =
    startDate === undefined || endDate === undefined
      ? undefined
      : { from: new Date(startDate), until: new Date(Date.parse(endDate) + DAY_MS) };
  return { accountId, statuses, isDraft, isProgrammed, readyToSend, search, sendingModes: modes, window };
}
