import { getText } from '../json.ts';
import { callAndRead, type GraphClient, type GraphResult } from './client.ts';
import type { MediaUpload } from './media.ts';

const UPLOAD_MS = 30_000;

/**
 * Uploads the sample file that the network requires for a template with a media header, and returns the handle for the
 * header's example (Cloud API, message templates). The upload belongs to the app, not to a number, so it fails
 * without `appId` in the settings.
 */
export async function uploadSample(client: GraphClient, file: MediaUpload): Promise<GraphResult<string>> {
  const { appId } = client.settings;
  if (appId === undefined) return { ok: false, fault: NO_APP };
  const { bytes, mimeType, fileName } = file;
  const query = new URLSearchParams({ file_name: fileName, file_length: String(bytes.length), file_type: mimeType });
  const begun = await callAndRead(client, { method: 'POST', path: `/${appId}/uploads?${query}` }, readUploadId);
  if (!begun.ok) return begun;
  const raw = { bytes, contentType: mimeType, fileOffset: 0 };
  const request = { method: 'POST', path: `/${begun.value}`, raw, timeoutMs: UPLOAD_MS } as const;
  return callAndRead(client, request, (json) => getText(json, 'h') || undefined);
}

const NO_APP = {
  code: 'NO_APP',
  text: 'the operator has not set appId, which uploads of sample files need',
  status: null,
  retry: false,
};

/** The upload id becomes a path, and contains the network's own query. */
function readUploadId(json: unknown): string | undefined {
  const id = getText(json, 'id');
  return /^upload:[\x21-\x7e]{1,2000}$/.test(id) ? id : undefined;
}
