import { type Static, Type } from 'typebox';
import { invalidFields } from '../../../platform/errors.ts';
import { SENDING_MODES, type SendingMode } from '../mode.ts';
import type { CampaignFilter } from './sql.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';

const day = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date', description: `${description} Requires the other date. yyyy-MM-dd, in UTC.` }),
  );
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const MODE = `(${SENDING_MODES.join('|')})`;

/** The query parameters that filter a list of campaigns. */
export const campaignFilterFields = {
  status: Type.Optional(
    Type.String({
      pattern: '^[0-4](,[0-4]){0,4}$',
      'x-message': 'must be a status from 0 to 4, or several separated by commas',
      description: 'Any of these statuses, separated by commas.',
    }),
  ),
  isDraft: flag('True if the status is 0.'),
  isProgrammed: flag('True if it is confirmed and scheduled for the future.'),
  sendingMode: Type.Optional(
    Type.String({
      pattern: `^${MODE}(,${MODE}){0,20}$`,
      'x-message': `must be one of ${SENDING_MODES.join(', ')}, or several separated by commas`,
      description: 'Exactly this mode, or any of several separated by commas.',
    }),
  ),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'A part of the name or description, case-insensitive.' }),
  ),
  startDate: day('Created or scheduled on this day or later.'),
  endDate: day('Created or scheduled on this day or earlier.'),
  readyToSend: flag('True if the campaign is marked as ready to send.'),
  direction: Type.Enum(['ASC', 'DESC'], { type: 'string', default: 'DESC', description: 'The order by creation.' }),
};

const Filters = Type.Object(campaignFilterFields);

/**
 * Reads the filter of a list of campaigns. Errors: 400 when one of the two dates is given without the other, or the
 * last day is before the first.
 */
export function readFilter(accountId: number, query: Static<typeof Filters>): CampaignFilter {
  const { status, isDraft, isProgrammed, readyToSend, search, sendingMode, startDate, endDate } = query;
  const statuses = status?.split(',').map(Number);
  const modes = sendingMode
    ?.split(',')
    .filter((mode): mode is SendingMode => SENDING_MODES.some((one) => one === mode));
  if ((startDate === undefined) !== (endDate === undefined))
    throw invalidFields([
      { field: startDate === undefined ? 'startDate' : 'endDate', message: 'is required with the other date' },
    ]);
  if (startDate !== undefined && endDate !== undefined && endDate < startDate)
    throw invalidFields([{ field: 'endDate', message: 'must not be before startDate' }]);
  const window =
    startDate === undefined || endDate === undefined
      ? undefined
      : { from: new Date(startDate), until: new Date(Date.parse(endDate) + DAY_MS) };
  return { accountId, statuses, isDraft, isProgrammed, readyToSend, search, sendingModes: modes, window };
}
