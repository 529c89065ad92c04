import { localStorageColorSchemeManager } from '@mantine/core';

/** The chosen color scheme (light, dark or the system's), stored in this browser. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'heliograph-color-scheme' });

/**
 * Applies the color scheme before the first render, to avoid a white flash in dark mode. The content security policy
 * allows no inline script.
 */
export function applyColorScheme(): void {
  const chosen = colorSchemeManager.get('auto');
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const scheme = chosen === 'dark' || (chosen === 'auto' && prefersDark) ? 'dark' : 'light';
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme);
}
