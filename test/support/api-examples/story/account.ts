import { Secret, TOTP } from 'otpauth';
import { createAuthenticator } from '../../http/passkeys.ts';
import { from, type Step, step } from '../step.ts';

const PASSWORD = 'correct horse battery';
const GRACE = { session: 'grace' };
const DEMO = { session: 'demo' };
const KEY = { id: from('createApiKey.id') };
const SMPP = { id: from('createSmppCredential.id') };
const USER = { id: from('createUser.id') };
const INVITATION = { id: from('createInvitation.id') };
const NO_PROVIDER = 'single sign-on needs an identity provider';
const NO_MAIL = 'the link comes by mail';
const NO_CARRIER = 'carriers sign their requests';
const NO_HTTP = 'no carrier over HTTP is connected';

/** Returns the current code of an authenticator app with this secret. */
const codeOf = (secret: string): string => new TOTP({ secret: Secret.fromBase32(secret) }).generate();
/** Returns the last part of the path of a URL. */
const endOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);
/** Returns the token of a link for people: the part behind the sign #. */
const tokenOf = (link: string): string => link.slice(link.indexOf('#') + 1);

/** Users, keys, sessions and the account itself, for a program at this origin whose demo user has this password. */
export function accountStory(origin: string, password: string): readonly Step[] {
  const authenticator = createAuthenticator(origin);
  const register = (options: Parameters<typeof authenticator.register>[0]) => authenticator.register(options);
  const sign = (options: Parameters<typeof authenticator.sign>[0]) => authenticator.sign(options);
  const asDemo = { username: 'demo', password };
  const asGrace = { username: 'grace@example.com', password: PASSWORD };
  return [
    step('findSubscription'),
    step('findSubscriptionCredit'),
    step('findCredit'),
    step('listCreditEntries', { query: { limit: 1 } }),
    step('createApiKey'),
    step('listApiKeys', { query: { limit: 1 } }),
    step('findApiKey', { path: { id: from('createApiKey.apiKey') } }),
    step('rotateApiKey', { path: KEY }),
    step('deleteApiKey', { path: KEY }),
    step('createSmppCredential'),
    step('listSmppCredentials', { query: { limit: 1 } }),
    step('changeSmppCredential', { path: SMPP }),
    step('rotateSmppCredential', { path: SMPP }),
    step('deleteSmppCredential', { path: SMPP }),
    step('getAccountSecurity'),
    step('putAccountSecurity'),
    step('getNumberRules'),
    step('getSendingRules'),
    step('putNumberRules'),
    step('putSendingRules'),
    step('createUser'),
    step('listUsers', { query: { limit: 1 } }),
    step('findUser', { path: USER }),
    step('createInvitation'),
    step('listInvitations'),
    step('resendInvitation', { path: INVITATION }),
    step('openInvitation', { body: { token: from('resendInvitation.link', tokenOf) }, as: 'anonymous' }),
    step('acceptInvitation', { body: { token: from('resendInvitation.link', tokenOf) }, as: 'anonymous' }),
    step('createInvitation', { name: 'second', body: { email: 'linus@example.com' } }),
    step('revokeInvitation', { path: { id: from('second.id') } }),
    step('requestPasswordReset', { as: 'anonymous', status: 409, because: 'the gateway has no mail server' }),
    step('resetPassword', { as: 'anonymous', status: 400, because: NO_MAIL }),

    step('findSignInOptions', { as: 'anonymous' }),
    step('signIn', { body: asDemo, as: 'anonymous', session: 'demo' }),
    step('findSession', { as: DEMO }),
    step('switchAccount', { as: DEMO }),
    step('stepUp', { body: { password }, as: DEMO }),
    step('signIn', { name: 'elsewhere', body: asDemo, as: 'anonymous', session: 'elsewhere' }),
    step('listSessions', { as: DEMO }),
    step('endSession', { path: { id: from('listSessions.data.0.id') }, as: 'user' }),
    step('signIn', { name: 'again', body: asDemo, as: 'anonymous', session: 'demo' }),
    step('endOtherSessions', { as: DEMO }),
    step('beginStepUpSingleSignOn', { as: DEMO, status: 404, because: NO_PROVIDER }),
    step('beginSingleSignOn', { as: 'anonymous', status: 404, because: NO_PROVIDER }),
    step('findSingleSignOn', { as: DEMO }),
    step('finishSingleSignOn', { path: { token: from('findSingleSignOn.redirectUri', endOf) }, as: 'anonymous' }),
    step('putSingleSignOn', { as: DEMO }),
    step('verifySingleSignOnDomain', {
      path: { domain: 'example.com' },
      as: DEMO,
      status: 409,
      because: 'the domain has no such record',
    }),
    step('trySingleSignOn', { as: DEMO, status: 502, because: NO_PROVIDER }),
    step('deleteSingleSignOn', { as: DEMO }),

    step('signIn', { name: 'grace', body: asGrace, as: 'anonymous', session: 'grace' }),
    step('stepUp', { name: 'grace again', body: { password: PASSWORD }, as: GRACE }),
    step('beginTotp', { as: GRACE }),
    step('confirmTotp', { body: { code: from('beginTotp.secret', codeOf) }, as: GRACE }),
    step('beginPasskey', { as: GRACE }),
    step('addPasskey', { body: { passkey: from('beginPasskey', register) }, as: GRACE }),
    step('listSecondFactors', { as: GRACE }),
    step('beginStepUpPasskey', { as: GRACE }),
    step('renewRecoveryCodes', { as: GRACE }),
    step('signIn', { name: 'pending', body: asGrace, as: 'anonymous', status: 202 }),
    step('completeSignIn', {
      body: { pendingToken: from('pending.pendingToken'), code: from('renewRecoveryCodes.recoveryCodes.0') },
      as: 'anonymous',
    }),
    step('beginPasskeySignIn', { as: 'anonymous' }),
    step('signInWithPasskey', {
      body: { passkey: from('beginPasskeySignIn', sign) },
      as: 'anonymous',
      session: 'passkey',
    }),
    step('removePasskey', { path: { id: from('addPasskey.passkey.id') }, as: GRACE }),
    step('removeTotp', { as: GRACE }),
    step('removeSecondFactorsOfUser', { path: USER, as: DEMO }),
    step('changeOwnPassword', { as: { basic: `grace@example.com:${PASSWORD}` } }),
    step('updateUser', { path: USER }),
    step('deleteUser', { path: USER }),
    step('listAuditEntries', { query: { limit: 1 } }),

    step('listSocials'),
    step('connectSocial', { path: { platform: 'linkedin' } }),
    step('findSocial', { path: { platform: 'linkedin' }, status: 404, because: 'no profile is connected' }),
    step('downloadSocialPicture', { path: { platform: 'linkedin' }, status: 404, because: 'no profile is connected' }),
    step('disconnectSocial', { path: { platform: 'linkedin' }, status: 404, because: 'no profile is connected' }),
    step('finishSocial', {
      path: { platform: 'linkedin' },
      as: 'anonymous',
      status: 400,
      because: 'networks send people here',
    }),
    step('healthLive', { as: 'anonymous' }),
    step('healthReady', { as: 'anonymous' }),
    step('metrics', { as: 'anonymous' }),
    step('verifyHttpCallback', { path: { connectionName: 'acme' }, as: 'anonymous', status: 404, because: NO_HTTP }),
    step('receiveHttpCallback', { path: { connectionName: 'acme' }, as: 'anonymous', status: 404, because: NO_HTTP }),
    step('verifyWhatsappCallback', {
      path: { connectionName: 'sandbox-whatsapp' },
      as: 'anonymous',
      status: 403,
      because: NO_CARRIER,
    }),
    step('receiveWhatsappCallback', {
      path: { connectionName: 'sandbox-whatsapp' },
      as: 'anonymous',
      status: 401,
      because: NO_CARRIER,
    }),
    step('receiveRcsCallback', {
      path: { connectionName: 'sandbox-rcs' },
      as: 'anonymous',
      status: 400,
      because: NO_CARRIER,
    }),
    step('signOut', { as: DEMO }),
  ];
}
