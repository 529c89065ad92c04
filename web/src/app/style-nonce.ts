/**
 * The nonce for styles created at run time; the server writes a new one into each page
 * (src/core/http/pages.ts).
 */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

/** react-remove-scroll, which Mantine uses to lock the page behind a dialog, looks for the nonce under this name. */
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });
