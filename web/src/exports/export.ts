import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

/** The permission that requesting and deleting exports requires. */
export const NEED: Need = { scope: 'exports', write: true };

export const EXPORTS = '/api/partner-gateway/v1/exports';
export const FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
export type Format = (typeof FORMATS)[number];
export const TYPES = ['HISTORY', 'CONTACTS', 'DELIVERY_REPORTS'] as const;
export type ExportType = (typeof TYPES)[number];

export const listExports = ({ page, limit }: { page: number; limit: number }, signal: AbortSignal) =>
  ok(api.GET(EXPORTS, { params: { query: { page, limit } }, signal }));
export type Export = Awaited<ReturnType<typeof listExports>>['data'][number];

/** Resolves with the URL of the file at this page's origin; null if it has expired meanwhile. */
export async function findFile(exportId: string): Promise<string | null> {
  const { downloadUrl } = await ok(api.GET(`${EXPORTS}/{exportId}`, { params: { path: { exportId } } }));
  if (downloadUrl === null) return null;
  const { pathname, search } = new URL(downloadUrl);
  return pathname + search;
}

/** The format as part of a text key, which cannot contain dots. */
export const formatKey = (format: Format): string => format.replace('.', '');
