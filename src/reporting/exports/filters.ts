import type { Channel } from '../../platform/lib/channel.ts';
import type { StatusName } from '../../messaging/states.ts';

export const EXPORT_TYPES = ['HISTORY', 'CONTACTS', 'DELIVERY_REPORTS'] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];

export const EXPORT_FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Accepted from one time to another, both included; ISO 8601 in UTC. */
type Span = { readonly startDateTime: string; readonly endDateTime: string };

export type HistoryFilters = Span & {
  readonly channel?: Channel;
  readonly status?: StatusName;
  readonly sender?: string;
  /** E.164. */
  readonly recipient?: string;
};
/** Neither: all contacts. */
export type ContactFilters = { readonly listIds?: readonly number[]; readonly contactIds?: readonly number[] };
export type ReportFilters = Span | { readonly campaignId: number };

/** What is to be exported: the filters as they are kept, and shown to who asks. */
export type Wanted =
  | { readonly type: 'HISTORY'; readonly filters: HistoryFilters }
  | { readonly type: 'CONTACTS'; readonly filters: ContactFilters }
  | { readonly type: 'DELIVERY_REPORTS'; readonly filters: ReportFilters };
