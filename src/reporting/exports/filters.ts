import type { StatusName } from '../../messaging/states.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import type { Scope } from '../../platform/lib/scope.ts';

export const EXPORT_TYPES = ['HISTORY', 'CONTACTS', 'DELIVERY_REPORTS'] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];

/**
 * Scopes that a caller needs, in addition to `exports`, to request an export and to get its file, which contains all of
 * that data.
 */
export const CONTENT_SCOPES: Readonly<Record<ExportType, readonly Scope[]>> = {
  HISTORY: ['tracking', 'money'],
  CONTACTS: ['contacts'],
  DELIVERY_REPORTS: ['tracking', 'money'],
};

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
/** Filters of contacts; without both fields: all contacts. */
export type ContactFilters = {
  readonly listIds?: readonly number[];
  readonly contactIds?: readonly number[];
  /** Number of contacts, which lists of exports show instead of more than 1,000 `contactIds`. */
  readonly contactCount?: number;
};
export type ReportFilters = Span | { readonly campaignId: number };

/** Content of an export: its type and filters, as they are stored and as clients see them. */
export type ExportRequest =
  | { readonly type: 'HISTORY'; readonly filters: HistoryFilters }
  | { readonly type: 'CONTACTS'; readonly filters: ContactFilters }
  | { readonly type: 'DELIVERY_REPORTS'; readonly filters: ReportFilters };
