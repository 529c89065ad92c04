import { api, ok } from '../api/client.ts';
import { EXPORTS, type ExportType, type Format } from './export.ts';

/** The values of the form; '' if nothing is chosen. */
export type Draft = {
  readonly type: ExportType;
  readonly format: Format;
  /** Dates, in the format of `<input type="date">`. */
  readonly startDateTime: string;
  readonly endDateTime: string;
  readonly channel: 'SMS' | 'RCS' | 'WHATSAPP' | '';
  readonly sender: string;
  readonly recipient: string;
  readonly listIds: string;
  readonly campaignId: string;
};

const DAYS = 7;
const DAY_MS = 86_400_000;

/** The date of an instant, in the user's time zone. */
function dayOf(instant: Date): string {
  const shifted = new Date(instant.getTime() - instant.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 10);
}

export const newDraft = (now = new Date()): Draft => ({
  type: 'HISTORY',
  format: 'csv',
  startDateTime: dayOf(new Date(now.getTime() - DAYS * DAY_MS)),
  endDateTime: dayOf(now),
  channel: '',
  sender: '',
  recipient: '',
  listIds: '',
  campaignId: '',
});

/** The range from the start of the first day to the end of the last. */
const spanOf = ({ startDateTime, endDateTime }: Draft) => ({
  startDateTime: new Date(`${startDateTime}T00:00:00`).toISOString(),
  endDateTime: new Date(`${endDateTime}T23:59:59.999`).toISOString(),
});

/** Requests the export. */
export function requestExport(draft: Draft) {
  const { type, format, channel, sender, recipient, listIds, campaignId } = draft;
  switch (type) {
    case 'HISTORY': {
      const filters = {
        ...(channel !== '' && { channel }),
        ...(sender.trim() !== '' && { sender: sender.trim() }),
        ...(recipient.trim() !== '' && { recipient: recipient.trim() }),
      };
      const body = { ...spanOf(draft), ...filters, format };
      return ok(api.POST('/api/partner-gateway/v1/messages/history/export', { body }));
    }
    case 'CONTACTS':
      return ok(
        api.POST(`${EXPORTS}/contacts`, {
          body: { format, ...(listIds !== '' && { listIds: [Number(listIds)] }) },
        }),
      );
    case 'DELIVERY_REPORTS':
      return ok(
        api.POST(`${EXPORTS}/delivery-reports`, {
          body: { format, ...(campaignId === '' ? spanOf(draft) : { campaignId: Number(campaignId) }) },
        }),
      );
  }
}
