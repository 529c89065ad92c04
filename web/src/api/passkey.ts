import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { useTranslation } from 'react-i18next';
import { ApiError } from './send.ts';

/** Reason why the browser did not use or make a passkey. */
type PasskeyFault = 'cancelled' | 'exists' | 'failed';

/** A passkey that the browser did not use or make, in most cases because the user closed its dialog. */
class PasskeyError extends Error {
  readonly fault: PasskeyFault;

  constructor(fault: PasskeyFault, cause: unknown) {
    super(fault, { cause });
    this.name = 'PasskeyError';
    this.fault = fault;
  }
}

/**
 * Returns true if passkeys can be used on this page: the browser knows them, and the page has a host name (they do not
 * work with a bare IP address) and was sent over HTTPS or from this machine.
 */
export const canUsePasskeys = (): boolean =>
  'PublicKeyCredential' in globalThis && isSecureContext && !/^[\d.]+$|^\[/.test(location.hostname);

/** Asks the user to use a passkey, with the options of the server; resolves with the response for the server. */
export async function answerWithPasskey(options: object) {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  // The server passes on members defined by WebAuthn; our API does not describe them.
  const optionsJSON = options as PublicKeyCredentialRequestOptionsJSON;
  const { id, rawId, response } = await startAuthentication({ optionsJSON }).catch(fail);
  return { id, rawId, type: 'public-key' as const, response };
}

/** Asks the user to make a passkey, with the options of the server; resolves with the response for the server. */
export async function makePasskeyWith(options: object) {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = options as PublicKeyCredentialCreationOptionsJSON;
  const { id, rawId, response } = await startRegistration({ optionsJSON }).catch(fail);
  const { clientDataJSON, attestationObject, transports = [] } = response;
  return { id, rawId, type: 'public-key' as const, response: { clientDataJSON, attestationObject, transports } };
}

function fail(cause: unknown): never {
  const name = cause instanceof Error ? cause.name : '';
  if (name === 'InvalidStateError') throw new PasskeyError('exists', cause);
  throw new PasskeyError(name === 'NotAllowedError' || name === 'AbortError' ? 'cancelled' : 'failed', cause);
}

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
