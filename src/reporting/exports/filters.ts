import type { StatusName } from '../../messaging/states.ts';
import type { Channel } from '../../platform/lib/channel.ts';

export const EXPORT_TYPES = ['HISTORY', 'CONTACTS', 'DELIVERY_REPORTS'] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];

export const EXPORT_FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Messages accepted from one instant to another, both inclusive, as ISO 8601 in UTC. */
type Span = { readonly startDateTime: string; readonly endDateTime: string };

export type HistoryFilters = Span & {
  readonly channel?: Channel;
  readonly status?: StatusName;
  readonly sender?: string;
  /** The recipient's number in E.164. */
  readonly recipient?: string;
};
/** Without both fields: all contacts. */
export type ContactFilters = { readonly listIds?: readonly number[]; readonly contactIds?: readonly number[] };
export type ReportFilters = Span | { readonly campaignId: number };

/** What an export contains: its type and filters, as they are stored and as clients see them. */
export type ExportRequest =
  | { readonly type: 'HISTORY'; readonly filters: HistoryFilters }
  | { readonly type: 'CONTACTS'; readonly filters: ContactFilters }
  | { readonly type: 'DELIVERY_REPORTS'; readonly filters: ReportFilters };
