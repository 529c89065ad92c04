import type { ExportFormat, ExportType } from './filters.ts';

/** The beginning of a file's name; the id of the export follows. */
const FILE_NAMES: Readonly<Record<ExportType, string>> = {
  HISTORY: 'history',
  CONTACTS: 'contacts',
  DELIVERY_REPORTS: 'delivery-reports',
};

/** Excel reserves the name History. */
const SHEET_NAMES: Readonly<Record<ExportType, string>> = {
  HISTORY: 'Messages',
  CONTACTS: 'Contacts',
  DELIVERY_REPORTS: 'Delivery reports',
};

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  'csv.gz': 'application/gzip',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

export const sheetNameOf = (type: ExportType): string => SHEET_NAMES[type];

type Kind = { readonly id: string; readonly type: ExportType; readonly format: ExportFormat };

export const fileNameOf = ({ id, type, format }: Kind): string => `${FILE_NAMES[type]}-${id}.${format}`;

export const contentTypeOf = (format: ExportFormat): string => CONTENT_TYPES[format];
