import type { Page } from 'playwright-core';

/** The problems of a window: script and policy errors, responses of 400 and above, requests to other origins. */
export type Watch = {
  /** The problems that were not expected. */
  problems(): readonly string[];
  /** Ignores problems that contain or match this text, past and future, for tests that provoke a failure. */
  expect(text: string | RegExp): void;
};

export function watch(page: Page): Watch {
  const seen: string[] = [];
  const expected: (string | RegExp)[] = [];
  page.on('pageerror', (error) => seen.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') seen.push(`console: ${message.text()}`);
  });
  page.on('requestfailed', (request) => {
    // Requests of a page that is left are cancelled.
    const reason = request.failure()?.errorText ?? '';
    if (reason !== 'net::ERR_ABORTED') seen.push(`failed: ${request.method()} ${request.url()} ${reason}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400)
      seen.push(`response: ${response.status()} ${response.request().method()} ${response.url()}`);
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    const isOurs = origin === new URL(page.url()).origin || page.url() === 'about:blank';
    if (!isOurs && protocol !== 'data:' && protocol !== 'blob:') seen.push(`foreign: ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    seen.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const isExpected = (problem: string): boolean =>
    expected.some((text) => (typeof text === 'string' ? problem.includes(text) : text.test(problem)));
  return {
    problems: () => seen.filter((problem) => !isExpected(problem)),
    expect: (text) => void expected.push(text),
  };
}
