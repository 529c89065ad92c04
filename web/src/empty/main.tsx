import { MantineProvider, Title } from '@mantine/core';
import '@mantine/core/styles.layer.css';
import { createRoot } from 'react-dom/client';

// An empty page of Mantine, with which the bench `first-load` compares the pages of the console. It is not in the
// build.

const root = document.getElementById('app');
if (root === null) throw new Error('empty.html has no element "app"');
createRoot(root).render(
  <MantineProvider>
    <Title>Empty</Title>
  </MantineProvider>,
);
