import { Stack, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ApiError, api, mutationHeaders, ok, type Paths, readProblem } from '../api/send.ts';
import { ListSelect } from '../ui/list-select.tsx';
import { CONTACTS } from './contact.ts';

export type NameOrder = NonNullable<ImportBody['names']>;

/** Options for reading the file. Omitted ones are detected by the server. */
export type Reading = Pick<ImportBody, 'encoding' | 'delimiter'> & {
  readonly hasHead?: boolean;
  /** The country of numbers without a country code; null: they are rejected. */
  readonly country: string | null;
  readonly names: NameOrder;
};

/** The cures that were chosen so far. */
export type Cures = {
  readonly drop: readonly string[];
  readonly countries: readonly string[];
  readonly plus: boolean;
  readonly extract: boolean;
  /** Fields whose dates are read in this order. */
  readonly dayFirst: readonly string[];
  readonly monthFirst: readonly string[];
};

/** The new texts of cells: by line, then by column from 1. */
export type Edits = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The choices made in the steps so far. */
export type Draft = {
  /** The file on the server. */
  readonly file: StoredFile | null;
  readonly list: ListChoice;
  /** The server's preview of the file; null before the file is read, and for vCards. */
  readonly preview: FilePreview | null;
  readonly targets: Targets;
  readonly reading: Reading;
  readonly cures: Cures;
  readonly edits: Edits;
};

export type ChangeDraft = (patch: Partial<Draft>) => void;

export const NEW_READING: Reading = { country: null, names: 'keep' };
/** A bad email address costs the address, not the person. */
export const FIRST_CURES: Cures = {
  drop: ['email'],
  countries: [],
  plus: false,
  extract: false,
  dayFirst: [],
  monthFirst: [],
};

export const isVcard = (file: StoredFile): boolean => file.format === 'vcard';

const PREVIEW_ROWS = 3;

/** The request for the preview of a file. It shows the split of names, even if they are not to be split. */
export const toReadingBody = ({ reading, targets }: Pick<Draft, 'reading' | 'targets'>): ReadingBody => ({
  ...readingOf(reading),
  ...(targets.length > 0 && { mapping: mappingOf(targets) }),
  names: reading.names === 'keep' ? 'firstLast' : reading.names,
  limit: PREVIEW_ROWS,
});

/**
 * The request that checks or imports the file. vCards define how they are read, except for the country, which is the
 * account's.
 */
export function toImportBody({ preview, targets, reading, cures, edits }: Draft): ImportBody {
  const table = preview !== null && {
    ...readingOf(reading),
    mapping: mappingOf(targets),
    removeHead: preview.hasHead,
    names: targets.includes('fullName') ? reading.names : ('keep' as const),
  };
  const rows = Object.entries(edits).map(([line, cells]) => ({ line: Number(line), cells }));
  const { plus, extract } = cures;
  const [drop, countries] = [[...cures.drop], [...cures.countries]];
  const dates = { dayFirst: [...cures.dayFirst], monthFirst: [...cures.monthFirst] };
  return { ...table, plus, extract, drop, countries, ...dates, ...(rows.length > 0 && { edits: rows }) };
}

const readingOf = ({ encoding, delimiter, hasHead, country }: Reading) => ({
  ...(encoding && { encoding }),
  ...(delimiter && { delimiter }),
  ...(hasHead !== undefined && { removeHead: hasHead }),
  country,
});

const mappingOf = (targets: Targets): Record<string, string | null> =>
  Object.fromEntries(targets.map((target, at) => [String(at + 1), target]));

/** Default for reading names: a column of whole names is split if no other column has the parts. */
export const namesFor = (targets: Targets): NameOrder =>
  targets.includes('fullName') && !targets.includes('firstName') && !targets.includes('lastName')
    ? 'firstLast'
    : 'keep';

/** The chosen list: its ID, `new` with a name, or '' for none. */
type ListChoice = { readonly list: string; readonly name: string };
export const NO_LIST: ListChoice = { list: '', name: '' };
export const isComplete = ({ list, name }: ListChoice): boolean =>
  list !== '' && (list !== 'new' || name.trim() !== '');

type ListChoiceFieldProps = {
  readonly label: string;
  /** The label of the empty option. */
  readonly none: string;
  readonly value: ListChoice;
  readonly onChange: (value: ListChoice) => void;
  /** True if a new list can be created here. */
  readonly canBeNew?: boolean;
};

/** A select for a list, with a name field for a new one. */
export function ListChoiceField({ label, none, value, onChange, canBeNew = true }: ListChoiceFieldProps) {
  const { t } = useTranslation('contacts');
  return (
    <Stack gap="sm">
      <ListSelect
        label={label}
        first={[{ value: '', label: none }, ...(canBeNew ? [{ value: 'new', label: t('listChoice.new') }] : [])]}
        value={value.list}
        onChange={(list) => onChange({ ...value, list })}
      />
      {value.list === 'new' && (
        <TextInput
          label={t('listChoice.name')}
          maxLength={200}
          value={value.name}
          onChange={(event) => onChange({ ...value, name: event.currentTarget.value })}
        />
      )}
    </Stack>
  );
}

/** Resolves with the ID of the chosen list, creating it if it is new; null for none. */
export async function idOfChoice({ list, name }: ListChoice): Promise<number | null> {
  if (list === '') return null;
  if (list !== 'new') return Number(list);
  return (await ok(api.POST(`${CONTACTS}/list`, { body: { name: name.trim() } }))).id;
}

type Upload = {
  readonly path: string;
  readonly file: Blob;
  readonly fileName: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Called during the upload with the share sent, from 0 to 1. */
  readonly onSent?: (share: number) => void;
};

/**
 * Uploads a file as multipart form data and resolves with the response. Uses XMLHttpRequest, because fetch does not
 * report upload progress. Rejects with an ApiError.
 */
function upload<T>({ path, file, fileName, fields, onSent }: Upload): Promise<T> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', file, fileName);
  const request = new XMLHttpRequest();
  request.open('POST', path);
  for (const [name, value] of Object.entries(mutationHeaders('POST'))) request.setRequestHeader(name, value);
  request.upload.onprogress = ({ loaded, total }) => onSent?.(total === 0 ? 0 : loaded / total);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  request.onload = () => {
    const body: unknown = parsed(request.responseText);
    if (request.status >= 200 && request.status < 300) resolve(body as T);
    else reject(problemOf(request, body));
  };
  request.onerror = () => reject(new ApiError({ status: 0, message: '' }));
  request.send(form);
  return promise;
}

function problemOf(request: XMLHttpRequest, body: unknown): ApiError {
  const headers = new Headers();
  for (const name of ['x-request-id', 'retry-after']) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  return readProblem(new Response(null, { status: request.status, statusText: request.statusText, headers }), body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
type ImportBody = Body<`${typeof UPLOAD}/import`>;
type ReadingBody = Body<`${typeof UPLOAD}/columns`>;

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
