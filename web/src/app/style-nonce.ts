/** The nonce that styles made at run time need; the server writes a fresh one into the page (src/http/console.ts). */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
