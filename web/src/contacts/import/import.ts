import { api, ok, type Paths } from '../../api/client.ts';
import { CONTACTS } from '../contact.ts';
import { upload } from './upload.ts';

const UPLOAD = `${CONTACTS}/upload` as const;

type Answer<P extends 'upload' | 'upload/columns'> =
  Paths[`/api/partner-gateway/v1/contacts/${P}`]['post']['responses'][200]['content']['application/json'];
/** An import or a trial run, finished or running. */
export type Import = Answer<'upload'>;
/** The first rows of a file, and the suggested field for each column. */
export type FilePreview = Answer<'upload/columns'>;

/** The field for each column, in order; null for columns that are not imported. */
export type Targets = readonly (string | null)[];

export const isVcard = ({ name }: File): boolean => /\.(vcf|vcard)$/i.test(name);

const MAX_WHOLE_BYTES = 2 * 1024 * 1024;
const HEAD_BYTES = 1024 * 1024;
const NEWLINE = 10;
/**
 * The first byte of a UTF-16 file with a byte order mark is at least this; there the byte 10 alone does not end a
 * line.
 */
const UTF16_MARK = 0xfe;

/** The start of a file for the preview: whole lines of a long text file, other files in full. */
async function readHead(file: File): Promise<Blob> {
  if (file.size <= MAX_WHOLE_BYTES || /\.xlsx$/i.test(file.name)) return file;
  const octets = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  const end = octets.lastIndexOf(NEWLINE) + 1;
  return end === 0 || (octets[0] ?? 0) >= UTF16_MARK ? file : new Blob([octets.subarray(0, end)]);
}

const PREVIEW_ROWS = 3;

/** Previews a table. `hasHead` null: the server detects whether the first row contains column names. */
export async function previewFile(file: File, hasHead: boolean | null): Promise<FilePreview> {
  return upload({
    path: `${UPLOAD}/columns`,
    file: await readHead(file),
    fileName: file.name,
    fields: { limit: String(PREVIEW_ROWS), ...headField(hasHead) },
  });
}

const headField = (hasHead: boolean | null): Record<string, string> =>
  hasHead === null ? {} : { removeHead: String(hasHead) };

type UploadRequest = {
  readonly file: File;
  readonly dryRun: boolean;
  readonly listId: number | null;
  /** null for vCards, whose fields are known. */
  readonly columns: { readonly targets: Targets; readonly hasHead: boolean } | null;
  readonly onSent: (share: number) => void;
};

/** Uploads the file for a trial run or an import. */
export function sendFile({ file, dryRun, listId, columns, onSent }: UploadRequest): Promise<Import> {
  const mapping = columns && Object.fromEntries(columns.targets.map((target, at) => [at + 1, target]));
  return upload({
    path: columns === null ? `${UPLOAD}/vcard` : UPLOAD,
    file,
    fileName: file.name,
    fields: {
      limit: '0',
      dryRun: String(dryRun),
      ...(listId !== null && { listId: String(listId) }),
      ...(columns && { mapping: JSON.stringify(mapping), ...headField(columns.hasHead) }),
    },
    onSent,
  });
}

const POLL_MS = 1000;

/** An import, polled until it has ended. */
export const importQuery = (id: number) => ({
  queryKey: ['imports', id],
  queryFn: ({ signal }: { signal: AbortSignal }): Promise<Import> =>
    ok(api.GET(`${CONTACTS}/imports/{id}`, { params: { path: { id } }, signal })),
  refetchInterval: ({ state }: { state: { data: Import | undefined } }) =>
    state.data === undefined || isRunning(state.data) ? POLL_MS : false,
});

export const isRunning = ({ status }: Pick<Import, 'status'>): boolean => status === 'PENDING' || status === 'RUNNING';

export const rejectsUrl = (id: number): string => `${CONTACTS}/imports/${id}/rejects`;
