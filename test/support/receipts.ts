import type { Receipt } from '../../src/channels/carrier.ts';

/** Returns a receipt for this carrier id; DELIVERED unless another status is given. */
export const receipt = (carrierId: string, more: Partial<Receipt> = {}): Receipt => ({
  carrierIds: [carrierId],
  state: 'DELIVERED',
  doneAt: null,
  errorCode: null,
  destination: '351912345678',
  sender: 'ACME',
  raw: `id:${carrierId} stat:${more.state ?? 'DELIVRD'}`,
  ...more,
});
