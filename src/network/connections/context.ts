import type { Config } from '../../platform/config.ts';
import { createGuard } from '../../platform/outbound/guard.ts';
import { callbackUrlOf } from './add.ts';
import type { CarrierContext } from './kinds/kind.ts';
import type { ConnectionKind } from './kinds/kinds.ts';

/**
 * Returns the context of a carrier within the program. A connection without a name, which is only tried, has no
 * callback URL. The addresses that may be dialled are those that webhooks may be posted to, on any port.
 */
export const carrierContext = (
  { publicUrl, webhooks }: Pick<Config, 'publicUrl' | 'webhooks'>,
  { kind, name }: { readonly kind: ConnectionKind; readonly name: string | null },
): CarrierContext => ({
  callbackUrl: name === null ? null : callbackUrlOf(publicUrl, { kind, name }),
  guard: createGuard(webhooks),
});
