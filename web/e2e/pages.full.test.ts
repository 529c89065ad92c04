import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openSite, type Person, type Site } from './harness.ts';
import { axeFaults, keyboardFaults, OF_ACCOUNT, OF_OPERATOR, textFaults, walk } from './pages.ts';
import type { Window } from './windows.ts';

// About thirty pages in a row.
vi.setConfig({ testTimeout: 600_000 });

let site: Site;

beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

const ALL = [textFaults, keyboardFaults, axeFaults];

test('every account page is accessible to an owner and by keyboard, with no text missing', async () => {
  expect(await walk(site, await site.signIn(), OF_ACCOUNT, ALL)).toEqual([]);
});

test('every account page is accessible to a viewer and by keyboard, with no text missing', async () => {
  expect(await walk(site, await site.signIn(await site.person('viewer')), OF_ACCOUNT, ALL)).toEqual([]);
});

test('every operator page is accessible in both themes and by keyboard, with no text missing', async () => {
  expect(await walk(site, await site.signIn(await site.operator()), OF_OPERATOR, ALL)).toEqual([]);
});

test('no page lacks a text in Italian, and the language of the document is Italian', async () => {
  const window = await inItalian(await site.operator());
  expect(await walk(site, window, [...OF_ACCOUNT, ...OF_OPERATOR], [textFaults, languageFaults])).toEqual([]);
});

const languageOf = (page: Page): Promise<string | null> => page.locator('html').getAttribute('lang');

async function languageFaults(page: Page): Promise<readonly string[]> {
  const language = await languageOf(page);
  return language === 'it' ? [] : [`the language is ${language}`];
}

async function inItalian(person: Person): Promise<Window> {
  const window = await site.signIn(person);
  await window.page.goto(site.url('/'));
  await window.page.getByRole('button', { name: /sign out/ }).click();
  await window.page.getByRole('menuitemradio', { name: 'Italiano' }).click();
  await expect.poll(() => languageOf(window.page)).toBe('it');
  return window;
}
