import type { Config } from '../../platform/config.ts';
import { AppError } from '../../platform/errors.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import type { Caller } from './networks/network.ts';
import { createWeb } from './networks/web.ts';

export type SocialDeps = {
  readonly config: Pick<Config, 'social' | 'publicUrl'>;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
};

/** Returns the app and the web access for calling a network. Errors: 502 naming the settings that are missing. */
export function callerOf({ config, clock }: Omit<SocialDeps, 'secretKey'>, platform: Platform): Caller {
  const app = config.social[platform];
  const { clientId, clientSecret } = app;
  const name = platform.toUpperCase();
  const missing = [
    ...(clientId === '' ? [`${name}_CLIENT_ID`] : []),
    ...(clientSecret === '' ? [`${name}_CLIENT_SECRET`] : []),
  ];
  if (missing.length > 0)
    throw new AppError('bad_gateway', { message: `Not configured: ${missing.join(' and ')} on the server` });
  return { ...app, web: createWeb(app.simulated), now: clock.now };
}

/** Returns the URL to which a network sends people back; exactly this URL must be registered there. */
export const redirectUriOf = ({ config }: Pick<SocialDeps, 'config'>, platform: Platform): string =>
  `${config.publicUrl}/oauth/${platform}/callback`;
