import { type Static, Type } from 'typebox';
import { PLATFORMS } from '../../platform/lib/social-platform.ts';
import { instant, orNull } from '../../platform/lib/schema.ts';
import type { ProfileRow } from './sql.ts';

export const PlatformParams = Type.Object({
  platform: Type.String({ description: `One of ${PLATFORMS.join(', ')}.` }),
});

const profileFields = {
  platform: Type.Enum([...PLATFORMS], { type: 'string' }),
  username: orNull(Type.String()),
  profileName: Type.String(),
  pictureUrl: orNull(
    Type.String({
      description: 'URL of our copy of the profile picture, a JPEG of at most 320 by 320. It needs credentials.',
    }),
  ),
  connectedAt: instant(),
  disconnected: Type.Boolean({ description: 'The network no longer renews its tokens: connect it again.' }),
  tokenExpiresAt: orNull(instant()),
  linkedCount: Type.Integer(),
  sandbox: Type.Boolean({ description: 'True if connected to the sandbox instead of the network.' }),
  linkedFault: orNull(
    Type.String({
      description: 'Message of the network if it did not list `linked`; null if it did.',
    }),
  ),
};

export const ProfileOut = Type.Object(profileFields);
export const ProfileDetailOut = Type.Object({
  ...profileFields,
  linked: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      type: Type.String({ description: 'PAGE, ORGANISATION or LOCATION.' }),
    }),
    { description: 'Pages, organisations and locations that belong to the profile.' },
  ),
});

export const PROFILE_EXAMPLE: Static<typeof ProfileDetailOut> = {
  platform: 'linkedin',
  username: 'ada.example',
  profileName: 'Ada Example',
  pictureUrl: 'https://example.com/ada.png',
  connectedAt: '2027-01-15T09:30:00.000Z',
  disconnected: false,
  tokenExpiresAt: '2027-03-16T09:30:00.000Z',
  linkedCount: 1,
  linkedFault: null,
  sandbox: false,
  linked: [{ id: '2414183', name: 'Acme', type: 'ORGANISATION' }],
};

export const ConnectOut = Type.Object({
  authorizeUrl: Type.String({ description: 'URL at which the person consents, within ten minutes.' }),
});

/** The path of the social profiles. */
export const SOCIALS_PATH = '/api/partner-gateway/v1/socials';

export const toProfileOut = (row: ProfileRow, publicUrl: string): Static<typeof ProfileOut> => ({
  platform: row.platform,
  username: row.username,
  profileName: row.profileName,
  // The time makes it another URL when the profile is connected again.
  pictureUrl: row.hasPicture
    ? `${publicUrl}${SOCIALS_PATH}/${row.platform}/picture?v=${row.connectedAt.getTime()}`
    : null,
  connectedAt: row.connectedAt.toISOString(),
  disconnected: row.disconnected !== null,
  tokenExpiresAt: row.tokenExpiresAt?.toISOString() ?? null,
  linkedCount: row.linked.length,
  sandbox: row.sandbox,
  linkedFault: row.linkedFault,
});
