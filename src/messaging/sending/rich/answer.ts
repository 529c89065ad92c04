import { AppError, invalidFields } from '../../../platform/errors.ts';
import { REFUSALS, type Verdict } from '../draft.ts';

/** What a send is answered. Errors of the whole request: 400 for a content that cannot be stored, 409 for a client id. */
export function answerRich({ simulation = false }: { simulation?: boolean }, verdict: Verdict) {
  if (verdict.kind === 'conflict')
    throw new AppError('conflict', { message: 'This message id was used for another content within 24 hours' });
  if (verdict.kind === 'refused' && verdict.refusal === 'bad_body')
    throw invalidFields([{ field: 'body', message: REFUSALS.bad_body }]);
  const accepted = verdict.kind === 'accepted';
  return {
    messageId: accepted ? verdict.messageId : null,
    simulation,
    result: { accepted, reasons: accepted ? [] : [REFUSALS[verdict.refusal]] },
  };
}
