import { api, ok } from '../api/client.ts';
import { MEDIA, type Media } from '../api/media.ts';

export type { Media } from '../api/media.ts';

export const isVideo = ({ mimeType }: Pick<Media, 'mimeType'>): boolean => mimeType.startsWith('video/');

/** The common name of a file type: JPEG, PNG, GIF, MP4. */
export const typeName = (mimeType: string): string => (mimeType.split('/')[1] ?? mimeType).toUpperCase();

export const findMedia = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${MEDIA}/{id}`, { params: { path: { id } }, signal }));

export const deleteMedia = (id: number) => ok(api.DELETE(`${MEDIA}/{id}`, { params: { path: { id } } }));

export const revokeLinks = (id: number) => ok(api.POST(`${MEDIA}/{id}/revoke-links`, { params: { path: { id } } }));

type Use = { readonly channel: 'WHATSAPP' | 'RCS' | 'SMS'; readonly usable: boolean; readonly why: string };

/**
 * The channels on which a file can be sent, as supported by the networks (4, and rcs, 2). A text key explains how, or
 * why not.
 */
export const usesOf = ({ mimeType }: Pick<Media, 'mimeType'>): readonly Use[] => [
  mimeType === 'image/gif'
    ? { channel: 'WHATSAPP', usable: false, why: 'use.noGif' }
    : { channel: 'WHATSAPP', usable: true, why: isVideo({ mimeType }) ? 'use.video' : 'use.image' },
  { channel: 'RCS', usable: true, why: 'use.card' },
  { channel: 'SMS', usable: false, why: 'use.linkOnly' },
];
