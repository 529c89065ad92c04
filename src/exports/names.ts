import type { ExportFormat, ExportType } from './filters.ts';

/** What a sheet, and with an id a file, is called. */
const NAMES: Readonly<Record<ExportType, string>> = {
  HISTORY: 'history',
  CONTACTS: 'contacts',
  DELIVERY_REPORTS: 'delivery-reports',
};

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  'csv.gz': 'application/gzip',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

export const nameOf = (type: ExportType): string => NAMES[type];

type Kind = { readonly id: number; readonly type: ExportType; readonly format: ExportFormat };

export const fileNameOf = ({ id, type, format }: Kind): string => `${nameOf(type)}-${id}.${format}`;

export const contentTypeOf = (format: ExportFormat): string => CONTENT_TYPES[format];
