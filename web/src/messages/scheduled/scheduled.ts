import { api, ok } from '../../api/client.ts';
import { choice, listFields, type useUrlState } from '../../ui/url-state.ts';
import { CHANNELS } from '../message.ts';

const PATH = '/api/partner-gateway/v1/messages/scheduled';

/** The filters in the URL. */
export const FIELDS = { ...listFields(), channel: choice(CHANNELS) };
type Search = ReturnType<typeof useUrlState<typeof FIELDS>>[0];

export const listScheduled = ({ page, limit, channel }: Search, signal: AbortSignal) =>
  ok(api.GET(PATH, { params: { query: { page, limit, ...(channel !== '' && { channel }) } }, signal }));

export type Scheduled = Awaited<ReturnType<typeof listScheduled>>['data'][number];

export const moveScheduled = (id: string, scheduledDate: string) =>
  ok(api.PATCH(`${PATH}/{id}`, { params: { path: { id } }, body: { scheduledDate } }));

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** An instant in the time zone of the browser, in the format of `<input type="datetime-local">`. */
export const wallTimeOf = (at: Date): string =>
  `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}T${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`;
