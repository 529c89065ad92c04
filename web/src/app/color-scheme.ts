import { localStorageColorSchemeManager } from '@mantine/core';

/** Light, dark, or as the system has it; kept in this browser. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'heliograph-color-scheme' });

/** Before the first render, so that nobody who chose dark sees a white flash: an inline script is not allowed to. */
export function applyColorScheme(): void {
  const chosen = colorSchemeManager.get('auto');
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const scheme = chosen === 'dark' || (chosen === 'auto' && prefersDark) ? 'dark' : 'light';
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme);
}
