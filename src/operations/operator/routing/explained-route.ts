import { fromMicros } from '../../../platform/lib/money.ts';
import type { MeasuredRoute } from '../../../network/routing/explain-route.ts';
import { deliveredShare, receiptSeconds } from '../../../network/routing/standings/standing.ts';

/** Makes the entry of an explained route in a response. */
export const toExplainedOut = ({ costMicros, quality, ...route }: MeasuredRoute) => ({
  ...route,
  obstacles: [...route.obstacles],
  cost: costMicros === null ? null : fromMicros(costMicros),
  samples: quality?.messages ?? 0,
  delivered: quality && deliveredShare(quality),
  receiptSeconds: quality && receiptSeconds(quality),
});
