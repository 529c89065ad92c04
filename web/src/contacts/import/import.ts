import { api, ok, type Paths } from '../../api/client.ts';
import { CONTACTS } from '../contact.ts';
import { upload } from './upload.ts';

const UPLOAD = `${CONTACTS}/upload` as const;

type Answer<P extends 'upload' | 'upload/columns'> =
  Paths[`/api/partner-gateway/v1/contacts/${P}`]['post']['responses'][200]['content']['application/json'];
/** What became of a file, or is becoming of it. */
export type Import = Answer<'upload'>;
/** How a file begins, and what its columns would become. */
export type Beginning = Answer<'upload/columns'>;

/** What each column becomes, in their order: the name of a field, or null for one that is passed over. */
export type Targets = readonly (string | null)[];

export const isVcard = ({ name }: File): boolean => /\.(vcf|vcard)$/i.test(name);

const WHOLE_BYTES = 2 * 1024 * 1024;
const HEAD_BYTES = 1024 * 1024;
const NEWLINE = 10;
/** The marks that UTF-16 begins with are above it: there a line does not end where this byte is. */
const UTF16_MARK = 0xfe;

/** As much of a file as says how it begins: whole lines of a long text, everything else whole. */
async function headOf(file: File): Promise<Blob> {
  if (file.size <= WHOLE_BYTES || /\.xlsx$/i.test(file.name)) return file;
  const octets = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  const end = octets.lastIndexOf(NEWLINE) + 1;
  return end === 0 || (octets[0] ?? 0) >= UTF16_MARK ? file : new Blob([octets.subarray(0, end)]);
}

const PREVIEW_ROWS = 3;

/** Asks how a table begins. `hasHead` null: the server tells by itself whether the first row is names. */
export async function readBeginning(file: File, hasHead: boolean | null): Promise<Beginning> {
  return upload({
    path: `${UPLOAD}/columns`,
    file: await headOf(file),
    fileName: file.name,
    fields: { limit: String(PREVIEW_ROWS), ...headField(hasHead) },
  });
}

const headField = (hasHead: boolean | null): Record<string, string> =>
  hasHead === null ? {} : { removeHead: String(hasHead) };

type Sending = {
  readonly file: File;
  readonly dryRun: boolean;
  readonly listId: number | null;
  /** null: of a vCard, whose columns are known. */
  readonly columns: { readonly targets: Targets; readonly hasHead: boolean } | null;
  readonly onSent: (share: number) => void;
};

/** Sends the file to be tried or brought in. */
export function sendFile({ file, dryRun, listId, columns, onSent }: Sending): Promise<Import> {
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

/** An import, asked for again until it has ended. */
export const importQuery = (id: number) => ({
  queryKey: ['imports', id],
  queryFn: ({ signal }: { signal: AbortSignal }): Promise<Import> =>
    ok(api.GET(`${CONTACTS}/imports/{id}`, { params: { path: { id } }, signal })),
  refetchInterval: ({ state }: { state: { data: Import | undefined } }) =>
    state.data === undefined || isUnderWay(state.data) ? POLL_MS : false,
});

export const isUnderWay = ({ status }: Pick<Import, 'status'>): boolean => status === 'PENDING' || status === 'RUNNING';

export const rejectsUrl = (id: number): string => `${CONTACTS}/imports/${id}/rejects`;
