import { ApiError, api, mutationHeaders, ok, proofFor, readProblem, userProves } from './send.ts';
import type { Need } from './session.ts';

export const MEDIA = '/api/partner-gateway/v1/media';

/** The permission that changes to media files require. */
export const MEDIA_NEED: Need = { scope: 'media', write: true };

export const MEDIA_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'video/mp4'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** The file types offered by file dialogs. The server checks the content itself. */
export const ACCEPTED = '.jpg,.jpeg,.png,.gif,.mp4,image/jpeg,image/png,image/gif,video/mp4';

type Listing = {
  readonly page: number;
  readonly limit: number;
  readonly mimeType?: MediaType | undefined;
  readonly name?: string | undefined;
};

export const listMedia = (query: Listing, signal: AbortSignal) => ok(api.GET(MEDIA, { params: { query }, signal }));

export type Media = Awaited<ReturnType<typeof listMedia>>['data'][number];

/**
 * The URL of a file at this page's origin. The API's links use the public address of the gateway, which may differ
 * from the one the console was opened with, and the content security policy allows only the latter.
 */
export function sameOriginUrl(url: string): string {
  const { pathname, search } = new URL(url, location.origin);
  return `${pathname}${search}`;
}

type Upload = { readonly onProgress: (sent: number) => void; readonly signal: AbortSignal };

/**
 * Uploads a file, again if the session has ended meanwhile and the user signs in. `onProgress` gets the number of bytes
 * sent so far. Rejects with an ApiError.
 */
export async function uploadMedia(file: File, upload: Upload): Promise<Media> {
  try {
    return await sendMedia(file, upload);
  } catch (error) {
    const proof = proofFor(error);
    if (proof !== null && (await userProves(proof))) return sendMedia(file, upload);
    throw error;
  }
}

function sendMedia(file: File, { onProgress, signal }: Upload): Promise<Media> {
  const form = new FormData();
  form.set('file', file);
  const request = new XMLHttpRequest();
  request.open('POST', MEDIA);
  for (const [name, value] of Object.entries(mutationHeaders('POST'))) request.setRequestHeader(name, value);
  request.responseType = 'json';
  request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded));
  signal.addEventListener('abort', () => request.abort());
  return new Promise((resolve, reject) => {
    request.addEventListener('load', () =>
      request.status === 201 ? resolve(request.response as Media) : reject(problemOf(request)),
    );
    for (const event of ['error', 'abort', 'timeout'])
      request.addEventListener(event, () => reject(new ApiError({ status: 0, message: '' })));
    request.send(form);
  });
}

function problemOf(request: XMLHttpRequest): ApiError {
  const headers = new Headers();
  for (const name of ['x-request-id', 'retry-after']) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  return readProblem(new Response(null, { status: request.status || 500, headers }), request.response);
}
