import { mutationHeaders } from '../../api/client.ts';
import { ApiError, readProblem } from '../../api/errors.ts';

export type Upload = {
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
export function upload<T>({ path, file, fileName, fields, onSent }: Upload): Promise<T> {
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
