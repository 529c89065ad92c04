import { type Static, Type } from 'typebox';
import { PLATFORMS } from '../../platform/lib/social-platform.ts';
import type { ProfileRow } from './sql.ts';

const date = () => Type.String({ format: 'date-time' });

export const PlatformParams = Type.Object({
  platform: Type.String({ description: `One of ${PLATFORMS.join(', ')}.` }),
});

const profileFields = {
  platform: Type.Enum([...PLATFORMS], { type: 'string' }),
  username: Type.Union([Type.String(), Type.Null()]),
  profileName: Type.String(),
  pictureUrl: Type.Union([Type.String(), Type.Null()]),
  connectedAt: date(),
  disconnected: Type.Boolean({ description: 'The network renews its tokens no more: connect it again.' }),
  tokenExpiresAt: Type.Union([date(), Type.Null()]),
  linkedCount: Type.Integer(),
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
    { description: 'Pages, organisations and locations that come with the profile.' },
  ),
});

export const ConnectOut = Type.Object({
  authorizeUrl: Type.String({ description: 'Where the person agrees, within ten minutes.' }),
});

export const toProfileOut = (row: ProfileRow): Static<typeof ProfileOut> => ({
  platform: row.platform,
  username: row.username,
  profileName: row.profileName,
  pictureUrl: row.pictureUrl,
  connectedAt: row.connectedAt.toISOString(),
  disconnected: row.disconnected !== null,
  tokenExpiresAt: row.tokenExpiresAt?.toISOString() ?? null,
  linkedCount: row.linked.length,
});
