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
  pictureUrl: orNull(Type.String()),
  connectedAt: instant(),
  disconnected: Type.Boolean({ description: 'The network no longer renews its tokens: connect it again.' }),
  tokenExpiresAt: orNull(instant()),
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
    { description: 'Pages, organisations and locations that belong to the profile.' },
  ),
});

export const ConnectOut = Type.Object({
  authorizeUrl: Type.String({ description: 'Where the person consents, within ten minutes.' }),
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
