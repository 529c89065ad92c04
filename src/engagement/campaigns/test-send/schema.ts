import { type Static, Type } from 'typebox';
import { type Channel } from '../../../platform/lib/channel.ts';
import { type Draft, REFUSALS, type Verdict } from '../../../messaging/sending/draft.ts';
import { channelName, id, orNull } from '../../../platform/lib/schema.ts';

export const TestIn = Type.Union([
  Type.Object({
    contactListIds: Type.Optional(
      Type.Array(id(), {
        minItems: 1,
        maxItems: 100,
        description: 'Test lists. Default: all test lists of the account.',
      }),
    ),
  }),
  Type.Null(),
]);

export const TestOut = Type.Object({
  results: Type.Array(
    Type.Object({
      phoneNumber: Type.String(),
      channel: orNull(channelName()),
      accepted: Type.Boolean(),
      messageId: orNull(Type.String()),
      reasons: Type.Array(Type.String()),
    }),
  ),
});
export type TestOut = Static<typeof TestOut>;

/** Makes one result per contact, in their order. `verdicts` has one for each draft that is not null. */
export function toTestOut(
  contacts: readonly { readonly phoneNumber: string }[],
  drafts: readonly (Draft | null)[],
  verdicts: readonly Verdict[],
): TestOut {
  let next = 0;
  const results = contacts.map(({ phoneNumber }, i) => {
    const channel = drafts[i]?.channel ?? null;
    return { phoneNumber, ...toResult(channel, channel === null ? undefined : verdicts[next++]) };
  });
  return { results };
}

function toResult(channel: Channel | null, verdict: Verdict | undefined) {
  if (verdict?.kind === 'accepted') return { channel, accepted: true, messageId: verdict.messageId, reasons: [] };
  const reason = verdict?.kind === 'refused' ? REFUSALS[verdict.refusal] : 'no channel of the mode reaches the number';
  return { channel, accepted: false, messageId: null, reasons: [reason] };
}
