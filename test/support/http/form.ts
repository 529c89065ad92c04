import type { RequestOptions } from '../client.ts';

export type FormFile = { readonly name: string; readonly content: string | Uint8Array<ArrayBuffer> };
type FormBody = Required<Pick<RequestOptions, 'bytes' | 'headers'>>;

/** Returns a multipart form with a file and fields, as a browser sends it, in the form that `client.request` takes. */
export async function formOf(
  { name, content }: FormFile,
  fields: Readonly<Record<string, string | number | boolean>> = {},
): Promise<FormBody> {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, String(value));
  form.append('file', new Blob([content]), name);
  const response = new Response(form);
  const headers = { 'content-type': response.headers.get('content-type') ?? '' };
  return { bytes: new Uint8Array(await response.arrayBuffer()), headers };
}
