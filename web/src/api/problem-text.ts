import { useTranslation } from 'react-i18next';
import { ApiError } from './errors.ts';

/** A failure as a sentence for people: the server's own words where it said something, with the request id of a failure. */
export function useProblemText(withId = true): (error: unknown) => string {
  const { t } = useTranslation('ui');
  return (error) => {
    if (!(error instanceof ApiError)) return t('problem.unexpected');
    if (error.status === 0) return t('problem.unreachable');
    if (error.status === 429) return t('problem.tooFast', { count: Math.ceil(error.retryAfterSeconds ?? 1) });
    const said = error.details.length > 0 ? faults(error) : error.message;
    return error.status >= 500 && withId ? t('problem.server', { said, requestId: error.requestId ?? '–' }) : said;
  };
}

const faults = ({ details }: ApiError): string =>
  details.map(({ field, message }) => `${field}: ${message}`).join('; ');
