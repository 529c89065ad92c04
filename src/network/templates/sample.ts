import { buffer } from 'node:stream/consumers';
import { getMember, getText } from '../../carriers/json.ts';
import { uploadSample } from '../../carriers/whatsapp/samples.ts';
import type { Db } from '../../platform/db/query.ts';
import { invalidFields } from '../../platform/errors.ts';
import { findUpload } from '../../media/sql.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { callNetworkOrThrow, type NetworkDeps } from './network.ts';

export type SampleDeps = NetworkDeps & { readonly storage: Pick<Storage, 'get'> };

type Wanted = {
  readonly accountId: number;
  readonly connectionId: number;
  readonly components: readonly object[];
  /** One of the account's files, 16 MB at most. */
  readonly mediaId: number | undefined;
};

const FILE_FORMATS: readonly string[] = ['IMAGE', 'VIDEO', 'DOCUMENT'];
const fault = (message: string) => invalidFields([{ field: 'headerMediaId', message }]);

/**
 * Returns the components with a sample of their header's file: uploaded to the network when the account names one of
 * its files, unchanged otherwise. Errors: 400 naming headerMediaId, or with the network's own text; 502.
 */
export async function withSample(deps: SampleDeps, db: Db, wanted: Wanted): Promise<readonly object[]> {
  const { accountId, connectionId, components, mediaId } = wanted;
  if (mediaId === undefined) return components;
  const header = components.find((one) => FILE_FORMATS.includes(getText(one, 'format').toUpperCase()));
  if (!header) throw fault('the template has no header with a file');
  const media = await findUpload(db, { accountId, id: mediaId });
  if (!media) throw fault('there is no such file');
  const bytes = await buffer(await deps.storage.get(media.fileKey));
  const file = { bytes, mimeType: media.mimeType, fileName: media.name };
  const handle = await callNetworkOrThrow(deps, connectionId, (client) => uploadSample(client, file));
  const example = { ...objectOf(getMember(header, 'example')), header_handle: [handle] };
  return components.map((one) => (one === header ? { ...header, example } : one));
}

const objectOf = (json: unknown): object => (typeof json === 'object' && json !== null ? json : {});
