import '../app/trusted-types.ts';
import '@mantine/core/styles.layer.css';
import '../app/global.css';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { I18nextProvider } from 'react-i18next';
import { type Session, sessionQuery } from '../api/session.ts';
import { applyColorScheme, colorSchemeManager } from '../app/color-scheme.ts';
import { startTexts } from '../app/i18n.ts';
import { contrastVariables } from '../app/palette.ts';
import { theme } from '../app/theme.ts';
import { Gallery } from './gallery.tsx';

/** Session of a user who may send but not change contacts, so that guarded buttons show both their states. */
const SESSION: Session = {
  user: { id: 1, username: 'gallery', role: 'sender', isOperator: false },
  account: { id: 1, name: 'Gallery', plan: 'trial', channels: ['SMS', 'WHATSAPP'], currency: 'EUR', status: 'active' },
  ownAccountId: 1,
  role: 'sender',
  operations: ['SMS', 'WHATSAPP', 'campaigns', 'contacts'],
  writable: ['SMS', 'WHATSAPP', 'campaigns'],
  method: 'password',
  mustEnrol: false,
  createdAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2036-01-01T00:00:00.000Z',
};

applyColorScheme();
const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } } });
queries.setQueryData(sessionQuery.queryKey, SESSION);
// Links lead nowhere: every path shows the gallery.
const root = createRootRoute({ component: Gallery, notFoundComponent: Gallery });
const router = createRouter({ routeTree: root, history: createMemoryHistory() });
const element = document.getElementById('app');
if (element === null) throw new Error('gallery.html has no element "app"');
createRoot(element).render(
  <I18nextProvider i18n={await startTexts()}>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={contrastVariables}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </I18nextProvider>,
);
