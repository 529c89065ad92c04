import { useTranslation } from 'react-i18next';
import { ApiError } from './errors.ts';
import { PasskeyError } from './passkey.ts';

/** Turns an error into a message: the server's message if there is one, with the request ID for server errors. */
export function useProblemText(withId = true): (error: unknown) => string {
  const { t } = useTranslation('ui');
  return (error) => {
    if (error instanceof PasskeyError) return t(`problem.passkey.${error.fault}`);
    if (!(error instanceof ApiError)) return t('problem.unexpected');
    if (error.status === 0) return t(NO_ANSWER[error.code ?? ''] ?? 'problem.unreachable');
    const waitSeconds = Math.ceil(error.retryAfterSeconds ?? 1);
    // A longer wait is not that of a rate: the server's message gives the reason.
    if (error.status === 429 && waitSeconds <= 60) return t('problem.tooFast', { count: waitSeconds });
    const message = error.details.length > 0 ? faults(error) : error.message;
    return error.status >= 500 && withId
      ? t('problem.server', { said: message, requestId: error.requestId ?? '–' })
      : message;
  };
}

/** Known outcomes of a change without a response. */
const NO_ANSWER: Readonly<Record<string, string>> = {
  unconfirmed: 'problem.unconfirmed',
  notSent: 'problem.notSent',
};

const faults = ({ details }: ApiError): string =>
  details.map(({ field, message }) => `${field}: ${message}`).join('; ');
