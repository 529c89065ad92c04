import { api, ok, type Paths } from '../../api/client.ts';
import { CONTACTS } from '../contact.ts';
import { upload } from './upload.ts';

const UPLOADS = `${CONTACTS}/uploads` as const;
const UPLOAD = `${UPLOADS}/{id}` as const;

type Post<P extends keyof Paths> = Paths[P] extends {
  post: { responses: { 200: { content: { 'application/json': infer A } } } };
}
  ? A
  : never;

/** A file that the server keeps until it is imported. */
export type StoredFile = Paths[typeof UPLOADS]['post']['responses'][201]['content']['application/json'];
/** The first rows of a file, how it is read, and the suggested field for each column. */
export type FilePreview = Post<`${typeof UPLOAD}/columns`>;
/** An import or a trial run, finished or running. */
export type Import = Post<`${typeof UPLOAD}/import`>;
export type FaultGroup = Import['cleaning']['groups'][number];
export type Change = Import['cleaning']['changes'][number];

type Body<P extends keyof Paths> = Paths[P] extends {
  post: { requestBody?: { content: { 'application/json': infer B } } };
}
  ? B
  : never;
/** Corrections of faulty values, as the server takes them. */
export type ImportBody = Body<`${typeof UPLOAD}/import`>;
export type ReadingBody = Body<`${typeof UPLOAD}/columns`>;

/** The field for each column, in order; null for columns that are not imported. */
export type Targets = readonly (string | null)[];

/** Sends a file to the server, once: everything else is done with its copy. */
export const sendFile = (file: File, onSent: (share: number) => void): Promise<StoredFile> =>
  upload({ path: UPLOADS, file, fileName: file.name, fields: {}, onSent });

let last: Promise<unknown> = Promise.resolve();

/** Runs one upload after the other: the server works on two files of an account at a time, and rejects a third. */
function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const next = last.then(run);
  last = next.catch(() => undefined);
  return next;
}

/** Previews the table of a file. */
export const previewFile = (id: number, body: ReadingBody): Promise<FilePreview> =>
  inTurn(() => ok(api.POST(`${UPLOAD}/columns`, { params: { path: { id } }, body })));

/** Checks the file, or imports it. */
export const importFile = (id: number, body: ImportBody): Promise<Import> =>
  inTurn(() => ok(api.POST(`${UPLOAD}/import`, { params: { path: { id } }, body })));

const PROGRESS_MS = 500;

/** Progress of the server's reading of the file, for a check or an import under way. */
export const progressQuery = (id: number, isOn: boolean) => ({
  queryKey: ['contact-uploads', id],
  queryFn: ({ signal }: { signal: AbortSignal }): Promise<StoredFile> =>
    ok(api.GET(UPLOAD, { params: { path: { id } }, signal })),
  enabled: isOn,
  refetchInterval: PROGRESS_MS,
  retry: false,
  gcTime: 0,
});

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

type RowsQuery = Pick<FaultGroup, 'cause' | 'field'> & { readonly page: number; readonly limit: number };

/** Lists rows of a trial run that were rejected for the same reason. */
export const listRows = (id: number, query: RowsQuery, signal: AbortSignal) =>
  ok(api.GET(`${CONTACTS}/imports/{id}/rows`, { params: { path: { id }, query }, signal }));
export type RejectedRow = Awaited<ReturnType<typeof listRows>>['data'][number];
