import { wordsIn } from '../json.ts';
import { ask, type GraphClient, type GraphResult } from './client.ts';
import type { MediaUpload } from './media.ts';

const UPLOAD_MS = 30_000;

/**
 * Uploads the sample that the network wants to see of a template's header with a file; answers the handle that goes into
 * the header's example (protocol sheet whatsapp, section 4). It goes by the app and not by a number: without `appId` there
 * is nowhere to send it to.
 */
export async function uploadSample(client: GraphClient, file: MediaUpload): Promise<GraphResult<string>> {
  const { appId } = client.settings;
  if (appId === undefined) return { ok: false, fault: NO_APP };
  const { bytes, mimeType, fileName } = file;
  const query = new URLSearchParams({ file_name: fileName, file_length: String(bytes.length), file_type: mimeType });
  const begun = await ask(client, { method: 'POST', path: `/${appId}/uploads?${query}` }, readUploadId);
  if (!begun.ok) return begun;
  const raw = { bytes, contentType: mimeType, fileOffset: 0 };
  const request = { method: 'POST', path: `/${begun.value}`, raw, timeoutMs: UPLOAD_MS } as const;
  return ask(client, request, (json) => wordsIn(json, 'h') || undefined);
}

const NO_APP = {
  code: 'NO_APP',
  text: 'the operator has not set appId, the app that samples of files go by',
  status: null,
  retry: false,
};

/** It becomes a path, with a query of the network's own. */
function readUploadId(json: unknown): string | undefined {
  const id = wordsIn(json, 'id');
  return /^upload:[\x21-\x7e]{1,2000}$/.test(id) ? id : undefined;
}
