/** The nonce that styles made at run time need; the server writes a fresh one into the page (src/platform/http/console.ts). */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

/** What locks the page behind a dialog (react-remove-scroll, by way of Mantine) looks for the nonce under this name. */
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });
